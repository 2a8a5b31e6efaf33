"""Plans: what a querying party asks for, checked before anything acts on it."""

import hashlib
import math
from collections.abc import Iterable
from typing import Annotated, Any, Literal, Self

from google.protobuf import json_format
from google.protobuf.message import DecodeError, Message
from pydantic import Field, StringConstraints, field_validator, model_validator

from common.errors import ErrorCode, OstrakaError
from common.mechanism import (
    BOUND,
    L1,
    MECHANISMS,
    AnyMechanism,
    Binary,
    Check,
    Confident,
    Interactive,
    Mechanism,
    NoiseCluster,
    Powerset,
    Tau,
    Value,
    invalid_plan,
)
from common.sharing.fixed_point import FRACTION_BITS
from protos.ostraka.v1 import common_pb2

__all__ = ["BOUND", "ENFORCE", "Plan", "check_ring", "digest"]

ENFORCE = Literal["worst_case", "data_dependent"]

NONCE_BYTES = 16
DIGEST_BYTES = 32
MOST_SHARE_BYTES = 2**27
"""The largest share of a batch: 128 MiB, of which splitting takes about five times as much."""

_TALLIES = {common_pb2.TALLY_AGGREGATE: "aggregate", common_pb2.TALLY_BLIND: "blind"}
_ENCODINGS = {common_pb2.ENCODING_PLAIN: "plain", common_pb2.ENCODING_CKKS: "ckks"}
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
}
_UINT32 = 2**32 - 1

Count = Annotated[int, Field(gt=0, le=_UINT32)]
Site = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")]


class Plan(Value):
    """What a querying party asks for; mirrors `ostraka.v1.Plan`.

    Raises `plan.invalid` on construction where a field is out of range or not offered by this version.
    """

    nonce: Annotated[bytes, Field(min_length=NONCE_BYTES, max_length=NONCE_BYTES)]
    task_digest: Annotated[bytes, Field(min_length=DIGEST_BYTES, max_length=DIGEST_BYTES)]
    classes: Annotated[int, Field(ge=2, le=_UINT32)]
    mechanism: Mechanism
    parties: Annotated[tuple[Site, ...], Field(min_length=1, strict=False)]
    quorum: Count
    queries: Count
    batch_size: Count
    multi_label: bool = False
    tally: Literal["aggregate", "blind"] = "aggregate"
    encoding: Literal["plain", "ckks"] = "plain"
    ring_bits: Literal[32, 64] = 64
    fraction_bits: Literal[16] = 16
    adjacency: Literal["record", "label"] = "record"

    @field_validator("parties")
    @classmethod
    def _sorted_and_unique(cls, parties: tuple[str, ...]) -> tuple[str, ...]:
        if list(parties) != sorted(set(parties)):
            raise ValueError("name every party once, in sorted order")
        return parties

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
        if self.tally != "aggregate" or self.encoding != "plain":
            raise invalid_plan(
                "this version tallies in the aggregate and takes plain queries; "
                "choose tally aggregate and encoding plain"
            )
        self._check_mechanism()
        return self

    def _check_mechanism(self) -> None:
        if self.mechanism.multi_label != self.multi_label:
            fitting = [kind for kind, known in MECHANISMS.items() if known.multi_label == self.multi_label]
            raise invalid_plan(
                f"mechanism {self.mechanism.kind} does not answer "
                f"{'sets of labels' if self.multi_label else 'single labels'}; "
                f"choose one of {_listed(fitting)}"
            )
        if isinstance(self.mechanism, NoiseCluster) and self.batch_size != self.queries:
            raise invalid_plan(
                "mechanism noise_cluster asks all clusters at once; make the batch as large as the queries"
            )
        if self.adjacency == "label" and not isinstance(self.mechanism, NoiseCluster):
            raise invalid_plan(
                f"mechanism {self.mechanism.kind} is charged by record; set the plan's adjacency to record"
            )
        self.mechanism.check_classes(self.classes)
        self._check_lattice()
        row = self.mechanism.width(self.classes) * self.ring_bits // 8
        if self.batch_size * row > MOST_SHARE_BYTES:
            raise invalid_plan(
                f"a share of {self.batch_size} queries takes more than {MOST_SHARE_BYTES} bytes; "
                f"ask for batches of at most {MOST_SHARE_BYTES // row} queries"
            )

    def _check_lattice(self) -> None:
        """Raise for numbers about which sums in steps of 2^-16 vote, in this ring, say nothing."""
        step, half = 2.0**-FRACTION_BITS, 2.0 ** (self.ring_bits - 1 - FRACTION_BITS)
        sigma, radius = min(self.mechanism.sigmas), _radius(self.mechanism)
        if sigma < step:
            raise invalid_plan(f"noise of sigma {sigma:g} is less than a step of ballots; ask for more noise")
        if radius < step:
            raise invalid_plan(f"clipping ballots to {radius:g} leaves nothing of them; ask for more")
        if _threshold(self.mechanism) >= half:
            raise invalid_plan(f"no sum in the ring reaches a threshold of {half:g}; ask for a lower one")

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """Reads a serialized `ostraka.v1.Plan`; raises `plan.invalid`, also for fields unknown here."""
        message = _decode(data)
        fields: dict[str, Any] = {name: getattr(message, name) for name in _COPIED}
        return cls(
            mechanism=_mechanism_of(message.mechanism),
            parties=tuple(message.parties),
            tally=_known(_TALLIES, message.tally, "tally"),
            encoding=_known(_ENCODINGS, message.encoding, "encoding"),
            **fields,
        )

    def serialize(self) -> bytes:
        """The plan as bytes to be sent and digested once, by whoever makes the plan."""
        message = common_pb2.Plan(
            parties=self.parties,
            mechanism=_mechanism_message(self.mechanism),
            tally=_number(_TALLIES, self.tally),
            encoding=_number(_ENCODINGS, self.encoding),
            **self.model_dump(include=_COPIED),
        )
        return message.SerializeToString(deterministic=True)


