"""Masks that hide everything about a model in a ciphertext except the logits' shares.

A mask is a polynomial whose coefficients are independent sums of three uniform integers of B bits, where B is
32 more than the scale has. It is added to the encoded logits exactly, in integers. So it covers the real and
the imaginary part of every slot, used or not, and every bit of the noise. A fresh encryption of zero is added
as well, so that the ciphertext's other half is as good as random (RLWE) even to the owner of the secret key.

Hiding (own derivation). Let d be the difference of two polynomials that may have been masked, coefficient by
coefficient, and p the distribution of one coefficient of the mask. By the triangle inequality over unit steps
||sqrt(p shifted by d_k) - sqrt(p)|| <= |d_k| ||sqrt(p shifted by 1) - sqrt(p)|| = |d_k| sqrt(J), squared
Hellinger distances of independent coefficients at most add up, and the total variation distance is at most
sqrt(2) times the Hellinger distance:

    distance <= sqrt(J) ||d||,  ||d||^2 = sum of d_k^2 = scale^2 * (mean of |difference in a slot|^2).

4 J is the Fisher information of the sum of three uniforms, 4.562 / 4^B, hence sqrt(J) = 1.07 / 2^B. For two
models whose logits lie within +-R, a whole ciphertext (4,096 queries) is distinguished with an advantage of
at most 1.07 * 2 R / 2^32 = R 2^-30.9, and a single query's logit with R 2^-36.9. Several ciphertexts, such as
those of all classes, add up as squares: ten give R 2^-29.2.

Precision. The slots of a mask have a standard deviation of 2^37. Double precision computes them, here and at
decryption, with errors of about 2^-52 of that: 2^-14 of LOGIT_RANGE together with rounding to steps of
2^-LOGIT_FRACTION. Hiding plus precision is a constant of double precision, about 51 bits.
"""

from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import tenseal.sealapi as sealapi
from numpy.typing import NDArray

from ostraka.common.crypto.ckks.parameters import CkksParameters
from ostraka.common.crypto.ckks.seal import SealContext
from ostraka.common.crypto.logits import LOGIT_BITS, LOGIT_FRACTION
from ostraka.common.crypto.stream import Stream


def slots_of(coefficients: NDArray[np.float64]) -> NDArray[np.complex128]:
    """Return slot values, (degree/2,) complex, of a polynomial with real coefficients (degree,), at scale 1.

    Slot j is the value at exp(i pi 3^j / degree), SEAL's order (Cheon, Kim, Kim and Song 2017, section 3.2).
    The other half of the roots gives the conjugates. One root of each pair has an exponent 4k + 1, and there
    x^(degree/2) = i. So a Fourier transform of half the degree gives all of these at once.
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
    """Return for each slot k of the root 4k + 1 of its pair, and whether the slot is the other root."""
    exponents = np.array([pow(3, slot, 2 * degree) for slot in range(degree // 2)], dtype=np.intp)
    conjugated = exponents % 4 == 3
    return (np.where(conjugated, 2 * degree - exponents, exponents) - 1) // 4, conjugated


_UNIFORMS = 3
"""Number of uniform numbers whose sum is a coefficient of a mask (docs/confidential-proofs.md)."""


@dataclass(frozen=True)
class Mask:
    """A mask as values in slots: `high` times 2^limb_bits plus `low`, each (slots,) complex, at scale 1."""

    parameters: CkksParameters
    high: NDArray[np.complex128] = field(repr=False)
    low: NDArray[np.complex128] = field(repr=False)

    def share(self) -> NDArray[np.uint64]:
        """Return this side's shares of the logits, (slots,): they cancel the mask; unit of `logit_share`."""
        whole = self.high.real * 2.0**self.parameters.limb_bits + self.low.real
        return logit_share(-whole / self.parameters.scale)


def draw_mask(parameters: CkksParameters, stream: Stream) -> Mask:
    """Draw the next mask from a stream of random bytes."""
    return Mask(parameters, _limb(parameters, stream), _limb(parameters, stream))


def add_mask(seal: SealContext, encryptor: Any, ciphertext: Any, mask: Mask) -> Any:
    """Return the ciphertext plus the mask plus a fresh encryption of zero.

    Encoding rounds to whole coefficients. Those of a limb are below 2^40, which double precision encodes
    exactly; whole masks would be rounded, and their low bits would hide nothing. So `high` is lifted to its
    place by an exact multiplication: c + 2^b high = c + 2^b (c + high) - 2^b c.
    """
    primes = ciphertext.coeff_modulus_size()
    zero = sealapi.Ciphertext(seal.context)
    encryptor.encrypt_zero(seal.level(primes), zero)
    zero.scale = ciphertext.scale
    masked, lifted, unlifted = (sealapi.Ciphertext(seal.context) for _ in range(3))
    seal.evaluator.add(ciphertext, zero, masked)
    seal.evaluator.add_plain_inplace(masked, _plain(seal, mask.low, ciphertext))
    seal.evaluator.add_plain(ciphertext, _plain(seal, mask.high, ciphertext), lifted)
    lift = seal.constant(2.0**mask.parameters.limb_bits, primes)
    seal.evaluator.multiply_plain_inplace(lifted, lift)
    seal.evaluator.multiply_plain(ciphertext, lift, unlifted)
    seal.evaluator.add_inplace(masked, lifted)
    seal.evaluator.sub_inplace(masked, unlifted)
    return masked


def logit_share(values: NDArray[np.float64]) -> NDArray[np.uint64]:
    """Return real values as the nearest multiples of 2^-LOGIT_FRACTION, modulo 2^LOGIT_BITS of these steps.

    Halves are rounded up: masked values have few bits below the step, and halves to even would make odd
    shares rare.
    """
    steps = np.ldexp(values, LOGIT_FRACTION)
    whole = np.floor(steps)
    nearest = whole.astype(np.int64) + (steps - whole >= 0.5)
    return nearest.astype(np.uint64) & np.uint64(2**LOGIT_BITS - 1)


def _limb(parameters: CkksParameters, stream: Stream) -> NDArray[np.complex128]:
    uniform = stream.ring(parameters.limb_bits, _UNIFORMS, parameters.degree).astype(np.int64)
    coefficients = uniform.sum(axis=0) - _UNIFORMS * 2 ** (parameters.limb_bits - 1)
    return slots_of(coefficients.astype(np.float64))


def _plain(seal: SealContext, values: NDArray[np.complex128], like: Any) -> Any:
    plain = seal.encode(values, like.coeff_modulus_size(), 1.0)
    plain.scale = like.scale
    return plain
