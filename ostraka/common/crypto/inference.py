"""Encrypted inference as both sides see it, whatever the kind of head and the encryption."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ostraka.common.crypto.heads import EncryptedHead
from ostraka.common.crypto.logits import Head
from ostraka.common.errors import ErrorCode, OstrakaError

QUERIES = 4096
"""Maximum number of queries that are encrypted together."""
FEATURE_LIMIT = 2.0**20
"""Features lie within +-2^20."""


@dataclass(frozen=True)
class MaskedLogits:
    """What is sent for one head, and what stays.

    Attributes:
        ciphertexts: `Scheme.logits_bytes` bytes for the querying party.
        shares: this party's shares of the logits, (outputs, instances), modulo 2^LOGIT_BITS, in steps of
            2^-LOGIT_FRACTION; added to what the other party decrypts, they give the logits.
    """

    ciphertexts: bytes = field(repr=False)
    shares: NDArray[np.uint64] = field(repr=False)


class QueryKeys(Protocol):
    """The querying party's side: its secret key never leaves."""

    def public(self, context: bytes) -> bytes:
        """Return what an answering party needs to evaluate and to hide, bound to `context`, 32 bytes.

        Both have agreed on the context before (`two_party.Garbling.context`).
        """
        ...

    def encrypt(self, X: NDArray[np.floating[Any]]) -> bytes:
        """Return fresh encryptions of queries (queries, features), `Scheme.queries_bytes` long.

        Raises `data.shape` and `data.nan` as `check_queries`.
        """
        ...

    def reply_bytes(self, outputs: int, instances: int) -> int:
        """Return the number of bytes of the encrypted logits of a batch of this many queries."""
        ...

    def decrypt(self, data: bytes, instances: int) -> NDArray[np.uint64]:
        """Return shares of logits (outputs, instances) modulo 2^LOGIT_BITS, for as many outputs as were sent.

        Nothing that depends on them may be revealed to the party that sent the data. Raises `message.invalid`
        for bytes that are not complete ciphertexts.
        """
        ...


class HeadEvaluator(Protocol):
    """The answering party's side, for one querying party's keys."""

    def logits(
        self, heads: Sequence[EncryptedHead], queries: bytes, seed: bytes, instances: int
    ) -> Iterator[MaskedLogits]:
        """Yield masked logits of each head in turn, for the first `instances` queries.

        The masks are derived from `seed` (32 bytes, fresh for every batch).

        Raises:
            OstrakaError: `message.invalid` for queries of another size or with invalid values,
                `crypto.refused` for queries under other parameters, `party.not_encrypted` for a weight that
                is too large.
            ValueError: for heads of another depth than the scheme evaluates, or with different inputs.
        """
        ...


class Scheme(Protocol):
    """How heads of one kind are evaluated; both sides derive it from the kind and agree on nothing else."""

    def keys(self) -> QueryKeys:
        """Return fresh keys."""
        ...

    def evaluator(self, public: bytes, context: bytes) -> HeadEvaluator:
        """Return an evaluator for a querying party's `public` keys, made for the same `context`.

        Raises `message.invalid` or `crypto.refused` for invalid keys.
        """
        ...

    def queries_bytes(self, inputs: int, instances: int) -> int:
        """Return the number of bytes of a batch of encrypted queries, for heads with this many inputs."""
        ...

    def most_public_bytes(self) -> int:
        """Return the maximum number of bytes of the public keys."""
        ...

    def logits_bytes(self, outputs: int, instances: int) -> int:
        """Return the number of bytes of the encrypted logits of one head for a batch."""
        ...


def check_queries(X: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """Return queries (queries, features) that can be encrypted, in double precision.

    Raises:
        OstrakaError: `data.shape` for no queries, no features, or more than QUERIES; `data.nan` for a value
            that is not finite or beyond FEATURE_LIMIT.
    """
    values = np.asarray(X, dtype=np.float64)
    if values.ndim != 2 or not 0 < len(values) <= QUERIES or not values.shape[1]:
        raise OstrakaError(
            ErrorCode.DATA_SHAPE,
            f"Encrypted queries are a matrix of 1 to {QUERIES} rows, not of shape {np.shape(X)}: choose a "
            "smaller batch size.",
        )
    if not (np.abs(values) <= FEATURE_LIMIT).all():
        raise OstrakaError(
            ErrorCode.DATA_NAN,
            f"Encrypted features are finite and within +-{FEATURE_LIMIT:.0f}: scale them first.",
        )
    return values


def check_heads(heads: Sequence[EncryptedHead], layers: int) -> None:
    """Raise ValueError unless heads have this many layers and the same number of features."""
    if any(len(head.layers) != layers for head in heads):
        raise ValueError(f"these parameters are for heads of {layers} layers")
    if len({head.inputs for head in heads}) != 1:
        raise ValueError("heads that are evaluated together take the same features")


def groups(heads: Sequence[EncryptedHead], rows: int) -> Iterator[list[EncryptedHead]]:
    """Yield heads in order, in groups of at least one and at most `rows` values after the first layer."""
    group: list[EncryptedHead] = []
    for head in heads:
        held = sum(member.layers[0].outputs for member in group)
        if group and held + head.layers[0].outputs > rows:
            yield group
            group = []
        group.append(head)
    yield group


def scheme_of(head: Head) -> Scheme:
    """Return the scheme for heads of this kind.

    Raises `config.invalid` if the library for square-mlp and square-cnn does not have the supported version.
    """
    if head in ("linear", "square"):
        from ostraka.common.crypto.linear.linear_scheme import LinearScheme
        from ostraka.common.crypto.linear.products import products

        return LinearScheme(products) if head == "square" else LinearScheme()
    from ostraka.common.crypto.ckks.ckks_scheme import CkksScheme

    return CkksScheme()
