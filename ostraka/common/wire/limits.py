"""Size limits of messages, read from `limits.proto` and the options of every message."""

from functools import cache
from typing import Any, NamedTuple

from google.protobuf import descriptor_pool
from google.protobuf.descriptor import Descriptor, FieldDescriptor, MethodDescriptor
from google.protobuf.message import Message

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.protos.ostraka.v1 import limits_pb2

MOST = 1_000
"""Entries of a repeated field, or characters of a text, whose `most` is not said."""
MAX_KIB = 64
"""KiB of a message whose `most_kib` is not said."""


class _Field(NamedTuple):
    """A field with as many entries or characters as a caller likes, or with a message in it."""

    name: str
    most: int
    sized: bool
    nested: bool


def check_limits(message: Message) -> None:
    """Raise `message.too_large` where a list or text of `message`, or of a message in it, is too long.

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


def request_bytes(method: str) -> int:
    """Return the most bytes of a request of a method, /package.Service/Method."""
    found = _method(method)
    return MAX_KIB << 10 if found is None else most_bytes(found.input_type)


def reply_bytes(method: str) -> int:
    """Return the most bytes of a reply of a method, or of each where it answers with a stream."""
    found = _method(method)
    return MAX_KIB << 10 if found is None else most_bytes(found.output_type)


def most_bytes(descriptor: Descriptor) -> int:
    """Return the most bytes that a serialized message of this type can have."""
    options: Any = descriptor.GetOptions()
    said: int = options.Extensions[limits_pb2.most_kib]
    return (said or MAX_KIB) << 10


def too_large(what: str, most: int) -> OstrakaError:
    """Return the error for `what` a caller sent, which exceeds `most`."""
    return OstrakaError(
        ErrorCode.MESSAGE_TOO_LARGE, f"{what}, and at most {most} are taken; send less at once."
    )


@cache
def _method(method: str) -> MethodDescriptor | None:
    """Return what is known of a method; of one that Ostraka does not know, nothing is."""
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
            fields.append(_Field(field.name, said or MOST, sized, nested))
    return tuple(fields)
