"""Polynomials modulo X^4096 + 1 whose coefficients are integers modulo q = 2^64, as NumPy's uint64 is."""

import numpy as np
from numpy.typing import NDArray

DEGREE = 4096
"""Coefficients of a polynomial. Up to 109 bits of modulus are 128-bit secure at this degree, for secrets of
-1, 0 and 1 (Homomorphic Encryption Standard, 2018); that holds for any modulus of that size, also a power of
two (Peikert, Regev and Stephens-Davidowitz 2017)."""

Polynomials = NDArray[np.uint64]
"""Coefficients modulo 2^64, (..., DEGREE)."""
Small = NDArray[np.int64]
"""Small integers as coefficients, (..., DEGREE)."""

_HALF = DEGREE // 2
_LIMB = np.uint64(32)
_TWIST = np.exp(1j * np.pi * np.arange(_HALF) / DEGREE)


class Factor:
    """Polynomials that are multiplied by small ones, exactly, in double precision.

    Modulo X^n + 1 a real polynomial is given by its values at the roots 4k + 1 of order 2n, all of which a
    complex Fourier transform of half the size gives. Coefficients are split into limbs of 32 bits, at most
    2^31 from zero. With factors of -1, 0 and 1 the error of a coefficient is then at most 2^-45 of the
    product of both norms, 2^37 * 2^6 (Brent, Percival and Zimmermann 2007): 1/4 at most, which rounds away.
    """

    def __init__(self, polynomials: Polynomials) -> None:
        """Transform both limbs of polynomials (..., DEGREE)."""
        signed = polynomials.view(np.int64)
        low = (signed << 32) >> 32
        high = (signed - low) >> 32
        self._high, self._low = _transformed(high), _transformed(low)

    def times(self, small: Small) -> Polynomials:
        """Return the products with polynomials (..., DEGREE) of -1, 0 and 1."""
        transformed = _transformed(small)
        high, low = (_inverse(limb * transformed) for limb in (self._high, self._low))
        return (high << _LIMB) + low


def _transformed(values: NDArray[np.int64]) -> NDArray[np.complex128]:
    return np.fft.fft((values[..., :_HALF] + 1j * values[..., _HALF:]) * _TWIST)


def _inverse(transformed: NDArray[np.complex128]) -> Polynomials:
    values = np.fft.ifft(transformed) * _TWIST.conj()
    whole = np.rint(np.concatenate([values.real, values.imag], axis=-1))
    coefficients: Polynomials = whole.astype(np.int64).view(np.uint64)
    return coefficients
