"""Integers split into limbs so small that double precision multiplies and adds them up exactly."""

from functools import cache

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

EXACT_BITS = 53
"""Integers up to 2^53 are exact in double precision."""
COLUMNS = 2048
"""Columns that are multiplied at once, so that memory stays bounded."""


def signed_limbs(values: NDArray[np.int64], size: int, bits: int) -> list[NDArray[np.int64]]:
    """Limbs of values between -2^bits and 2^bits, each at most 2^(size - 1) from zero, the lowest first.

    With 63 bits they give the values modulo 2^64.
    """
    half = 2 ** (size - 1)
    limbs = []
    for _ in range(bits // size):
        low = ((values + half) & (2 * half - 1)) - half
        limbs.append(low)
        values = (values - low) >> size
    return [*limbs, values]


@cache
def blas() -> ThreadpoolController:
    """One thread multiplies: several, waiting for each other on busy cores, took four times as long."""
    return ThreadpoolController()
