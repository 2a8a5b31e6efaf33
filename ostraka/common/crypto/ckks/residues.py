"""Residues modulo the primes of CKKS: drawn from a seed, and multiplied by matrices."""

import numpy as np
from numpy.typing import NDArray

from ostraka.common.crypto.limbs import COLUMNS, EXACT_BITS, blas, split_signed
from ostraka.common.crypto.stream import Stream


class UniformResidues:
    """Uniform residues modulo one prime, derived from a seed, one polynomial at a time."""

    def __init__(self, seed: bytes, purpose: str, modulus: int, degree: int) -> None:
        self._stream = Stream(seed, purpose)
        self._modulus = modulus
        self._degree = degree

    def polynomial(self) -> NDArray[np.uint64]:
        """Return the next polynomial, (degree,); drawn values that are not below the prime are redrawn."""
        found: list[NDArray[np.uint64]] = []
        missing = self._degree
        while missing:
            drawn = self._stream.ring(self._modulus.bit_length(), missing)
            found.append(drawn[drawn < self._modulus])
            missing -= len(found[-1])
        return np.concatenate(found)


def product(
    weights: NDArray[np.int64], weight_bits: int, residues: NDArray[np.uint64], modulus: int
) -> NDArray[np.uint64]:
    """Return the matrix product weights (rows, n) times residues (n, columns), modulo a prime below 2^48.

    Both are split into limbs so small that double precision sums n products of limbs exactly; the limbs'
    products are then combined modulo the prime. Weights lie between -2^weight_bits and 2^weight_bits.
    """
    result = np.empty((weights.shape[0], residues.shape[1]), np.uint64)
    limb, weight_limb = _limb_bits(modulus.bit_length(), weight_bits, weights.shape[1])
    weight_limbs = [part.astype(np.float64) for part in split_signed(weights, weight_limb, weight_bits)]
    with blas().limit(limits=1, user_api="blas"):
        for start in range(0, residues.shape[1], COLUMNS):
            chunk = residues[:, start : start + COLUMNS]
            limbs = [part.astype(np.float64) for part in _limbs(chunk, limb, modulus.bit_length())]
            total = np.zeros((weights.shape[0], chunk.shape[1]), np.int64)
            for part in reversed(limbs):
                inner = np.zeros_like(total)
                for factor in reversed(weight_limbs):
                    summed = (factor @ part).astype(np.int64)
                    inner = (_shift(inner, weight_limb, modulus) + summed) % modulus
                total = (_shift(total, limb, modulus) + inner) % modulus
            result[:, start : start + COLUMNS] = total
    return result


def _limb_bits(residue_bits: int, weight_bits: int, terms: int) -> tuple[int, int]:
    """Return the cheapest limb sizes of residues and weights for which the products of n terms stay exact."""
    room = EXACT_BITS + 1 - terms.bit_length()
    sizes = [(bits, room - bits) for bits in range(8, room - 8)]
    return min(sizes, key=lambda size: -(-residue_bits // size[0]) * (weight_bits // size[1] + 1))


def _limbs(values: NDArray[np.uint64], size: int, bits: int) -> list[NDArray[np.uint64]]:
    mask = np.uint64(2**size - 1)
    return [(values >> np.uint64(shift)) & mask for shift in range(0, bits, size)]


def _shift(values: NDArray[np.int64], bits: int, modulus: int) -> NDArray[np.int64]:
    """Return values below the prime, times 2^bits, modulo the prime."""
    step = 63 - modulus.bit_length()
    while bits > 0:
        values = (values << min(step, bits)) % modulus
        bits -= step
    return values
