"""Turns real calls into invalid ones."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from tests.fuzz.forging import Forger
from tests.fuzz.methods import Method

Ending = Literal["closed", "cancelled"]


@dataclass(frozen=True)
class Call:
    """A call as it is sent.

    Attributes:
        method: the called method.
        sender: the member whose certificate it comes with.
        messages: serialized, in the order in which they are sent.
        kind: what was done to it.
        ending: how the sender ends its stream.
    """

    method: Method
    sender: str
    messages: tuple[bytes, ...]
    kind: str = "honest"
    ending: Ending = "closed"


def random_bytes(method: Method, sender: str, draws: random.Random) -> Call:
    """Return a call of random bytes."""
    many = draws.choice((0, 1, 1, 2, 3)) if method.streams else 1
    sizes = (0, 1, 2, 5, 20, 200, 3_000)
    return Call(
        method, sender, tuple(draws.randbytes(draws.choice(sizes)) for _ in range(many)), "random bytes"
    )


def nonsense(method: Method, sender: str, draws: random.Random, forger: Forger) -> Call:
    """Return a call of well-formed messages whose fields hold nonsense, with real signatures."""
    many = draws.choice((0, 1, 2, 3)) if method.streams else 1
    messages = tuple(forger.nonsense(method.request, draws) for _ in range(many))
    return Call(method, sender, messages, "nonsense values")


def altered(call: Call, draws: random.Random, forger: Forger) -> Call:
    """Alter a real call in one of several ways."""
    if draws.random() < 0.4:
        messages = tuple(forger.edited(call.method.request, call.messages, draws))
        return replace(call, messages=messages, kind="fields edited, signed again")
    if not call.method.streams or draws.random() < 0.3:
        return replace(call, messages=mutated(call.messages, draws), kind="bytes mutated")
    name = draws.choice(tuple(STREAMS))
    ending: Ending = "cancelled" if draws.random() < 0.2 else "closed"
    return replace(call, messages=STREAMS[name](call.messages, draws), kind=f"stream {name}", ending=ending)


def mutated(messages: tuple[bytes, ...], draws: random.Random) -> tuple[bytes, ...]:
    """Return messages, one of them with bits flipped, or bytes removed, duplicated or inserted."""
    if not messages:
        return (draws.randbytes(20),)
    place = draws.randrange(len(messages))
    data = bytearray(messages[place])
    for _ in range(draws.choice((1, 1, 2, 8))):
        at = int(draws.random() * len(data))
        what = draws.randrange(4)
        if what == 0 and data:
            data[at] ^= 1 << draws.randrange(8)
        elif what == 1:
            del data[at : at + draws.choice((1, 4, 100))]
        elif what == 2:
            data[at:at] = data[at : at + draws.choice((1, 4, 100))]
        else:
            data[at:at] = draws.randbytes(draws.choice((1, 4, 20)))
    return (*messages[:place], bytes(data), *messages[place + 1 :])


def _cut(messages: tuple[bytes, ...], draws: random.Random) -> tuple[bytes, ...]:
    kept = messages[: draws.randrange(len(messages) + 1)]
    if kept and draws.random() < 0.5:
        return (*kept[:-1], kept[-1][: int(draws.random() * len(kept[-1]))])
    return kept


def _reordered(messages: tuple[bytes, ...], draws: random.Random) -> tuple[bytes, ...]:
    return tuple(draws.sample(messages, len(messages)))


def _repeated(messages: tuple[bytes, ...], draws: random.Random) -> tuple[bytes, ...]:
    if not messages:
        return messages
    at = draws.randrange(len(messages))
    return messages[:at] + (messages[at],) * draws.choice((2, 2, 5)) + messages[at + 1 :]


def _continued(messages: tuple[bytes, ...], draws: random.Random) -> tuple[bytes, ...]:
    at = draws.randrange(len(messages) + 1)
    garbage = tuple(draws.randbytes(draws.choice((0, 1, 20, 1_000))) for _ in range(draws.choice((1, 1, 3))))
    return messages[:at] + garbage


STREAMS: dict[str, Callable[[tuple[bytes, ...], random.Random], tuple[bytes, ...]]] = {
    "cut": _cut,
    "reordered": _reordered,
    "repeated": _repeated,
    "continued with garbage": _continued,
}
