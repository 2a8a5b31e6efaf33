"""Mechanisms as messages of `ostraka.v1`."""

import json
from typing import Any

from google.protobuf import json_format
from google.protobuf.message import Message
from pydantic import ValidationError

from ostraka.common.mechanism import MECHANISMS, Mechanism, invalid_plan, known_mechanism
from ostraka.protos.ostraka.v1 import common_pb2

INSTALLED = "installed"
"""The message field for mechanisms without a message of their own, which other packages register."""
_FIELDS = frozenset(field.name for field in common_pb2.Mechanism.DESCRIPTOR.fields) - {INSTALLED}


def mechanism_of(message: common_pb2.Mechanism) -> Mechanism:
    """Return the mechanism that a message names; may raise `plan.invalid`."""
    kind = message.WhichOneof("kind")
    if kind is None:
        raise invalid_plan(f"it names no mechanism; choose one of {', '.join(MECHANISMS)}")
    if kind == INSTALLED:
        return _from_installed(message.installed)
    return MECHANISMS[kind].model_validate(_fields(getattr(message, kind)))


def _from_installed(message: common_pb2.InstalledMechanism) -> Mechanism:
    known = None if message.kind in _FIELDS else known_mechanism(message.kind)
    if known is None:
        raise invalid_plan(
            f"it names mechanism {message.kind!r}, which is not installed here; install the package that has "
            "it at every site"
        )
    try:
        return known.model_validate_json(message.parameters)
    except ValidationError as exc:
        raise invalid_plan(f"the parameters of {message.kind} are no JSON object") from exc


def _fields(message: Message) -> dict[str, Any]:
    """Return a message's fields by name; leave out optional fields that are not set."""
    fields = {}
    for field in message.DESCRIPTOR.fields:
        if field.has_presence and not message.HasField(field.name):
            continue
        value = getattr(message, field.name)
        fields[field.name] = _fields(value) if isinstance(value, Message) else value
    return fields


def mechanism_message(mechanism: Mechanism) -> common_pb2.Mechanism:
    """Return the message from which `mechanism_of` reads the same mechanism."""
    parameters = mechanism.model_dump(exclude={"kind"}, exclude_none=True)
    message = common_pb2.Mechanism()
    if mechanism.kind in _FIELDS:
        chosen = getattr(message, mechanism.kind)
        chosen.CopyFrom(json_format.ParseDict(parameters, type(chosen)()))
    else:
        message.installed.kind = mechanism.kind
        message.installed.parameters = json.dumps(parameters, sort_keys=True)
    return message
