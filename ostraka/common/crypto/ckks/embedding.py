"""Polynomials as values in slots: the canonical embedding that CKKS encodes with."""

from functools import cache

import numpy as np
from numpy.typing import NDArray


def slots_of(coefficients: NDArray[np.float64]) -> NDArray[np.complex128]:
    """Values in slots, (degree/2,) complex, of a polynomial with real coefficients (degree,), at scale 1.

    Slot j is the value at exp(i pi 3^j / degree), SEAL's order (Cheon, Kim, Kim and Song 2017, section 3.2).
    The other half of the roots gives the conjugates. Of each pair of roots one has an exponent 4k + 1, and
    there x^(degree/2) = i: a Fourier transform of half the degree gives all of these at once.
    """
    half = len(coefficients) // 2
    twisted = (coefficients[:half] + 1j * coefficients[half:]) * np.exp(
        1j * np.pi * np.arange(half) / (2 * half)
    )
    values = np.fft.ifft(twisted, norm="forward")
    index, conjugated = _order(len(coefficients))
    return np.where(conjugated, values[index].conj(), values[index])


@cache
def _order(degree: int) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """For each slot, k of the root 4k + 1 of its pair, and whether the slot is the other root."""
    exponents = np.array([pow(3, slot, 2 * degree) for slot in range(degree // 2)], dtype=np.intp)
    conjugated = exponents % 4 == 3
    return (np.where(conjugated, 2 * degree - exponents, exponents) - 1) // 4, conjugated