def digest(data: bytes) -> bytes:
    """SHA-256 of a serialized plan as it was sent; 32 bytes."""
    return hashlib.sha256(data).digest()


def check_ring(plan: Plan, voters: int) -> None:
    """Raises `plan.ring_too_small` unless the plan's ring holds every sum with its noise.

    `voters` are the teachers, or for NoiseCluster the records, behind a sum. Twice the votes and the reach of
    the noise must stay below half the ring. Sums then stay below the quarter at which `Ring.distance` clips,
    and no outcome of any weight wraps around it (DESIGN.md section 4; docs/accounting.md). Interactive adds
    up to one vote per teacher to a count.
    """
    votes = voters * (2 if isinstance(plan.mechanism, Interactive) else 1)
    if 2 * votes + plan.mechanism.reach < 2 ** (plan.ring_bits - 1 - FRACTION_BITS):
        return
    raise OstrakaError(
        ErrorCode.PLAN_RING_TOO_SMALL,
        f"A ring of {plan.ring_bits} bits cannot hold {voters} votes and the noise: "
        + ("open the session with ring_bits 64." if plan.ring_bits == 32 else "ask for less noise."),
    )


def _radius(mechanism: AnyMechanism) -> float:
    match mechanism:
        case Tau(tau=radius) | L1(tau1=radius):
            return radius
    return math.inf


def _threshold(mechanism: AnyMechanism) -> float:
    match mechanism:
        case Confident(threshold=threshold) | Interactive(threshold=threshold):
            return threshold
        case Binary(check=Check(threshold=threshold)) | Tau(check=Check(threshold=threshold)):
            return threshold
        case L1(check=Check(threshold=threshold)) | Powerset(check=Check(threshold=threshold)):
            return threshold
    return 0.0


def _decode(data: bytes) -> common_pb2.Plan:
    message = common_pb2.Plan()
    try:
        message.ParseFromString(data)
    except DecodeError as exc:
        raise invalid_plan("its bytes are not an ostraka.v1.Plan") from exc
    size = message.ByteSize()
    message.DiscardUnknownFields()  # type: ignore[no-untyped-call, unused-ignore]
    if message.ByteSize() != size:
        raise invalid_plan("it holds fields that this version does not know; use the same version everywhere")
    return message


def _mechanism_of(message: common_pb2.Mechanism) -> AnyMechanism:
    kind = message.WhichOneof("kind")
    if kind is None:
        raise invalid_plan(f"it names no mechanism; choose one of {_listed(MECHANISMS)}")
    return MECHANISMS[kind].model_validate(_fields(getattr(message, kind)))


def _fields(message: Message) -> dict[str, Any]:
    """A message's fields by name; an optional one that is not set is left out."""
    fields = {}
    for field in message.DESCRIPTOR.fields:
        if field.has_presence and not message.HasField(field.name):
            continue
        value = getattr(message, field.name)
        fields[field.name] = _fields(value) if isinstance(value, Message) else value
    return fields


def _mechanism_message(mechanism: AnyMechanism) -> common_pb2.Mechanism:
    parameters = mechanism.model_dump(exclude={"kind"}, exclude_none=True)
    message = common_pb2.Mechanism()
    chosen = getattr(message, mechanism.kind)
    chosen.CopyFrom(json_format.ParseDict(parameters, type(chosen)()))
    return message


def _known(names: dict[Any, str], number: int, field: str) -> Any:
    if number not in names:
        raise invalid_plan(f"{field}: choose one of {_listed(names.values())}")
    return names[number]


def _number(names: dict[Any, str], name: str) -> Any:
    return next(number for number, known in names.items() if known == name)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)
