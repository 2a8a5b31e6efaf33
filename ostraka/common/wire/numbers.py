"""Numbers of messages that others sent: integers for databases, times for dates, nothing infinite."""

import sys
from functools import cache
from typing import Any, NamedTuple

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from ostraka.common.errors import ErrorCode, OstrakaError

LARGEST = 2**63 - 1
"""The largest integer that a database takes: protobuf's unsigned ones may be twice as large."""
LAST_UNIX_S = 253_370_764_800
"""1 January 9999: a time before it is a date in every time zone, as Python counts years up to 9999."""
_FINITE = sys.float_info.max
_FLOATING = (FieldDescriptor.CPPTYPE_DOUBLE, FieldDescriptor.CPPTYPE_FLOAT)
_TIMES = {"_unix_s": LAST_UNIX_S, "_unix_ms": 1000 * LAST_UNIX_S}


class _Field(NamedTuple):
    """A field with numbers in it: its own, from `least` to `most`, or those of the messages in it."""

    name: str
    least: float
    most: float
    repeated: bool
    nested: bool


def check_numbers(message: Message) -> None:
    """Raise `message.invalid` for what JSON, dates and databases cannot hold: an infinity, what is no number,
    an integer above 2^63 - 1, or a time before 1970 or after the year 9998.

    Looks at all messages within `message` as well; at their serialized payloads it does not.
    """
    for field in _fields(message.DESCRIPTOR):
        if field.nested and not field.repeated and not message.HasField(field.name):
            continue
        found = getattr(message, field.name)
        for value in found if field.repeated else (found,):
            if field.nested:
                check_numbers(value)
            elif not field.least <= value <= field.most:
                raise OstrakaError(
                    ErrorCode.MESSAGE_INVALID,
                    f"{message.DESCRIPTOR.name}.{field.name} is {value}, which is between {field.least} and"
                    f" {field.most} where it means anything; use the same version everywhere.",
                )


@cache
def _fields(descriptor: Descriptor) -> tuple[_Field, ...]:
    """Return the fields to look at; those of messages without such numbers are passed over."""
    fields = []
    for field in descriptor.fields:
        nested = field.type == FieldDescriptor.TYPE_MESSAGE
        least, most = (0, 0) if nested else _range(field)
        if most or (nested and _fields(_message_of(field))):
            fields.append(_Field(field.name, least, most, field.is_repeated, nested))
    return tuple(fields)


def _range(field: FieldDescriptor) -> tuple[float, float]:
    """Return from where to where a field's numbers go; (0, 0) where any that it can hold is fine."""
    for suffix, most in _TIMES.items():
        if field.name.endswith(suffix):
            return 0, most
    if field.cpp_type in _FLOATING:
        return -_FINITE, _FINITE
    return (0, LARGEST) if field.cpp_type == FieldDescriptor.CPPTYPE_UINT64 else (0, 0)


def _message_of(field: FieldDescriptor) -> Any:
    return field.message_type
