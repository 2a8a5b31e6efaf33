"""A party's fresh seed and the share it stands for."""

import secrets
from collections.abc import Callable

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from ostraka.common.sharing.modulus import Modulus, RingArray

SEED_BYTES = 32


def fresh_seed(random: Callable[[int], bytes] = secrets.token_bytes) -> bytes:
    """32 random bytes for one batch of one party, never used for another."""
    return random(SEED_BYTES)


def expand(seed: bytes, rows: int, width: int, ring: Modulus) -> RingArray:
    """Expand the seed to uniform ring values of shape (rows, width): AES-256 in counter mode from 0.

    A seed is used once, so the counter needs no nonce. Both ends get the same values on any machine. Seeds of
    verified ballots are expanded by `ostraka.common.verified.expansion`, which rejects what is no residue.
    """
    if len(seed) != SEED_BYTES:
        raise ValueError(f"a seed has {SEED_BYTES} bytes, not {len(seed)}")
    stream = Cipher(algorithms.AES256(seed), modes.CTR(bytes(16))).encryptor()
    blank = np.zeros(rows * width, ring.dtype)
    return ring.from_bytes(stream.update(blank.data.cast("B") if blank.size else b""), rows, width)
