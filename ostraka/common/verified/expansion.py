"""Expansion of seeds to uniform field elements, separately for each purpose, context and part."""

import hashlib

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from ostraka.common.sharing.prime_field import FieldArray, PrimeField
from ostraka.common.sharing.shares import SEED_BYTES

COMMITMENT_BYTES = 32
"""Number of bytes of a commitment."""

_DOMAIN = b"ostraka verified ballots 1"


def expand(
    field: PrimeField, purpose: str, context: bytes, part: int, seed: bytes, *shape: int
) -> FieldArray:
    """Expand a seed to uniform elements of this shape: AES-256 in counter mode from 0, rejecting p itself.

    The key is SHA-256 of purpose, context, part and seed, so two different ones never share elements. Both
    ends get the same values on any machine.

    Raises:
        ValueError: if the seed does not have 32 bytes.
    """
    key = _digest(purpose, context, part, seed)
    stream = Cipher(algorithms.AES256(key), modes.CTR(bytes(16))).encryptor()
    count = int(np.prod(shape))
    elements = np.empty(0, np.uint64)
    while len(elements) < count:
        blank = bytes((count - len(elements)) * field.element_bytes)
        words = np.frombuffer(stream.update(blank), f"<u{field.element_bytes}").astype(np.uint64)
        words &= np.uint64(field.prime)
        elements = np.concatenate([elements, words[words != field.prime]])
    return elements.reshape(shape)


def commitment_to(context: bytes, seed: bytes) -> bytes:
    """Return the digest by which a party commits to its seed for a context: 32 bytes of SHA-256."""
    return _digest("commitment", context, 0, seed)


def _digest(purpose: str, context: bytes, part: int, seed: bytes) -> bytes:
    if len(seed) != SEED_BYTES:
        raise ValueError(f"a seed has {SEED_BYTES} bytes, not {len(seed)}")
    hashed = hashlib.sha256()
    for field in (_DOMAIN, purpose.encode(), context, part.to_bytes(4, "big"), seed):
        hashed.update(len(field).to_bytes(8, "big") + field)
    return hashed.digest()
