"""Votes as fixed-point ring values with 16 fractional bits, even if every vote is whole."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostraka.common.sharing import FRACTION_BITS
from ostraka.common.sharing.modulus import Modulus, RingArray


def encode(values: NDArray[np.number[Any]], ring: Modulus) -> RingArray:
    """Return votes as ring values, exact for whole votes and rounded toward zero otherwise.

    Raises ValueError if a value is not finite, or does not lie between minus half and half the ring.
    """
    votes = np.asarray(values)
    limit = 2 ** (ring.bits - 1 - FRACTION_BITS)
    if not bool(np.all((votes > -limit) & (votes < limit))):
        raise ValueError(f"votes must be finite and smaller than {limit}")
    if np.issubdtype(votes.dtype, np.integer):
        return ring.wrap(votes.astype(np.int64) << FRACTION_BITS)
    return ring.wrap(np.trunc(votes.astype(np.float64) * 2**FRACTION_BITS).astype(np.int64))


def decode(values: RingArray, ring: Modulus) -> NDArray[np.float64]:
    """Return ring values lifted to votes; float64, exact below 2^53 units."""
    return np.ldexp(ring.lift(values).astype(np.float64), -FRACTION_BITS)
