"""Polynomials modulo X^4096 + 1 and q = 2^64, the modulus of NumPy's uint64: drawn, encoded, and shared."""

import numpy as np
from numpy.typing import NDArray

from ostraka.common.crypto.logits import LOGIT_BITS, LOGIT_FRACTION
from ostraka.common.crypto.stream import Stream

DEGREE = 4096
"""Number of coefficients of a polynomial.

Up to 109 bits of modulus are 128-bit secure at this degree, for secrets of -1, 0 and 1 (Homomorphic
Encryption Standard, 2018). That is true for any modulus of that size, also a power of two (Peikert, Regev and
Stephens-Davidowitz 2017).
"""

Polynomials = NDArray[np.uint64]
"""Coefficients modulo 2^64, (..., DEGREE)."""
Small = NDArray[np.int64]
"""Small integers as coefficients, (..., DEGREE)."""

_HALF = DEGREE // 2
_LIMB = np.uint64(32)
_TWIST = np.exp(1j * np.pi * np.arange(_HALF) / DEGREE)


class Factor:
    """Polynomials that are multiplied by small ones, exactly, in double precision.

    Modulo X^n + 1 a real polynomial is determined by its values at the roots 4k + 1 of order 2n, and a
    complex Fourier transform of half the size gives all of them. Coefficients are split into limbs of 32
    bits, at most 2^31 from zero. With factors of -1, 0 and 1 the error of a coefficient is then at most 2^-45
    of the product of both norms, 2^37 * 2^6 (Brent, Percival and Zimmermann 2007): at most 1/4, which
    rounding removes.
    """

    def __init__(self, polynomials: Polynomials) -> None:
        signed = polynomials.view(np.int64)
        low = (signed << 32) >> 32
        high = (signed - low) >> 32
        self._high = _transform(high)
        self._low = _transform(low)

    def times(self, small: Small) -> Polynomials:
        """Return the products with polynomials (..., DEGREE) of -1, 0 and 1."""
        transformed = _transform(small)
        high, low = (_inverse(limb * transformed) for limb in (self._high, self._low))
        return (high << _LIMB) + low


def _transform(values: NDArray[np.int64]) -> NDArray[np.complex128]:
    return np.fft.fft((values[..., :_HALF] + 1j * values[..., _HALF:]) * _TWIST)


def _inverse(transformed: NDArray[np.complex128]) -> Polynomials:
    values = np.fft.ifft(transformed) * _TWIST.conj()
    whole = np.rint(np.concatenate([values.real, values.imag], axis=-1))
    coefficients: Polynomials = whole.astype(np.int64).view(np.uint64)
    return coefficients


_PAIRS = 21
"""Pairs of bits in an error: a centred binomial distribution of variance 10.5, as in SEAL."""


def uniform(stream: Stream, *shape: int) -> Polynomials:
    """Draw the next uniform polynomials, `shape` + (DEGREE,)."""
    return stream.ring(64, *shape, DEGREE)


def ternary(stream: Stream, *shape: int) -> Small:
    """Draw the next polynomials of -1, 0 and 1, each of probability 1/3 up to 2^-62; `shape` + (DEGREE,)."""
    return (stream.ring(64, *shape, DEGREE) % np.uint64(3)).astype(np.int64) - 1


def errors(stream: Stream, *shape: int) -> Small:
    """Draw the next polynomials of errors, standard deviation 3.24, at most 21; `shape` + (DEGREE,)."""
    ones: Small = np.bitwise_count(stream.ring(_PAIRS, 2, *shape, DEGREE)).astype(np.int64)
    difference: Small = ones[0] - ones[1]
    return difference


FEATURE_SCALE_BITS = 27
"""A feature is encrypted in steps of 2^-27; the steps of its error move a logit by 2^-25 of a weight."""
_STEP_BITS = 64 - LOGIT_BITS
LOGIT_SCALE_BITS = _STEP_BITS + LOGIT_FRACTION
"""A logit has steps of 2^-61, so that the modulus equals that of logit shares, eight."""
WEIGHT_SCALE_BITS = LOGIT_SCALE_BITS - FEATURE_SCALE_BITS
"""A weight is rounded to steps of 2^-34."""


def logit_shares(values: Polynomials) -> NDArray[np.uint64]:
    """Return values modulo 2^64 as the nearest shares modulo 2^LOGIT_BITS; halves are rounded up.

    If two values sum to a logit, their shares sum to it within a step: rounding commutes with wrapping
    around, because the steps divide the modulus.
    """
    return (values + np.uint64(2 ** (_STEP_BITS - 1))) >> np.uint64(_STEP_BITS)
