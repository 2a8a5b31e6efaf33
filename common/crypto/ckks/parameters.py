"""CKKS parameters for each kind of head, and how logits are counted and hidden."""

import hashlib
from dataclasses import dataclass
from typing import Literal, get_args

Head = Literal["linear", "square-mlp", "square-cnn"]
"""Kinds of models that run on encrypted queries: affine, or affine, square, affine."""
HEADS: tuple[Head, ...] = get_args(Head)

LOGIT_RANGE = 1.0
"""Heads are scaled so that their logits lie within +-LOGIT_RANGE on the records they were trained on."""
LOGIT_FRACTION = 13
"""Shares of logits count steps of 2^-13."""
LOGIT_BITS = 16
"""Shares of logits are integers modulo 2^16: logits up to four times LOGIT_RANGE; beyond that they wrap."""

MASK_HEADROOM_BITS = 32
"""Coefficients of a mask are sums of three uniform integers of 32 bits more than the scale has (masking)."""


@dataclass(frozen=True)
class Parameters:
    """One CKKS instance; both sides take it from the kind of head and agree on nothing else.

    Args:
        degree: of the ring's polynomials, a power of two; half as many queries fit into a ciphertext.
        prime_bits: sizes of the primes of the modulus; the last is for key switching alone.
        scale_bits: a value v is encrypted as v times two to the power of this.
        layers: affine maps of a head; a square lies between every two.
    """

    degree: int
    prime_bits: tuple[int, ...]
    scale_bits: int
    layers: int

    @property
    def slots(self) -> int:
        """Queries that fit into one ciphertext."""
        return self.degree // 2

    @property
    def scale(self) -> float:
        """What encrypted values are multiplied by."""
        return 2.0**self.scale_bits

    @property
    def primes(self) -> int:
        """Primes under which queries are encrypted."""
        return len(self.prime_bits) - 1

    @property
    def result_primes(self) -> int:
        """Primes left under the logits: every affine map and every square uses up one."""
        return self.primes - (2 * self.layers - 1)

    @property
    def limb_bits(self) -> int:
        """Half the bits of the uniform integers that masks are made of."""
        return (self.scale_bits + MASK_HEADROOM_BITS) // 2

    @property
    def digest(self) -> bytes:
        """32 bytes that begin every message, so that messages under other parameters are told apart."""
        return hashlib.sha256(repr(self).encode()).digest()


_LINEAR = Parameters(degree=8192, prime_bits=(40, 40, 40, 40), scale_bits=40, layers=1)
_SQUARE = Parameters(degree=8192, prime_bits=(40, 30, 30, 30, 30, 40), scale_bits=30, layers=2)


def parameters_of(head: Head) -> Parameters:
    """The parameters under which heads of this kind run; 128-bit secure by SEAL's table (seal.Seal)."""
    return _LINEAR if head == "linear" else _SQUARE
