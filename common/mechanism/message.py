"""Mechanisms as messages of `ostraka.v1`."""

from typing import Any

from google.protobuf import json_format
from google.protobuf.message import Message

from ostraka.common.mechanism import MECHANISMS, AnyMechanism, invalid_plan
from ostraka.protos.ostraka.v1 import common_pb2


def mechanism_of(message: common_pb2.Mechanism) -> AnyMechanism:
    """Return the mechanism that a message names; may raise `plan.invalid`."""
    kind = message.WhichOneof("kind")
    if kind is None:
        raise invalid_plan(f"it names no mechanism; choose one of {', '.join(MECHANISMS)}")
    return MECHANISMS[kind].model_validate(_fields(getattr(message, kind)))


def _fields(message: Message) -> dict[str, Any]:
    """Return a message's fields by name; an optional one that is not set is left out."""
    fields = {}
    for field in message.DESCRIPTOR.fields:
        if field.has_presence and not message.HasField(field.name):
            continue
        value = getattr(message, field.name)
        fields[field.name] = _fields(value) if isinstance(value, Message) else value
    return fields


def mechanism_message(mechanism: AnyMechanism) -> common_pb2.Mechanism:
    """Return the message that `mechanism_of` reads back the same."""
    parameters = mechanism.model_dump(exclude={"kind"}, exclude_none=True)
    message = common_pb2.Mechanism()
    chosen = getattr(message, mechanism.kind)
    chosen.CopyFrom(json_format.ParseDict(parameters, type(chosen)()))
    return message
