"""Turns honest servers' answers into answers that no honest server gives."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import grpc
from google.protobuf import any_pb2
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, Message
from google.rpc import error_details_pb2, status_pb2

from ostraka.common.errors import ErrorCode
from ostraka.common.rpc.status import DETAILS_KEY, DOMAIN
from tests.fuzz.altering import STREAMS, mutated
from tests.fuzz.forging import Forger
from tests.fuzz.methods import Answered
from tests.fuzz.nonsense import TEXTS, put

LATE_S = 30.0
"""Delay of a late answer: longer than any client waits here."""
UNKNOWN_FIELD = b"\xfa\x3f\x03abc"
"""Field 1023, which no message has: a later version may send it."""
STATUSES = tuple(
    status
    for status in grpc.StatusCode
    # A server that is unreachable is probed with a TLS handshake, which takes as long as ten calls.
    if status not in {grpc.StatusCode.OK, grpc.StatusCode.UNAVAILABLE}
)
WORDS = ("", "0", "1", "-1", "9" * 400, "\u0663", "127.0.0.1:1", "127.0.0.1:99999", "[::1]:5", "a,b", *TEXTS)
KEYS = ("fits", "left", "code", "message", "self", "address", "guardian", "\x00", "x" * 500)
CODES = (*map(str, ErrorCode), "", "x", "A" * 3_000)
MOST_REPEATED = 300
"""Messages of a repeated stream: printing an administrator's table of thousands takes seconds."""
MOST_TRAILERS = 6_000
"""Bytes of trailers above which gRPC itself refuses them, with some margin."""


@dataclass(frozen=True)
class Lie:
    """A server's answer to one call.

    Attributes:
        messages: serialized, in the order in which they are sent.
        kind: what was done to them.
        signed: whether the server signed what it changed.
        status: how the call ends; `said` is its message, `trailers` its trailers.
        reads: whether the server reads the whole request first.
        late_s: how long it waits first.
        endlessly: what follows the messages again and again; empty: nothing.
    """

    messages: tuple[bytes, ...] = ()
    kind: str = "honest"
    signed: bool = False
    status: grpc.StatusCode = grpc.StatusCode.OK
    said: str = ""
    trailers: tuple[tuple[str, bytes], ...] = ()
    reads: bool = True
    late_s: float = 0.0
    endlessly: bytes = b""


Honest = tuple[bytes, ...]
Made = Callable[[Answered, Honest, random.Random, Forger], Lie]


def lie(method: Answered, honest: Honest, draws: random.Random, forger: Forger) -> Lie:
    """Return a random lie about a call."""
    (made,) = draws.choices(tuple(KINDS), tuple(KINDS.values()))
    told = made(method, honest, draws, forger)
    return replace(told, reads=draws.random() < READING_SHARE or not told.messages)


def _unknown_fields(_: Answered, honest: Honest, __: random.Random, ___: Forger) -> Lie:
    return Lie(tuple(message + UNKNOWN_FIELD for message in honest), "unknown fields")


def _edited(method: Answered, honest: Honest, draws: random.Random, forger: Forger) -> Lie:
    messages = forger.edited(method.reply, honest, draws)
    return Lie(_headed(method, messages, draws, forger), "fields edited, signed again", signed=True)


def _nonsense(method: Answered, honest: Honest, draws: random.Random, forger: Forger) -> Lie:
    many = _many(method, draws)
    messages = [forger.nonsense(method.reply, draws) for _ in range(many)]
    return Lie(_headed(method, messages, draws, forger), "nonsense values", signed=True)


def _headed(
    method: Answered, messages: Sequence[bytes], draws: random.Random, forger: Forger
) -> tuple[bytes, ...]:
    return tuple(forger.headed(method.reply, message, draws) for message in messages)


def _extreme(method: Answered, honest: Honest, draws: random.Random, _: Forger) -> Lie:
    """Put extreme numbers of each type everywhere outside signed data."""
    try:
        parsed = [method.reply.FromString(message) for message in honest]
    except DecodeError:
        return Lie(honest, "extreme numbers")
    for message in parsed:
        _put_extremes(message, draws)
    return Lie(tuple(message.SerializeToString() for message in parsed), "extreme numbers")


def _put_extremes(message: Message, draws: random.Random) -> None:
    for field in message.DESCRIPTOR.fields:
        if field.cpp_type == FieldDescriptor.CPPTYPE_MESSAGE:
            held = getattr(message, field.name)
            for one in held if field.is_repeated else (held,) if message.HasField(field.name) else ():
                _put_extremes(one, draws)
        elif field.cpp_type != FieldDescriptor.CPPTYPE_STRING and draws.random() < 0.5:
            put(message, field, draws)


def _random_bytes(method: Answered, _: Honest, draws: random.Random, __: Forger) -> Lie:
    sizes = (0, 1, 2, 5, 20, 200, 3_000)
    many = _many(method, draws)
    return Lie(tuple(draws.randbytes(draws.choice(sizes)) for _ in range(many)), "random bytes")


def _mutated(_: Answered, honest: Honest, draws: random.Random, __: Forger) -> Lie:
    return Lie(mutated(honest, draws), "bytes mutated")


