"""Expansion of a seed into random bytes, blocks or ring words, separated by purpose."""

from typing import Any

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand
from numpy.typing import NDArray

from ostraka.common.crypto.blocks import BLOCK_BYTES, Blocks, from_bytes

SEED_BYTES = 32


class Stream:
    """AES-256 in counter mode, read from the start; the key is HKDF-SHA256 of the seed and the purpose.

    The same seed and purpose give the same stream on any machine; streams for other purposes are independent
    of it (RFC 5869).
    """

    def __init__(self, seed: bytes, purpose: str) -> None:
        """Start the stream of `purpose`; raise ValueError for a seed that is not 32 bytes."""
        if len(seed) != SEED_BYTES:
            raise ValueError(f"a seed has {SEED_BYTES} bytes, not {len(seed)}")
        key = HKDFExpand(SHA256(), SEED_BYTES, purpose.encode()).derive(seed)
        self._cipher = Cipher(algorithms.AES256(key), modes.CTR(bytes(BLOCK_BYTES))).encryptor()

    def octets(self, count: int) -> bytes:
        """Return the next `count` bytes."""
        return self._cipher.update(bytes(count))

    def blocks(self, *shape: int) -> Blocks:
        """Return the next blocks, of `shape` + (2,), uint64."""
        return from_bytes(self.octets(_product(shape) * BLOCK_BYTES), *shape)

    def ring(self, bits: int, *shape: int) -> NDArray[np.uint64]:
        """Return the next uniform values modulo 2^bits, of `shape`, uint64; `bits` is at most 64.

        Each takes 4 bytes of the stream, or 8 if `bits` is above 32.
        """
        octets: np.dtype[Any] = np.dtype("<u4" if bits <= 32 else "<u8")
        data = self.octets(_product(shape) * octets.itemsize)
        values = np.frombuffer(data, octets).astype(np.uint64).reshape(shape)
        return values & np.uint64(2**bits - 1)


def _product(shape: tuple[int, ...]) -> int:
    return int(np.prod(shape, dtype=np.int64))
