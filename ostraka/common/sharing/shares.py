"""Ballots split into two shares that reveal nothing alone, one from a seed; digests of their row sums."""

import hashlib
import hmac
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from ostraka.common.sharing.fixed_point import encode
from ostraka.common.sharing.modulus import Modulus, RingArray

SEED_BYTES = 32


def fresh_seed(random: Callable[[int], bytes] = secrets.token_bytes) -> bytes:
    """Return 32 random bytes for one batch of one party; they must not be used again."""
    return random(SEED_BYTES)


def expand(seed: bytes, rows: int, width: int, ring: Modulus) -> RingArray:
    """Expand the seed to uniform ring values of shape (rows, width): AES-256 in counter mode from 0.

    A seed is used once, so the counter needs no nonce. Both ends get the same values on any machine. Seeds of
    verified ballots are expanded by `ostraka.common.verified.expansion`, which rejects values that are not
    residues.
    """
    if len(seed) != SEED_BYTES:
        raise ValueError(f"a seed has {SEED_BYTES} bytes, not {len(seed)}")
    stream = Cipher(algorithms.AES256(seed), modes.CTR(bytes(16))).encryptor()
    blank = np.zeros(rows * width, ring.dtype)
    return ring.from_bytes(stream.update(blank.data.cast("B") if blank.size else b""), rows, width)


def split(ballots: NDArray[np.number[Any]], seed: bytes, ring: Modulus) -> RingArray:
    """Return the guardian's share of ballots in votes, (queries, width): their encoding minus the expansion.

    The querying party's share is `expand(seed, queries, width, ring)`.
    """
    rows, width = ballots.shape
    return ring.subtract(encode(ballots, ring), expand(seed, rows, width, ring))


KEY_BYTES = 32
DIGEST_BYTES = 16


@dataclass(frozen=True)
class RowSums:
    """Digests of the row sums of one side's shares of a batch.

    A party chooses both shares of its ballots, but not the key: the querying party draws it after it has
    received its share. So different row sums have the same digest with a probability of 2^-128.

    Attributes:
        key: random bytes, fresh for a batch.
        digests: the digest of each site.
    """

    key: bytes = field(repr=False)
    digests: Mapping[str, bytes] = field(repr=False)

    @classmethod
    def of(cls, key: bytes, shares: Mapping[str, RingArray], ring: Modulus) -> "RowSums":
        """Return the digests of shares by site, ring values (queries, width)."""
        return cls(key, {site: _digest(key, row_sums(share, ring), ring) for site, share in shares.items()})

    def match(self, site: str, share: RingArray, totals: NDArray[np.int64], ring: Modulus) -> bool:
        """Whether the rows of a party's two shares sum to `totals`, in steps of 2^-16 vote, (queries,)."""
        other = ring.subtract(ring.wrap(totals), row_sums(share, ring))
        return hmac.compare_digest(self.digests[site], _digest(self.key, other, ring))


def row_sums(share: RingArray, ring: Modulus) -> RingArray:
    """Return the sum of each row of a share (queries, width) in its ring."""
    return ring.sum(share.T)


def _digest(key: bytes, sums: RingArray, ring: Modulus) -> bytes:
    return hashlib.blake2b(ring.to_bytes(sums), digest_size=DIGEST_BYTES, key=key).digest()
