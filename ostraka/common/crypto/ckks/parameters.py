"""CKKS parameters of heads with squares, and how their logits are hidden."""

import hashlib
from dataclasses import dataclass

LAYERS = 2
"""Number of affine maps of a head, with a square between them."""

MASK_HEADROOM_BITS = 32
"""Coefficients of a mask are sums of three uniform integers with this many bits more than the scale."""


@dataclass(frozen=True)
class CkksParameters:
    """One CKKS instance.

    Args:
        degree: degree of the ring's polynomials, a power of two; half as many queries fit into a ciphertext.
        prime_bits: sizes of the primes of the modulus; the last is only for key switching.
        scale_bits: a value v is encrypted as v times two to the power of this.
    """

    degree: int
    prime_bits: tuple[int, ...]
    scale_bits: int

    @property
    def scale(self) -> float:
        """The factor on encrypted values."""
        return 2.0**self.scale_bits

    @property
    def primes(self) -> int:
        """Number of primes under which queries are encrypted."""
        return len(self.prime_bits) - 1

    @property
    def result_primes(self) -> int:
        """Primes left for the logits: each affine map uses one, and so does the square between them."""
        return self.primes - (2 * LAYERS - 1)

    @property
    def limb_bits(self) -> int:
        """Half the bits of the uniform integers in masks."""
        return (self.scale_bits + MASK_HEADROOM_BITS) // 2

    @property
    def digest(self) -> bytes:
        """32 bytes at the beginning of every message, which identify its parameters."""
        own = f"degree={self.degree}, prime_bits={self.prime_bits}, scale_bits={self.scale_bits}"
        return hashlib.sha256(f"Parameters({own})".encode()).digest()


SQUARES = CkksParameters(degree=8192, prime_bits=(40, 30, 30, 30, 30, 40), scale_bits=30)
"""For affine, square, affine; 128-bit secure by SEAL's table (seal.Seal)."""