def _of_stream(method: Answered, honest: Honest, draws: random.Random, _: Forger) -> Lie:
    name = draws.choice(tuple(STREAMS))
    messages = STREAMS[name](honest, draws)
    return Lie(messages if method.streams else messages[:1], f"stream {name}")


def _nothing(_: Answered, __: Honest, ___: random.Random, ____: Forger) -> Lie:
    return Lie((), "status OK without a message")


def _repeated(method: Answered, honest: Honest, draws: random.Random, forger: Forger) -> Lie:
    if not method.streams:
        return _nothing(method, honest, draws, forger)
    messages = honest * draws.choice((2, 5, 100))
    return Lie(messages[:MOST_REPEATED], "repeated up to a hundred times")


def _refused(method: Answered, honest: Honest, draws: random.Random, _: Forger) -> Lie:
    messages = honest if method.streams and draws.random() < 0.3 else ()
    said, trailers = _details(draws)
    return Lie(messages, "false statuses and details", status=_status(draws), said=said, trailers=trailers)


def _ok_with_details(_: Answered, honest: Honest, draws: random.Random, __: Forger) -> Lie:
    said, trailers = _details(draws)
    return Lie(honest, "status OK with details", said=said, trailers=trailers)


def _unavailable(_: Answered, __: Honest, ___: random.Random, ____: Forger) -> Lie:
    return Lie((), "unavailable", status=grpc.StatusCode.UNAVAILABLE)


def _two_messages(_: Answered, honest: Honest, __: random.Random, ___: Forger) -> Lie:
    return Lie(honest * 2, "two messages")


def _oversized(method: Answered, honest: Honest, draws: random.Random, _: Forger) -> Lie:
    """Fill an unknown field, or the first field of bytes, with more than a message may have."""
    size = draws.choice((5, 8, 30)) << 20
    field = next(
        (one for one in method.reply.DESCRIPTOR.fields if one.type == FieldDescriptor.TYPE_BYTES), None
    )
    filled = method.reply()
    if field is None:
        return Lie((*honest[:-1], UNKNOWN_FIELD[:2] + _varint(size) + bytes(size)), "5 to 30 MiB")
    setattr(filled, field.name, [bytes(size)] if field.is_repeated else bytes(size))
    return Lie((*honest[:-1], filled.SerializeToString()), "5 to 30 MiB")


def _endless(method: Answered, honest: Honest, draws: random.Random, _: Forger) -> Lie:
    last = honest[-1] if honest and draws.random() < 0.5 else draws.choice(honest or (b"",))
    return Lie(honest, "endless streams", endlessly=last or UNKNOWN_FIELD)


def _late(_: Answered, honest: Honest, __: random.Random, ___: Forger) -> Lie:
    return Lie(honest, "late", late_s=LATE_S)


KINDS: Mapping[Made, float] = {
    _unknown_fields: 4.0,
    _edited: 30.0,
    _nonsense: 12.0,
    _extreme: 8.0,
    _random_bytes: 8.0,
    _mutated: 14.0,
    _of_stream: 6.0,
    _nothing: 4.0,
    _repeated: 4.0,
    _refused: 8.0,
    _ok_with_details: 2.0,
    # The following kinds take about a second of all clients' time, or a connection.
    _unavailable: 0.1,
    _two_messages: 0.05,
    _oversized: 0.05,
    _endless: 0.1,
    _late: 0.03,
}
"""How often each kind is drawn."""
READING_SHARE = 0.9


def _many(method: Answered, draws: random.Random) -> int:
    return draws.choice((0, 1, 2, 3)) if method.streams else 1


def _status(draws: random.Random) -> grpc.StatusCode:
    return draws.choice(STATUSES)


def _details(draws: random.Random) -> tuple[str, tuple[tuple[str, bytes], ...]]:
    """Return a message for a status, and usually what a server of Ostraka adds to it."""
    said = draws.choice(("", "m", "\x1b]0;owned\x07", "d" * 2_000))
    what = draws.random()
    if what < 0.15:
        return said, ()
    if what < 0.3:
        return said, ((DETAILS_KEY, draws.randbytes(draws.choice((0, 1, 50, 4_000)))),)
    told = {draws.choice(KEYS): draws.choice(WORDS)[:2_000] for _ in range(draws.choice((0, 1, 1, 3)))}
    info = error_details_pb2.ErrorInfo(
        reason=draws.choice(CODES), domain=draws.choice((DOMAIN, DOMAIN, DOMAIN, "", "x")), metadata=told
    )
    packed = any_pb2.Any()
    packed.Pack(info)
    if draws.random() < 0.1:
        packed.type_url = draws.choice(("", "x", "type.googleapis.com/google.rpc.ErrorInfo"))
    number = draws.choice((0, 5, 9, 13, 14, 99, -1))
    status = status_pb2.Status(code=number, message=said, details=[packed] * draws.choice((1, 1, 3)))
    data = status.SerializeToString()
    return said, ((DETAILS_KEY, data),) if len(data) < MOST_TRAILERS else ()


def _varint(number: int) -> bytes:
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes((*encoded, number))


def first_of(messages: Sequence[bytes], kind: type[Message]) -> Message | None:
    """Return the only message; None if the number of messages is not one or it cannot be parsed."""
    try:
        return kind.FromString(messages[0]) if len(messages) == 1 else None
    except DecodeError:
        return None
