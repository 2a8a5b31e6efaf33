"""Plans: what a querying party asks for, checked before anything acts on it."""

import hashlib
from functools import lru_cache
from typing import Any, Self

from google.protobuf.message import DecodeError
from pydantic import model_validator

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import invalid_plan
from ostraka.common.mechanism.message import mechanism_message, mechanism_of
from ostraka.common.plan.fields import PlanFields
from ostraka.common.plan.limits import check_mechanism, check_switches
from ostraka.common.wire.limits import check_limits
from ostraka.protos.ostraka.v1 import common_pb2

_TALLIES = {common_pb2.TALLY_AGGREGATE: "aggregate", common_pb2.TALLY_BLIND: "blind"}
_ENCODINGS = {common_pb2.ENCODING_PLAIN: "plain", common_pb2.ENCODING_CKKS: "ckks"}
_BASE_TRANSFERS = {
    common_pb2.BASE_TRANSFERS_ED25519: "ed25519",
    common_pb2.BASE_TRANSFERS_ML_KEM: "ml-kem",
}
_COPIED = {
    "nonce",
    "task_digest",
    "classes",
    "quorum",
    "queries",
    "batch_size",
    "multi_label",
    "ring_bits",
    "fraction_bits",
    "adjacency",
    "encoder",
    "encoder_sha256",
}
_PARSED = 16
"""Number of parsed plans in the cache: every call of a session repeats its plan, maybe megabytes long."""


class Plan(PlanFields):
    """What a querying party asks for; mirrors `ostraka.v1.Plan`.

    Construction raises `plan.invalid` if a field is out of range or not supported by this version.
    """

    @model_validator(mode="after")
    def _coherent(self) -> Self:
        if self.quorum > len(self.parties):
            raise invalid_plan(
                f"a quorum of {self.quorum} is more than the {len(self.parties)} parties named"
            )
        if self.batch_size > self.queries:
            raise invalid_plan(
                f"a batch of {self.batch_size} is larger than the {self.queries} queries asked"
            )
        if bool(self.encoder) != bool(self.encoder_sha256):
            raise invalid_plan("an encoder and the digest of its weights go together; give both or neither")
        self._check_labels()
        check_mechanism(self)
        check_switches(self)
        return self

    def _check_labels(self) -> None:
        if self.labels and not self.multi_label:
            raise invalid_plan("a query of one class has no labels to choose from; leave out labels")
        if self.labels and len(self.labels) != self.classes:
            raise invalid_plan(f"{len(self.labels)} labels are asked for and classes is {self.classes}")
        if self.labels and self.mechanism.sums_records:
            raise invalid_plan(f"mechanism {self.mechanism.kind} sums all labels; leave out labels")
        # A numeric target has no classes, and counts as one.
        if not self.labels and self.classes < 2 and not self.mechanism.sums_records:
            raise invalid_plan("classes: there is nothing to tell apart; name at least 2")

    @staticmethod
    def parse(data: bytes) -> "Plan":
        """Read a serialized `ostraka.v1.Plan`; equal bytes give the same object.

        Raises `plan.invalid`, also for unknown fields, and `message.too_large` for too long lists.
        """
        return _parse(data)

    def serialize(self) -> bytes:
        """Return the plan as bytes; its creator calls this once, sends the bytes and takes their digest."""
        message = common_pb2.Plan(
            parties=self.parties,
            labels=self.labels,
            mechanism=mechanism_message(self.mechanism),
            tally=_number(_TALLIES, self.tally),
            encoding=_number(_ENCODINGS, self.encoding),
            base_transfers=_number(_BASE_TRANSFERS, self.base_transfers),
            variant="" if self.variant == "none" else self.variant,
            **self.model_dump(include=_COPIED),
        )
        return message.SerializeToString(deterministic=True)


def digest(data: bytes) -> bytes:
    """Return SHA-256 of a serialized plan as it was sent; 32 bytes."""
    return hashlib.sha256(data).digest()


@lru_cache(_PARSED)
def _parse(data: bytes) -> Plan:
    message = _decode(data)
    fields: dict[str, Any] = {name: getattr(message, name) for name in _COPIED}
    return Plan(
        mechanism=mechanism_of(message.mechanism),
        parties=tuple(message.parties),
        labels=tuple(message.labels),
        tally=_name_of(_TALLIES, message.tally, "tally"),
        encoding=_name_of(_ENCODINGS, message.encoding, "encoding"),
        base_transfers=_name_of(_BASE_TRANSFERS, message.base_transfers, "base_transfers"),
        variant=message.variant or "none",  # type: ignore[arg-type]
        **fields,
    )


def _decode(data: bytes) -> common_pb2.Plan:
    message = common_pb2.Plan()
    try:
        message.ParseFromString(data)
    except DecodeError as exc:
        raise invalid_plan("its bytes are not an ostraka.v1.Plan") from exc
    # Check sizes first: nothing else may process lists that are too long.
    check_limits(message)
    size = message.ByteSize()
    # A message that is shorter without unknown fields had some; protobuf has no other way to find out.
    message.DiscardUnknownFields()  # type: ignore[no-untyped-call, unused-ignore]
    if message.ByteSize() != size:
        raise invalid_plan("it holds fields that this version does not know; use the same version everywhere")
    return message


def _name_of(names: dict[Any, str], number: int, field: str) -> Any:
    if number not in names:
        raise invalid_plan(f"{field}: choose one of {', '.join(names.values())}")
    return names[number]


def _number(names: dict[Any, str], name: str) -> Any:
    return next(number for number, known in names.items() if known == name)


def check_protected(plan: Plan, site: str, *, shared_features: bool) -> None:
    """Raise `plan.invalid` if the teachers of `site` do not fit the adjacency of `plan`.

    Teachers trained on features of records that all sites know change one vote if a label changes, and all
    votes if a record changes. So they vote if labels are charged, and then only such teachers do. Records
    that vote need no teachers. Sums over records depend on features, so only labels may be charged if all
    sites know the features.
    """
    votes = plan.mechanism.by_record and plan.mechanism.labels_queries
    if votes or shared_features == (plan.adjacency == "label"):
        return
    told_of = (
        f"Sums tell of records of party {site}"
        if plan.mechanism.sums_records
        else f"Teachers of party {site} learned from records"
    )
    known, other = ("all sites know", "label") if shared_features else ("not all sites know", "record")
    raise OstrakaError(
        ErrorCode.PLAN_INVALID,
        f"{told_of} whose features {known} and the plan's adjacency is {plan.adjacency}: set it to {other}, "
        "or leave the party out of the plan.",
    )
