"""Limits of received messages: sizes, read from `limits.proto` and its options, and numbers.

Integers must fit databases, times must be dates, and numbers must be finite.
"""

import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from google.protobuf import descriptor_pool
from google.protobuf.descriptor import Descriptor, FieldDescriptor, MethodDescriptor
from google.protobuf.message import DecodeError, Message

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.protos.ostraka.v1 import limits_pb2

MAX_LENGTH = 1_000
"""Maximum entries of a repeated field, or characters of a text, without an option `most`."""
MAX_KIB = 64
"""Maximum KiB of a message without an option `most_kib`."""
MAX_FIELDS = 65_536
"""Maximum number of fields of a serialized request that are not entries of its lists, since a later version
may add some: as many as the longest list may have entries."""


class _Field(NamedTuple):
    """A field of variable length, or one that contains a message."""

    name: str
    most: int
    sized: bool
    nested: bool


def check_limits(message: Message) -> None:
    """Raise `message.too_large` if a list or text in `message`, or in a message within it, is too long.

    A list is counted before any of its entries is looked at.
    """
    for name, most, sized, nested in _fields(message.DESCRIPTOR):
        if nested and not sized:
            if message.HasField(name):
                check_limits(getattr(message, name))
            continue
        value = getattr(message, name)
        if len(value) > most:
            raise too_large(f"{message.DESCRIPTOR.name}.{name} has a length of {len(value)}", most)
        for entry in value if nested else ():
            check_limits(entry)


def check_lists(method: str, data: bytes) -> None:
    """Raise `message.too_large` if a list of a serialized request is too long, before it is parsed.

    An entry of two bytes takes 72 bytes after parsing. A message that ends too early is left to the parser,
    and lists within entries of a list to `check_limits`. Raises DecodeError for invalid numbers.
    """
    found = _method(method)
    if found is not None:
        _count(memoryview(data), found.input_type, Counter(), "")


def _count(data: memoryview, descriptor: Descriptor, counts: Counter[str], path: str) -> None:
    """Count the entries of lists by path; a message that occurs twice has the lists of both occurrences."""
    lists = _lists(descriptor)
    for number, content in _wire_fields(data) if lists else ():
        name, most, nested = lists.get(number, ("", MAX_FIELDS, None))
        where = f"{path}.{name}" if name else ""
        counts[where] += 1
        if counts[where] > most:
            raise too_large(f"{descriptor.name} has more {name or 'fields'}", most)
        if nested is not None:
            _count(content, nested, counts, where)


def _wire_fields(data: memoryview) -> Iterator[tuple[int, memoryview]]:
    """Yield the number of each field and its content, as far as it can be read.

    The content of numbers is empty (protobuf.dev/programming-guides/encoding).
    """
    at = 0
    try:
        while at < len(data):
            tag, at = _varint(data, at)
            kind = tag & 7
            size = _FIXED_BYTES.get(kind, 0)
            if kind in (_VARINT, _SIZED):
                value, at = _varint(data, at)
                size = value if kind == _SIZED else 0
            yield tag >> 3, data[at : at + size]
            at += size
    except IndexError:
        return


_VARINT = 0
"""Wire type of whole numbers in protobuf's encoding."""
_SIZED = 2
"""Wire type of texts, bytes and messages, whose length comes first."""
_VARINT_BYTES = 10
"""Maximum bytes of a whole number: 64 bits, seven in each byte."""
_FIXED_BYTES = {1: 8, 5: 4}
"""Number of bytes of the wire types with a fixed size."""


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    """Return the number that begins at a byte, and its end."""
    value = 0
    for place in range(_VARINT_BYTES):
        byte = data[at + place]
        value |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return value, at + place + 1
    raise DecodeError("A number is too long.")


@cache
def _lists(descriptor: Descriptor) -> Mapping[int, tuple[str, int, Descriptor | None]]:
    """Return a message's lists, and the messages in it that have lists, by number: name and maximum."""
    found: dict[int, tuple[str, int, Descriptor | None]] = {}
    for field in descriptor.fields:
        options: Any = field.GetOptions()
        if field.is_repeated:
            found[field.number] = (field.name, options.Extensions[limits_pb2.most] or MAX_LENGTH, None)
        elif field.message_type is not None and _lists(field.message_type):
            found[field.number] = (field.name, MAX_FIELDS, field.message_type)
    return found


