"""Row sums of shared ballots: both sides compare digests, and see that every ballot has its voters."""

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ostraka.common.sharing.modulus import Modulus, RingArray

KEY_BYTES = 32
DIGEST_BYTES = 16


@dataclass(frozen=True)
class RowSums:
    """Digests of the row sums of one side's shares of a batch.

    A party chooses both shares of its ballots, but not the key: the querying party draws it when it has its
    share, so that other row sums have the same digest with a chance of 2^-128.

    Attributes:
        key: random bytes, fresh for a batch.
        digests: by site.
    """

    key: bytes = field(repr=False)
    digests: Mapping[str, bytes] = field(repr=False)

    @classmethod
    def of(cls, key: bytes, shares: Mapping[str, RingArray], ring: Modulus) -> "RowSums":
        """Return those of shares by site, ring values (queries, width)."""
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
