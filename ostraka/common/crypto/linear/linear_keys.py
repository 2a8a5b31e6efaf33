"""The querying party's side of linear heads: a secret key, encrypted queries, decrypted shares of logits."""

import secrets
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostraka.common.crypto.inference import checked_queries
from ostraka.common.crypto.linear.linear_messages import (
    LOGIT_BYTES,
    polynomial_octets,
    read_logits,
    write_queries,
)
from ostraka.common.crypto.linear.linear_ring import Factor, Polynomials
from ostraka.common.crypto.linear.linear_shares import FEATURE_SCALE_BITS, logit_shares
from ostraka.common.crypto.linear.sampling import errors, ternary, uniform
from ostraka.common.crypto.stream import SEED_BYTES, Stream
from ostraka.common.crypto.transcript_binding import derive

SECOND_HALVES = "second halves of queries"
"""What a message's seed stands for."""
PUBLIC_KEY = "second half of the public key"
"""What the context of a batch and party stands for."""
_FEATURES = 64
"""Features encrypted at once, so that memory stays bounded."""


class LinearKeys:
    """A secret key s of -1, 0 and 1: a ciphertext (first, second) of m has first + second s = m + error.

    Everything random is a stream of a secret seed; what is made again for the same place is the same, so that
    no two errors are ever told for one second half.
    """

    def __init__(self, random: Callable[[int], bytes] = secrets.token_bytes) -> None:
        """Draw the key; `random` gives so many random bytes."""
        self._random = random
        self._seed = random(SEED_BYTES)
        self._secret = ternary(Stream(self._seed, "secret key"))

    def public(self, context: bytes) -> bytes:
        """Return the first half of an encryption of zero whose second half is the context's."""
        second = uniform(Stream(context, PUBLIC_KEY))
        error = errors(self._errors("public key", context))
        return polynomial_octets(self._first(second, error))

    def encrypt(self, X: NDArray[np.floating[Any]]) -> bytes:
        """Fresh ciphertexts of queries (queries, features), a query a coefficient, one for each feature."""
        values = checked_queries(X)
        seed = self._random(SEED_BYTES)
        second, error = Stream(seed, SECOND_HALVES), self._errors("queries", seed)
        first = []
        for start in range(0, values.shape[1], _FEATURES):
            columns = values[:, start : start + _FEATURES].T
            message = errors(error, len(columns))
            message[:, : len(values)] += np.rint(np.ldexp(columns, FEATURE_SCALE_BITS)).astype(np.int64)
            first.append(self._first(uniform(second, len(columns)), message))
        return write_queries(seed, np.concatenate(first))

    def reply_bytes(self, outputs: int) -> int:
        """Bytes of the encrypted logits of a batch, however many queries it has."""
        return outputs * LOGIT_BYTES

    def decrypt(self, data: bytes, instances: int) -> NDArray[np.uint64]:
        """Shares of logits (outputs, instances); raises `message.invalid` for no whole ciphertexts."""
        shares = [
            logit_shares(first + Factor(second).times(self._secret))[:instances]
            for first, second in read_logits(data)
        ]
        return np.stack(shares)

    def _first(self, second: Polynomials, message: NDArray[np.int64]) -> Polynomials:
        return message.view(np.uint64) - Factor(second).times(self._secret)

    def _errors(self, purpose: str, place: bytes) -> Stream:
        return Stream(derive(self._seed, f"errors of {purpose}", place), "errors")
