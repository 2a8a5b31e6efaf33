"""Ballots split into two shares that say nothing alone."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostraka.common.sharing.expansion import expand
from ostraka.common.sharing.fixed_point import encode
from ostraka.common.sharing.modulus import Modulus, RingArray


def split(ballots: NDArray[np.number[Any]], seed: bytes, ring: Modulus) -> RingArray:
    """Return the guardian's share of ballots in votes, (queries, width): their encoding minus the expansion.

    The querying party's share is `expand(seed, queries, width, ring)`.
    """
    rows, width = ballots.shape
    return ring.subtract(encode(ballots, ring), expand(seed, rows, width, ring))
