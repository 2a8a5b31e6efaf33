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
"""Attempts more, which with waits that begin at half a second take 15.75 seconds at least."""

T = TypeVar("T")


@dataclass(frozen=True)
class Retry:
    """Repeats calls that reached no server: `attempts` in all, with waits of about `base_s` seconds that
    double.

    `sleep` is also what waits while the guardian asks for patience; `pause` waits where no thread does.
    """

    attempts: int = 4
    base_s: float = 0.5
    sleep: Callable[[float], None] = time.sleep
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep
    rng: random.Random = field(default_factory=random.SystemRandom)

    @property
    def patient(self) -> "Retry":
        """One that outwaits the lease of a guardian that died, after which another one takes over."""
        return replace(self, attempts=self.attempts + PATIENCE)

    async def call_async(self, call: Callable[[], Awaitable[T]], *, late: bool = True) -> T:
        """As `call`, for calls that no thread waits for; raises what gRPC raised."""
        return await with_async_retries(
            call, attempts=self.attempts, base_s=self.base_s, sleep=self.pause, rng=self.rng, late=late
        )

    def call(self, call: Callable[[], T], *, late: bool = True) -> T:
        """Return the call's result; raise OstrakaError with the code that the server or connection gave.

        Where not `late`, a call that was not answered in time is not repeated.
        """
        try:
            return with_retries(
                call, attempts=self.attempts, base_s=self.base_s, sleep=self.sleep, rng=self.rng, late=late
            )
        except grpc.RpcError as exc:
            raise call_error(exc) from exc


@dataclass
class StepCall:
    """One step: what is sent, and who takes the `size` bytes that come back, as they arrive.

    What follows `data` may be shared with calls to others, and is not copied.
    The other side answers the same request with the same bytes. What came before an attempt failed is
    therefore passed over when it comes again, and `take` sees every byte once.
    """

    step: StepId
    data: bytes = field(repr=False)
    size: int
    take: Callable[[bytes], object]
    following: bytes = field(default=b"", repr=False)
    _taken: int = field(default=0, init=False)

    def exchange(self, method: Callable[..., Any], timeout: float) -> None:
        """Make one attempt with a stub's method; raises grpc.RpcError, or `message.invalid` for a misfit."""
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
