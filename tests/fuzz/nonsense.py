"""Values that no honest member sends, for every type of field."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

DEPTH = 5
"""How deep nested messages are filled."""
MANY = 20_000
"""Elements of a huge repeated field."""
MOST_BYTES = 8 << 20
"""Maximum total size of such elements: more than a message may have."""
NAN, INF = float("nan"), float("inf")
DOUBLES = (0.0, -0.0, 1.0, -1.0, 0.5, 40.0, 1e-5, 5e-324, 1e308, -1e308, 1e300, 2.0**63, NAN, INF, -INF)
TEXTS = (
    *("", " ", "all", "spare", "record", "label", "none", "vanishing", "weighting", "active", "suspended"),
    *("added", "raise", "consent", "worst_case", "ttac", "dp_ttac", "linear", "os:system", "nan"),
    *(
        "..",
        "../../../etc/passwd",
        "'; DROP TABLE units; --",
        "%s%n{0}",
        '{"event": "forged"}',
        "-1",
        "1e999",
    ),
    *("\x00", "spare\x00", "\n", "\x1b]0;owned\x07\x1b[2J", "\u202egnp", "💣" * 50, "é" * 300),
    *("A" * 200, "A" * 5_000, "A" * 200_000, "[" * 5_000, "x = " + "9" * 5_000, "max_batch = 1e300\n"),
)
KINDS: Mapping[int, Callable[[random.Random], Any]] = {
    FieldDescriptor.CPPTYPE_DOUBLE: lambda draws: draws.choice(DOUBLES),
    FieldDescriptor.CPPTYPE_FLOAT: lambda draws: draws.choice(DOUBLES),
    FieldDescriptor.CPPTYPE_INT32: lambda draws: draws.choice((0, 1, -1, 7, 2**31 - 1, -(2**31))),
    FieldDescriptor.CPPTYPE_UINT32: lambda draws: draws.choice((0, 1, 2, 10, 65, 255, 2**31, 2**32 - 1)),
    FieldDescriptor.CPPTYPE_INT64: lambda draws: draws.choice((0, 1, -1, 10**12, 2**63 - 1, -(2**63))),
    FieldDescriptor.CPPTYPE_UINT64: lambda draws: draws.choice((0, 1, 7, 2**31, 2**63, 2**64 - 1)),
    FieldDescriptor.CPPTYPE_BOOL: lambda draws: draws.random() < 0.5,
    FieldDescriptor.CPPTYPE_ENUM: lambda draws: draws.choice((0, 1, 2, 3, 2**31 - 1, -1)),
}


def octets(draws: random.Random) -> bytes:
    """Return bytes of various lengths, some as long as digests, seeds and points."""
    size = draws.choice((0, 1, 2, 5, 16, 20, 31, 32, 33, 64, 200, 3_000))
    return bytes(size) if draws.random() < 0.2 else draws.randbytes(size)


def value(field: FieldDescriptor, draws: random.Random) -> Any:
    """Return one value for a field that holds no message."""
    if field.type == FieldDescriptor.TYPE_BYTES:
        return octets(draws)
    if field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        return draws.choice(TEXTS)
    return KINDS[field.cpp_type](draws)


def length(draws: random.Random) -> int:
    """Return how many elements a repeated field gets; rarely very many."""
    return MANY if draws.random() < 0.01 else draws.choice((0, 1, 1, 2, 5))


def _fitting(many: int, size: int) -> int:
    """Return how many elements of this many bytes may be in a field; at least one."""
    return max(1, min(many, MOST_BYTES // max(1, size)))


def put(message: Message, field: Any, draws: random.Random, depth: int = 0) -> None:
    """Replace what a field, by its descriptor, holds."""
    message.ClearField(field.name)
    if depth > DEPTH:
        return
    if field.cpp_type == FieldDescriptor.CPPTYPE_MESSAGE:
        if field.is_repeated:
            many = length(draws)
            element = getattr(message, field.name).add() if many else None
            if element is not None:
                fill(element, draws, depth + 1)
                getattr(message, field.name).extend([element] * (_fitting(many, element.ByteSize()) - 1))
        else:
            getattr(message, field.name).SetInParent()
            fill(getattr(message, field.name), draws, depth + 1)
    elif field.is_repeated:
        many = length(draws)
        one = [value(field, draws) for _ in range(min(many, 5))]
        size = len(one[0]) if one and hasattr(one[0], "__len__") else 8
        getattr(message, field.name).extend(one if many <= len(one) else one[:1] * _fitting(many, size))
    else:
        setattr(message, field.name, value(field, draws))


def fill(message: Message, draws: random.Random, depth: int = 0) -> None:
    """Fill most fields of a message and of the messages in it."""
    for field in message.DESCRIPTOR.fields:
        if draws.random() < 0.7:
            put(message, field, draws, depth)
