"""The scheme of heads that are linear in features or in their products: both sides of it.

The querying party has the keys, and the answering party evaluates. With weights w, bias b and queries (b_f,
a_f) the party returns, for each logit,

    first  = sum of w_f b_f + b + b_0 u + e + mask        second = sum of w_f a_f + a_0 u + e'

where (b_0, a_0) is the public key, u has coefficients of -1, 0 and 1, e and e' are errors, and the mask is
uniform modulo 2^64 in every coefficient. Its own share of the logit is minus the mask.

- `first` is uniform whatever the other terms are, even if keys, queries or their range are dishonest.
- `second` is a sample of ring learning with errors for the secret u, plus something. It is as good as uniform
  whatever w, a_f, b_f and b_0 are, because a_0 is hashed from contributions of both sides, the party's last.

docs/confidential-proofs.md has the proof.
"""

import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostraka.common.crypto.heads import WEIGHT_BITS, Affine, EncryptedHead, check_weights
from ostraka.common.crypto.inference import MaskedLogits, check_heads, check_queries, groups
from ostraka.common.crypto.limbs import product
from ostraka.common.crypto.linear.linear_messages import (
    POLYNOMIAL_BYTES,
    logit_bytes,
    polynomial_octets,
    polynomials,
    queries_bytes,
    read_logits,
    read_queries,
    write_logits,
    write_queries,
)
from ostraka.common.crypto.linear.linear_ring import (
    FEATURE_SCALE_BITS,
    LOGIT_SCALE_BITS,
    WEIGHT_SCALE_BITS,
    Factor,
    Polynomials,
    errors,
    logit_shares,
    ternary,
    uniform,
)
from ostraka.common.crypto.linear.packing import Packing
from ostraka.common.crypto.stream import SEED_BYTES, Stream
from ostraka.common.crypto.transcripts import derive
from ostraka.common.errors import ErrorCode, OstrakaError

SECOND_HALVES = "second halves of queries"
"""Purpose of the stream from a message's seed."""
PUBLIC_KEY = "second half of the public key"
"""Purpose of the stream from the context of a batch and party."""
_POLYNOMIALS = 64
"""Number of polynomials encrypted at once, which bounds the memory."""


Terms = Callable[[NDArray[np.floating[Any]]], NDArray[np.floating[Any]]]
"""Computes what a head is linear in, (queries, terms), from queries (queries, features)."""


class LinearKeys:
    """A secret key s of -1, 0 and 1: a ciphertext (first, second) of m has first + second s = m + error.

    All randomness comes from streams of a secret seed. What is made again for the same place is the same, so
    that two different errors are never revealed for one second half.
    """

    def __init__(
        self, random: Callable[[int], bytes] = secrets.token_bytes, terms: Terms = np.asarray
    ) -> None:
        """Draw the key; `random` gives random bytes, and `terms` computes what is encrypted of queries."""
        self._random = random
        self._terms = terms
        self._seed = random(SEED_BYTES)
        self._secret = ternary(Stream(self._seed, "secret key"))

    def public(self, context: bytes) -> bytes:
        """Return the first half of an encryption of zero whose second half comes from the context."""
        second = uniform(Stream(context, PUBLIC_KEY))
        error = errors(self._errors("public key", context))
        return polynomial_octets(self._first(second, error))

    def encrypt(self, X: NDArray[np.floating[Any]]) -> bytes:
        """Return fresh ciphertexts of queries (queries, features), one query per coefficient of a term."""
        values = check_queries(self._terms(X))
        seed = self._random(SEED_BYTES)
        second = Stream(seed, SECOND_HALVES)
        error = self._errors("queries", seed)
        first = []
        packing = Packing.of(len(values))
        step = _POLYNOMIALS * packing.together
        for start in range(0, values.shape[1], step):
            steps = np.rint(np.ldexp(values[:, start : start + step], FEATURE_SCALE_BITS)).astype(np.int64)
            message = packing.pack(steps)
            message += errors(error, len(message))
            first.append(self._first(uniform(second, len(message)), message))
        return write_queries(seed, np.concatenate(first), values.shape[1], packing)

    def reply_bytes(self, outputs: int, instances: int) -> int:
        """Return the number of bytes of the encrypted logits of a batch of this many queries."""
        return outputs * logit_bytes(Packing.of(instances))

    def decrypt(self, data: bytes, instances: int) -> NDArray[np.uint64]:
        """Return shares of logits (outputs, instances); raise `message.invalid` for incomplete data."""
        shares = [
            logit_shares(first[:instances] + Factor(second).times(self._secret)[:instances])
            for first, second in zip(*read_logits(data, Packing.of(instances)), strict=True)
        ]
        return np.stack(shares)

    def _first(self, second: Polynomials, message: NDArray[np.int64]) -> Polynomials:
        return message.view(np.uint64) - Factor(second).times(self._secret)

    def _errors(self, purpose: str, place: bytes) -> Stream:
        return Stream(derive(self._seed, f"errors of {purpose}", place), "errors")


