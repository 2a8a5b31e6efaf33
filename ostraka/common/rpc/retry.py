"""Retries of calls while the other end is unavailable."""

import random
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar

import grpc

MAX_WAIT_S = 30.0
TRANSIENT = frozenset({grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED})

ENDED = (grpc.Call, grpc.aio.AioRpcError)
"""Errors of calls that ended with a status."""

T = TypeVar("T")


def with_retries(
    call: Callable[[], T],
    *,
    attempts: int,
    base_s: float,
    sleep: Callable[[float], object],
    rng: random.Random,
    late: bool = True,
) -> T:
    """Make a call up to `attempts` times, as long as the other end is unavailable or late.

    Args:
        call: makes the call anew each time, including its request streams.
        attempts: maximum number of attempts, at least 1.
        base_s: the longest wait before the second attempt in seconds; doubles up to 30 s, and half of each
            wait is random.
        sleep: waits for that many seconds.
        rng: draws the random half.
        late: whether a call that was not answered in time is made again.

    Raises:
        grpc.RpcError: the last attempt's error, or the first one that no retry can mend.
    """
    for pause in _pauses(attempts, base_s, rng):
        try:
            return call()
        except grpc.RpcError as error:
            if _is_final(error, late=late):
                raise
        sleep(pause)
    return call()


async def with_async_retries(
    call: Callable[[], Awaitable[T]],
    *,
    attempts: int,
    base_s: float,
    sleep: Callable[[float], Awaitable[object]],
    rng: random.Random,
    late: bool = True,
) -> T:
    """As `with_retries`, for asynchronous calls."""
    for pause in _pauses(attempts, base_s, rng):
        try:
            return await call()
        except grpc.RpcError as error:
            if _is_final(error, late=late):
                raise
        await sleep(pause)
    return await call()


def is_transient(error: grpc.RpcError) -> bool:
    """Whether the same call may succeed later."""
    return isinstance(error, ENDED) and error.code() in TRANSIENT


def is_late(error: grpc.RpcError) -> bool:
    """Whether a call got no answer in time."""
    return isinstance(error, ENDED) and error.code() is grpc.StatusCode.DEADLINE_EXCEEDED


def _is_final(error: grpc.RpcError, *, late: bool) -> bool:
    """Whether a call that failed like this is not made again; `late` says whether late calls are."""
    return not is_transient(error) or (is_late(error) and not late)


def _pauses(attempts: int, base_s: float, rng: random.Random) -> Iterator[float]:
    """Yield the seconds to wait after each attempt except the last."""
    for attempt in range(attempts - 1):
        yield min(base_s * 2**attempt, MAX_WAIT_S) * rng.uniform(0.5, 1.0)