def request_bytes(method: str) -> int:
    """Return the maximum size in bytes of a request of a method, /package.Service/Method."""
    found = _method(method)
    return MAX_KIB << 10 if found is None else most_bytes(found.input_type)


def reply_bytes(method: str) -> int:
    """Return the maximum size in bytes of a reply of a method, or of each reply of a stream."""
    found = _method(method)
    return MAX_KIB << 10 if found is None else most_bytes(found.output_type)


def most_bytes(descriptor: Descriptor) -> int:
    """Return the maximum size in bytes of a serialized message of this type."""
    options: Any = descriptor.GetOptions()
    said: int = options.Extensions[limits_pb2.most_kib]
    return (said or MAX_KIB) << 10


def too_large(what: str, most: int) -> OstrakaError:
    """Return the error for something that a caller sent, `what`, which exceeds `most`."""
    return OstrakaError(
        ErrorCode.MESSAGE_TOO_LARGE, f"{what}, and at most {most} are taken; send less at once."
    )


@cache
def _method(method: str) -> MethodDescriptor | None:
    """Return the description of a method; None if Ostraka does not know it."""
    try:
        return descriptor_pool.Default().FindMethodByName(method.strip("/").replace("/", "."))
    except KeyError:
        return None


@cache
def _fields(descriptor: Descriptor) -> tuple[_Field, ...]:
    fields = []
    for field in descriptor.fields:
        sized = field.is_repeated or field.type == FieldDescriptor.TYPE_STRING
        nested = field.type == FieldDescriptor.TYPE_MESSAGE
        if sized or nested:
            options: Any = field.GetOptions()
            said: int = options.Extensions[limits_pb2.most]
            fields.append(_Field(field.name, said or MAX_LENGTH, sized, nested))
    return tuple(fields)


MAX_INTEGER = 2**63 - 1
"""The largest integer that databases take; protobuf's unsigned integers may be twice as large."""
LAST_UNIX_S = 253_370_764_800
"""1 January 9999: earlier times are dates in every time zone, because Python counts years up to 9999."""
_FINITE = sys.float_info.max
_FLOATING = (FieldDescriptor.CPPTYPE_DOUBLE, FieldDescriptor.CPPTYPE_FLOAT)
_TIMES = {"_unix_s": LAST_UNIX_S, "_unix_ms": 1000 * LAST_UNIX_S}


class _NumberField(NamedTuple):
    """A field with numbers in it: its own, from `least` to `most`, or those of the messages in it."""

    name: str
    least: float
    most: float
    repeated: bool
    nested: bool


def check_numbers(message: Message) -> None:
    """Raise `message.invalid` for numbers that JSON, dates or databases cannot hold.

    These are infinities, not-a-number, integers above 2^63 - 1, and times before 1970 or after the year 9998.
    All messages within `message` are checked as well, but not their serialized payloads.
    """
    for field in _number_fields(message.DESCRIPTOR):
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
def _number_fields(descriptor: Descriptor) -> tuple[_NumberField, ...]:
    """Return the fields to check; messages without such numbers are left out."""
    fields = []
    for field in descriptor.fields:
        nested = field.type == FieldDescriptor.TYPE_MESSAGE
        least, most = (0, 0) if nested else _range(field)
        if most or (nested and _number_fields(_message_of(field))):
            fields.append(_NumberField(field.name, least, most, field.is_repeated, nested))
    return tuple(fields)


def _range(field: FieldDescriptor) -> tuple[float, float]:
    """Return the allowed range of a field's numbers; (0, 0) if every number of its type is allowed."""
    for suffix, most in _TIMES.items():
        if field.name.endswith(suffix):
            return 0, most
    if field.cpp_type in _FLOATING:
        return -_FINITE, _FINITE
    return (0, MAX_INTEGER) if field.cpp_type == FieldDescriptor.CPPTYPE_UINT64 else (0, 0)


def _message_of(field: FieldDescriptor) -> Any:
    return field.message_type