_ROWS = 256
"""Maximum number of logits that several heads give together, which bounds the memory."""
_MODULUS = 2**64
"""Modulus of coefficients; NumPy's uint64 reduces them by itself."""


class LinearEvaluator:
    """Evaluates linear heads on queries encrypted under one querying party's keys."""

    def __init__(self, public: bytes, context: bytes) -> None:
        """Take the public key's first half; its second half comes from `context`.

        Raises:
            OstrakaError: `message.invalid` for another size. Nothing else can be wrong with it: no first half
                reveals anything about a head.
        """
        if len(public) != POLYNOMIAL_BYTES:
            raise OstrakaError(
                ErrorCode.MESSAGE_INVALID,
                f"The public key of linear heads takes {POLYNOMIAL_BYTES} bytes, not {len(public)}: send it "
                "whole.",
            )
        (first,) = polynomials(public)
        self._key = Factor(np.stack([first, uniform(Stream(context, PUBLIC_KEY))]))

    def logits(
        self, heads: Sequence[EncryptedHead], queries: bytes, seed: bytes, instances: int
    ) -> Iterator[MaskedLogits]:
        """Yield masked logits of each head in turn; equal seed and queries give equal ones."""
        check_heads(heads, layers=1)
        inputs = heads[0].inputs
        packing = Packing.of(instances)
        public, packed = read_queries(queries, inputs, packing)
        first = packing.constants(packed, inputs)
        second = packing.shift(uniform(Stream(public, SECOND_HALVES), len(packed)), inputs)
        index = 0
        for group in groups(heads, _ROWS):
            weights, biases = _whole([head.layers[0] for head in group])
            rows = [product(weights, WEIGHT_SCALE_BITS + WEIGHT_BITS + 1, half) for half in (first, second)]
            rows[0] += biases[:, None]
            start = 0
            for head in group:
                stop = start + head.outputs
                stream = Stream(seed, f"masks of linear head {index}")
                yield self._mask(rows[0][start:stop], rows[1][start:stop], stream, instances)
                start = stop
                index = index + 1

    def _mask(
        self, first: NDArray[np.uint64], second: Polynomials, stream: Stream, instances: int
    ) -> MaskedLogits:
        """Return logits (outputs, block), (outputs, DEGREE) plus fresh encryptions of zero and plus masks."""
        block = first.shape[1]
        shares = []
        for index in range(len(first)):
            mask = uniform(stream)[:block]
            zero = self._key.times(ternary(stream)) + errors(stream, 2).view(np.uint64)
            first[index] += zero[0, :block] + mask
            second[index] += zero[1]
            shares.append(logit_shares(np.negative(mask))[:instances])
        return MaskedLogits(write_logits(first, second), np.stack(shares))


def _whole(maps: Sequence[Affine]) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """Return stacked weights in steps of 2^-WEIGHT_SCALE_BITS, and biases in steps of logits, modulo 2^64.

    Raises `party.not_encrypted` if one is too large.
    """
    check_weights(maps)
    weights = np.concatenate([layer.weights.toarray() for layer in maps])
    biases = np.concatenate([layer.bias for layer in maps])
    steps = [int(value) % _MODULUS for value in np.rint(np.ldexp(biases, LOGIT_SCALE_BITS)).tolist()]
    return np.rint(np.ldexp(weights, WEIGHT_SCALE_BITS)).astype(np.int64), np.array(steps, np.uint64)


@dataclass(frozen=True)
class LinearScheme:
    """Queries in coefficients, with masks uniform modulo 2^64 (`inference.Scheme`).

    Attributes:
        terms: what heads are linear in: the features themselves, or `products`.
    """

    terms: Terms = np.asarray

    def keys(self) -> LinearKeys:
        """Return fresh keys."""
        return LinearKeys(terms=self.terms)

    def evaluator(self, public: bytes, context: bytes) -> LinearEvaluator:
        """Return an evaluator for a party's keys; raise `message.invalid` for keys of another size."""
        return LinearEvaluator(public, context)

    def queries_bytes(self, inputs: int, instances: int) -> int:
        """Return the number of bytes of a batch of encrypted queries with `inputs` values of a head."""
        return queries_bytes(inputs, Packing.of(instances))

    def most_public_bytes(self) -> int:
        """Return the number of bytes of the public key."""
        return POLYNOMIAL_BYTES

    def logits_bytes(self, outputs: int, instances: int) -> int:
        """Return the number of bytes of the encrypted logits of one head for a batch."""
        return outputs * logit_bytes(Packing.of(instances))
