"""The answering party's side of linear heads: evaluated on encrypted queries, and masked.

With weights w, bias b and queries (b_f, a_f) the party returns, for each logit,

    first  = sum of w_f b_f + b + b_0 u + e + mask        second = sum of w_f a_f + a_0 u + e'

where (b_0, a_0) is the public key, u has coefficients of -1, 0 and 1, e and e' are errors, and the mask is
uniform modulo 2^64 in every coefficient. Its own share of the logit is minus the mask.

- `first` is uniform whatever the others are, also where keys, queries or their range were never honest.
- `second` is a sample of ring learning with errors for the secret u, plus something: as good as uniform
  whatever w, a_f, b_f and b_0 are, since a_0 is hashed from what both sides contributed, the party last.

docs/confidential.md has the proof.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ostraka.common.crypto.heads import WEIGHT_BITS, Affine, EncryptedHead, check_weights
from ostraka.common.crypto.inference import MaskedLogits, check_heads, groups
from ostraka.common.crypto.linear.linear_keys import PUBLIC_KEY, SECOND_HALVES
from ostraka.common.crypto.linear.linear_messages import (
    POLYNOMIAL_BYTES,
    polynomials,
    read_queries,
    write_logits,
)
from ostraka.common.crypto.linear.linear_ring import Factor, Polynomials
from ostraka.common.crypto.linear.linear_shares import LOGIT_SCALE_BITS, WEIGHT_SCALE_BITS, logit_shares
from ostraka.common.crypto.linear.matrix import product
from ostraka.common.crypto.linear.sampling import errors, ternary, uniform
from ostraka.common.crypto.stream import Stream
from ostraka.common.errors import ErrorCode, OstrakaError

_ROWS = 256
"""Logits that several heads give together at most, so that memory stays bounded."""
_MODULUS = 2**64


class LinearEvaluator:
    """Evaluates linear heads on queries encrypted under one querying party's keys."""

    def __init__(self, public: bytes, context: bytes) -> None:
        """Take the public key's first half; its second is what `context` stands for.

        Raises:
            OstrakaError: `message.invalid` for another size. Nothing else can be wrong with it: no first half
                tells anything of a head.
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
        """Masked logits of each head in turn; the same for the same seed and queries (`HeadEvaluator`)."""
        check_heads(heads, layers=1)
        public, first = read_queries(queries, heads[0].inputs)
        second = uniform(Stream(public, SECOND_HALVES), len(first))
        index = 0
        for group in groups(heads, _ROWS):
            weights, biases = _whole([head.layers[0] for head in group])
            rows = [product(weights, WEIGHT_SCALE_BITS + WEIGHT_BITS + 1, half) for half in (first, second)]
            rows[0] += biases[:, None]
            start = 0
            for head in group:
                stop = start + head.outputs
                logits = np.stack([half[start:stop] for half in rows], axis=1)
                yield self._masked(logits, Stream(seed, f"masks of linear head {index}"), instances)
                start, index = stop, index + 1

    def _masked(self, logits: Polynomials, stream: Stream, instances: int) -> MaskedLogits:
        """Logits (outputs, 2, DEGREE) plus fresh encryptions of zero, and plus masks."""
        shares = []
        for index in range(len(logits)):
            mask = uniform(stream)
            logits[index] += self._key.times(ternary(stream)) + errors(stream, 2).view(np.uint64)
            logits[index, 0] += mask
            shares.append(logit_shares(np.negative(mask))[:instances])
        return MaskedLogits(write_logits(logits), np.stack(shares))


def _whole(maps: Sequence[Affine]) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """Stacked weights in steps of 2^-WEIGHT_SCALE_BITS, and biases in steps of logits, modulo 2^64.

    Raises `party.not_encrypted` where one is too large.
    """
    check_weights(maps)
    weights = np.concatenate([layer.weights.toarray() for layer in maps])
    biases = np.concatenate([layer.bias for layer in maps])
    steps = [int(value) % _MODULUS for value in np.rint(np.ldexp(biases, LOGIT_SCALE_BITS)).tolist()]
    return np.rint(np.ldexp(weights, WEIGHT_SCALE_BITS)).astype(np.int64), np.array(steps, np.uint64)
