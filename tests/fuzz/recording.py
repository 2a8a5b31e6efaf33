"""Calls that honest clients made, with the answers of honest servers."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import Message

KEPT = 24
"""Number of calls kept for each path."""


@dataclass(frozen=True)
class Exchange:
    """One successful call.

    Attributes:
        path: /package.Service/Method.
        sender: the member that made it.
        requests: serialized, in the order in which they were sent; `replies` likewise.
    """

    path: str
    sender: str
    requests: tuple[bytes, ...]
    replies: tuple[bytes, ...]


class Recorder:
    """Exchanges by path, up to `KEPT` for each; many threads add to it."""

    def __init__(self) -> None:
        """Start without recordings."""
        self.exchanges: dict[str, list[Exchange]] = defaultdict(list)
        self._lock = threading.Lock()

    def following(self, path: str, sender: str, requests: Sequence[Message], call: Any) -> Any:
        """Return a call whose replies come as bytes; it is recorded once the last reply was read."""
        sent = tuple(message.SerializeToString() for message in requests)
        return _Overheard(call, lambda replies: self._keep(Exchange(path, sender, sent, tuple(replies))))

    def _keep(self, exchange: Exchange) -> None:
        with self._lock:
            if len(self.exchanges[exchange.path]) < KEPT:
                self.exchanges[exchange.path].append(exchange)


class _Overheard:
    """A call that reports its replies once all were read; otherwise it behaves like the call itself."""

    def __init__(self, call: Any, read: Callable[[list[bytes]], None]) -> None:
        self._call = call
        self._read = read
        self._came: list[bytes] = []

    def __iter__(self) -> _Overheard:
        return self

    def __next__(self) -> Any:
        try:
            reply = next(self._call)
        except StopIteration:
            self._read(self._came)
            raise
        self._came.append(reply)
        return reply

    def __getattr__(self, name: str) -> Any:
        return getattr(self._call, name)
