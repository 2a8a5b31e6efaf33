"""Integers split into limbs that double precision multiplies exactly; matrices of them modulo 2^64."""

from functools import cache

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

EXACT_BITS = 53
"""Integers up to 2^53 are exact in double precision."""
COLUMNS = 2048
"""Number of columns that are multiplied at once, which bounds the memory."""


def split_signed(values: NDArray[np.int64], size: int, bits: int) -> list[NDArray[np.int64]]:
    """Return limbs of values between -2^bits and 2^bits, each at most 2^(size - 1) from zero, lowest first.

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
    """Return the controller that limits BLAS to one thread; several on busy cores took four times as long."""
    return ThreadpoolController()


_BITS = 64


def product(weights: NDArray[np.int64], weight_bits: int, values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the product modulo 2^64 of weights (rows, n) and values (n, columns).

    Both are split into limbs whose products double precision sums exactly; products of limbs beyond the
    modulus are left out. Weights lie within +-2^weight_bits, and the time depends only on shapes.
    """
    size, weight_size = _limb_sizes(weight_bits, weights.shape[1])
    factors = [limb.astype(np.float64) for limb in split_signed(weights, weight_size, weight_bits)]
    result = np.zeros((weights.shape[0], values.shape[1]), np.uint64)
    with blas().limit(limits=1, user_api="blas"):
        for start in range(0, values.shape[1], COLUMNS):
            chunk = values[:, start : start + COLUMNS].view(np.int64)
            total = result[:, start : start + COLUMNS]
            for place, limb in enumerate(split_signed(chunk, size, _BITS - 1)):
                converted = limb.astype(np.float64)
                for weight_place, factor in enumerate(factors):
                    shift = place * size + weight_place * weight_size
                    if shift < _BITS:
                        total += (factor @ converted).astype(np.int64).view(np.uint64) << np.uint64(shift)
    return result


def _limb_sizes(weight_bits: int, terms: int) -> tuple[int, int]:
    """Return the sizes of limbs of values and of weights that need the fewest products."""
    together = EXACT_BITS + 2 - terms.bit_length()
    sizes = [(size, together - size) for size in range(8, together - 7)]
    return min(sizes, key=lambda pair: _products(pair[0], pair[1], weight_bits))


def _products(size: int, weight_size: int, weight_bits: int) -> int:
    places = range(0, _BITS, size), range(0, weight_bits + 1, weight_size)
    return sum(first + second < _BITS for first in places[0] for second in places[1])
