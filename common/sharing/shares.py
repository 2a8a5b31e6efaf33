"""Ballots split into two shares that say nothing alone, and shares added up."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostraka.common.sharing.expansion import expand
from ostraka.common.sharing.fixed_point import encode
from ostraka.common.sharing.ring import Ring, RingArray


def split(ballots: NDArray[np.number[Any]], seed: bytes, ring: Ring) -> RingArray:
    """Return the guardian's share of ballots in votes, (queries, width): their encoding minus the expansion.

    The querying party's share is `expand(seed, queries, width, ring)`.
    """
    rows, width = ballots.shape
    return encode(ballots, ring) - expand(seed, rows, width, ring)


def add(shares: Sequence[RingArray]) -> RingArray:
    """Add shares in their ring; raise ValueError where there are none or they differ in kind."""
    if not shares:
        raise ValueError("there are no shares to add")
    total = shares[0].copy()
    for share in shares[1:]:
        if share.dtype != total.dtype or share.shape != total.shape:
            raise ValueError("shares of one sum have one shape and one ring")
        total += share
    return total
