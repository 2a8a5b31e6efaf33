"""The hash that encrypts garbled gates: fixed-key AES made circular-correlation robust by a tweak."""

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from ostraka.common.crypto.blocks import BLOCK_BYTES, Blocks
from ostraka.common.crypto.transcript_binding import derive

_PURPOSE = "key of the garbling hash"


class TweakedHash:
    """TMMO: p(p(x) ^ tweak) ^ p(x), where p is AES-128 (Guo, Katz, Wang and Yu 2020, section 7.4).

    The key of p is public and hashed from what a garbling is bound to, so that work spent on one garbling
    tells nothing of another, which tweaks alone would not give (Guo, Katz, Wang, Weng and Yu 2020). Every
    call takes fresh tweaks, counted from 0.
    """

    def __init__(self, binding: bytes, part: int) -> None:
        """Derive the key from the binding of a garbling and the number of its part; start the tweaks at 0."""
        key = derive(binding, _PURPOSE, part.to_bytes(8, "little"))
        self._permutation = Permutation(key[:BLOCK_BYTES])
        self._next_tweak = 0

    def tweaks(self, count: int) -> NDArray[np.uint64]:
        """Return the next `count` tweaks, each used once."""
        first = self._next_tweak
        self._next_tweak += count
        return np.arange(first, self._next_tweak, dtype=np.uint64)

    def __call__(self, blocks: Blocks, tweaks: NDArray[np.uint64]) -> Blocks:
        """Return the hashes of blocks (..., 2) under tweaks, whose shape broadcasts to (...).

        Both labels of a wire are hashed under one tweak, by the garbler alone.
        """
        inner = self._permutation(blocks)
        tweaked = inner.copy()
        tweaked[..., 0] ^= tweaks
        outer = self._permutation(tweaked)
        outer ^= inner
        return outer


class Permutation:
    """AES-128 under a fixed key, on every block of an array (FIPS 197)."""

    def __init__(self, key: bytes) -> None:
        """Set up the key of 16 bytes."""
        mode = modes.ECB()  # noqa: S305 (a permutation is wanted)
        self._cipher = Cipher(algorithms.AES128(key), mode).encryptor()

    def __call__(self, blocks: Blocks) -> Blocks:
        """Return the encrypted blocks, of the same shape."""
        plain = np.ascontiguousarray(blocks)
        room = np.empty(plain.nbytes + BLOCK_BYTES, np.uint8)
        self._cipher.update_into(plain.reshape(-1).view(np.uint8).data, room.data)
        return room[: plain.nbytes].view(np.uint64).reshape(plain.shape)
