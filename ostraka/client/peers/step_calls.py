"""Streamed steps of a computation with another role: sent alike and taken once, however many attempts."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ostraka.common.rpc.steps import StepId, read_reply, request_messages


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
