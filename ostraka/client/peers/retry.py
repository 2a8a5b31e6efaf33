"""Retries of calls and of streamed steps, and the error that is reported when they fail."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import grpc

from ostraka.common.rpc import call_error, with_async_retries, with_retries
from ostraka.common.rpc.steps import StepId, read_reply, request_messages

PATIENCE = 3
"""Additional attempts; with waits that begin at half a second, they take at least 15.75 seconds."""

T = TypeVar("T")


@dataclass(frozen=True)
class Retry:
    """Repeats calls that reached no server: `attempts` in all, with waits that double from `base_s` seconds.

    `sleep` also waits when the guardian asks to wait; `pause` waits in asynchronous calls.
    """

    attempts: int = 4
    base_s: float = 0.5
    sleep: Callable[[float], None] = time.sleep
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep
    rng: random.Random = field(default_factory=random.SystemRandom)

    @property
    def patient(self) -> "Retry":
        """A retry that outlasts the lease of a crashed guardian, after which another one takes over."""
        return replace(self, attempts=self.attempts + PATIENCE)

    async def call_async(self, call: Callable[[], Awaitable[T]], *, late: bool = True) -> T:
        """Return the result of an asynchronous call, as `call` does; raises gRPC's error."""
        return await with_async_retries(
            call, attempts=self.attempts, base_s=self.base_s, sleep=self.pause, rng=self.rng, late=late
        )

    def call(self, call: Callable[[], T], *, late: bool = True) -> T:
        """Return the call's result; raise OstrakaError with the code of the server or connection.

        Unless `late`, a call that timed out is not repeated.
        """
        try:
            return with_retries(
                call, attempts=self.attempts, base_s=self.base_s, sleep=self.sleep, rng=self.rng, late=late
            )
        except grpc.RpcError as exc:
            raise call_error(exc) from exc


@dataclass
class StepCall:
    """One step: the bytes to send, and the receiver `take` of the `size` bytes that come back.

    What follows `data` may be shared with other calls, and is not copied. The other side answers the same
    request with the same bytes. So after a failed attempt, bytes that were already received are skipped, and
    `take` gets every byte once.
    """

    step: StepId
    data: bytes = field(repr=False)
    size: int
    take: Callable[[bytes], object]
    following: bytes = field(default=b"", repr=False)
    _taken: int = field(default=0, init=False)

    def exchange(self, method: Callable[..., Any], timeout: float) -> None:
        """Make one attempt with a stub's method; raise grpc.RpcError, or `message.invalid` for a wrong
        size."""
        replies = method(request_messages(self.step, self.data, self.following), timeout=timeout)
        try:
            began = 0
            for part in read_reply(replies, self.step, self.size):
                fresh = part[max(self._taken - began, 0) :]
                began += len(part)
                if fresh:
                    self.take(fresh)
                    self._taken += len(fresh)
        finally:
            replies.cancel()
