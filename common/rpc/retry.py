"""Calls that are made again while the other end is away."""

import random
from collections.abc import Callable
from typing import TypeVar

import grpc

LONGEST_S = 30.0
TRANSIENT = frozenset({grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED})

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
    """Make a call up to `attempts` times, for as long as the other end is unavailable or late.

    Args:
        call: makes the call afresh each time, its request streams too.
        attempts: how often at most, at least 1.
        base_s: the longest wait before the second attempt in seconds; doubles up to 30 s, and half of each
            wait is random.
        sleep: waits for that many seconds.
        rng: draws the random half.
        late: whether a call that was not answered in time is made again.

    Raises:
        grpc.RpcError: the last attempt's error, or the first that no retry can mend.
    """
    for attempt in range(attempts - 1):
        try:
            return call()
        except grpc.RpcError as error:
            if not is_transient(error) or (is_late(error) and not late):
                raise
        sleep(min(base_s * 2**attempt, LONGEST_S) * rng.uniform(0.5, 1.0))
    return call()


def is_transient(error: grpc.RpcError) -> bool:
    """Whether the same call may succeed later."""
    return isinstance(error, grpc.Call) and error.code() in TRANSIENT


def is_late(error: grpc.RpcError) -> bool:
    """Whether a call got no answer in its time."""
    return isinstance(error, grpc.Call) and error.code() is grpc.StatusCode.DEADLINE_EXCEEDED
