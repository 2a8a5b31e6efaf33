"""A linear hash of columns of bits, for the consistency check of an OT extension."""

import numpy as np
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from numpy.typing import NDArray

KEY_BYTES = 32
HASH_BYTES = 32
HASH_BITS = 8 * HASH_BYTES
_NONCE = bytes(12)


class ColumnHash:
    """Two GHASHes: for each of two keys, the column's blocks as a polynomial at a point of GF(2^128).

    The GCM tag of a text that is only authenticated is such a polynomial plus a constant that depends on the
    key and on the length (NIST SP 800-38D, section 7.1), so a tag plus the tag of zeros is linear over GF(2).
    For a key drawn after them, two different columns of n blocks collide with probability at most
    (n / 2^128)^2, and the hash of a column whose last two blocks are uniform is uniform unless the points
    are equal or zero, which has probability below 2^-125 (own derivation: docs/confidential.md).
    """

    def __init__(self, key: bytes, column_bytes: int) -> None:
        """Hash columns of `column_bytes`, whole blocks, under the two halves of `key`, 32 bytes."""
        half = KEY_BYTES // 2
        self._ciphers = AESGCM(key[:half]), AESGCM(key[half:])
        self._constant = self._tags(np.zeros(column_bytes, np.uint8))

    def __call__(self, column: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return the hash of a column of bits, 32 bytes, uint8."""
        return self._tags(column) ^ self._constant

    def _tags(self, column: NDArray[np.uint8]) -> NDArray[np.uint8]:
        tags = [cipher.encrypt(_NONCE, b"", column.data) for cipher in self._ciphers]
        return np.frombuffer(b"".join(tags), np.uint8)
