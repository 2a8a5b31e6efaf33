"""Encrypted inference as both sides see it, whatever the kind of head and the encryption behind it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ostraka.common.crypto.heads import EncryptedHead
from ostraka.common.crypto.logits import Head
from ostraka.common.errors import ErrorCode, OstrakaError

QUERIES = 4096
"""Queries that are encrypted together at most."""
FEATURE_LIMIT = 2.0**20
"""Features lie within +-2^20."""


@dataclass(frozen=True)
class MaskedLogits:
    """What leaves for one head, and what stays.

    Attributes:
        ciphertexts: `Scheme.logits_bytes` bytes for the querying party.
        shares: this party's shares of the logits, (outputs, instances), modulo 2^LOGIT_BITS, in steps of
            2^-LOGIT_FRACTION: added to what the other party decrypts they give the logits.
    """

    ciphertexts: bytes = field(repr=False)
    shares: NDArray[np.uint64] = field(repr=False)


class QueryKeys(Protocol):
    """The querying party's side: its secret key never leaves."""

    def public(self, context: bytes) -> bytes:
        """Return what an answering party needs to evaluate and to hide, bound to `context`, 32 bytes.

        That is what both have agreed on before (`two_party.Garbling.context`).
        """
        ...

    def encrypt(self, X: NDArray[np.floating[Any]]) -> bytes:
        """Fresh encryptions of queries (queries, features), `Scheme.queries_bytes` long.

        Raises `data.shape` and `data.nan` as `check_queries` does.
        """
        ...

    def reply_bytes(self, outputs: int, instances: int) -> int:
        """Bytes of the encrypted logits of a batch of so many queries."""
        ...

    def decrypt(self, data: bytes, instances: int) -> NDArray[np.uint64]:
        """Shares of logits (outputs, instances) modulo 2^LOGIT_BITS, for as many outputs as were sent.

        Nothing that depends on them may be told to the party that sent the data. Raises `message.invalid` for
        bytes that are not whole ciphertexts.
        """
        ...


class HeadEvaluator(Protocol):
    """The answering party's side, for one querying party's keys."""

    def logits(
        self, heads: Sequence[EncryptedHead], queries: bytes, seed: bytes, instances: int
    ) -> Iterator[MaskedLogits]:
        """Masked logits of each head in turn, for the first `instances` queries.

        The masks are what `seed` (32 bytes, fresh for every batch) stands for.

        Raises:
            OstrakaError: `message.invalid` for queries of another size or with values that are none,
                `crypto.refused` for queries under other parameters, `party.not_encrypted` for a weight that
                is too large.
            ValueError: for heads of another depth than the scheme evaluates, or of differing inputs.
        """
        ...


class Scheme(Protocol):
    """How heads of one kind are evaluated; both sides take it from the kind and agree on nothing else."""

    def keys(self) -> QueryKeys:
        """Fresh keys."""
        ...

    def evaluator(self, public: bytes, context: bytes) -> HeadEvaluator:
        """Return what evaluates under a querying party's `public` keys, made for the same `context`.

        Raises `message.invalid` or `crypto.refused` for keys that are none.
        """
        ...

    def queries_bytes(self, inputs: int, instances: int) -> int:
        """Bytes of a batch of so many encrypted queries, for heads of so many inputs."""
        ...

    def most_public_bytes(self) -> int:
        """Bytes of the public keys, at most."""
        ...

    def logits_bytes(self, outputs: int, instances: int) -> int:
        """Bytes of the encrypted logits of one head for a batch."""
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
    """Raise ValueError unless heads have so many layers and take the same features."""
    if any(len(head.layers) != layers for head in heads):
        raise ValueError(f"these parameters are for heads of {layers} layers")
    if len({head.inputs for head in heads}) != 1:
        raise ValueError("heads that are evaluated together take the same features")


def groups(heads: Sequence[EncryptedHead], rows: int) -> Iterator[list[EncryptedHead]]:
    """Heads in their order, as many at once as have `rows` values after their first layer, at least one."""
    group: list[EncryptedHead] = []
    for head in heads:
        held = sum(member.layers[0].outputs for member in group)
        if group and held + head.layers[0].outputs > rows:
            yield group
            group = []
        group.append(head)
    yield group


def scheme_of(head: Head) -> Scheme:
    """Return the scheme under which heads of this kind run.

    Raises `config.invalid` where the library that square-mlp and square-cnn need is of another version than
    the one they are written for.
    """
    if head in ("linear", "square"):
        from ostraka.common.crypto.linear.linear_scheme import LinearScheme
        from ostraka.common.crypto.linear.products import products

        return LinearScheme(products) if head == "square" else LinearScheme()
    from ostraka.common.crypto.ckks.ckks_scheme import CkksScheme

    return CkksScheme()
