"""Calls that honest clients made, with what honest servers answered."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import grpc
from google.protobuf.message import Message

KEPT = 24
"""Calls that are kept of each path."""


@dataclass(frozen=True)
class Exchange:
    """One call that went well.

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
    """Exchanges by path, as many as are worth keeping; many threads add to it."""

    def __init__(self) -> None:
        """Nothing was recorded yet."""
        self.exchanges: dict[str, list[Exchange]] = defaultdict(list)
        self._lock = threading.Lock()

    def following(self, path: str, sender: str, requests: Sequence[Message], call: Any) -> Any:
        """Return `call`, which is kept once its last reply was read."""
        if hasattr(call, "__next__"):
            return _Overheard(call, lambda replies: self._keep(path, sender, requests, replies))

        def keep(done: Any) -> None:
            if done.code() is grpc.StatusCode.OK:
                self._keep(path, sender, requests, [done.result()])

        call.add_done_callback(keep)
        return call

    def _keep(self, path: str, sender: str, requests: Sequence[Message], replies: Sequence[Message]) -> None:
        sent, came = ([one.SerializeToString() for one in messages] for messages in (requests, replies))
        with self._lock:
            if len(self.exchanges[path]) < KEPT:
                self.exchanges[path].append(Exchange(path, sender, tuple(sent), tuple(came)))


class _Overheard:
    """A call that streams replies, which are told of when all were read; otherwise the call as it is."""

    def __init__(self, call: Any, read: Any) -> None:
        self._call = call
        self._read = read
        self._came: list[Message] = []

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
