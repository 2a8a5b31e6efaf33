import asyncio
import random
from collections.abc import Sequence

import grpc
import pytest

from ostraka.common.rpc import with_async_retries, with_retries
from tests.common.rpc.failure import Failure

AWAY = grpc.StatusCode.UNAVAILABLE
LATE = grpc.StatusCode.DEADLINE_EXCEEDED


class Calls:
    """Fails with the given statuses, then answers."""

    def __init__(self, failures: Sequence[grpc.StatusCode]) -> None:
        self.failures = list(failures)
        self.waits: list[float] = []

    def __call__(self) -> str:
        if self.failures:
            raise Failure(self.failures.pop(0))
        return "answer"

    def retried(self, attempts: int, *, late: bool = True) -> str:
        rng = random.Random(1)  # noqa: S311
        return with_retries(self, attempts=attempts, base_s=1.0, sleep=self.waits.append, rng=rng, late=late)

    def retried_without_a_thread(self, attempts: int, *, late: bool = True) -> str:
        async def call() -> str:
            return self()

        async def sleep(seconds: float) -> None:
            self.waits.append(seconds)

        rng = random.Random(1)  # noqa: S311
        retried = with_async_retries(call, attempts=attempts, base_s=1.0, sleep=sleep, rng=rng, late=late)
        return asyncio.run(retried)


@pytest.mark.parametrize("late", [True, False])
@pytest.mark.parametrize("failures", [[AWAY, LATE], [AWAY, AWAY, AWAY], [grpc.StatusCode.PERMISSION_DENIED]])
def test_calls_without_a_thread_are_made_again_as_others_are(
    failures: list[grpc.StatusCode], late: bool
) -> None:
    came, waits = [], []
    for how in (Calls.retried, Calls.retried_without_a_thread):
        calls = Calls(failures)
        try:
            came.append(how(calls, 3, late=late))
        except grpc.RpcError as error:
            came.append(repr(error))
        waits.append(calls.waits)
    assert came[0] == came[1]
    assert waits[0] == waits[1]


def test_a_call_is_made_again_while_the_other_end_is_away_or_late() -> None:
    calls = Calls([AWAY, LATE])
    assert calls.retried(3) == "answer"
    assert len(calls.waits) == 2


def test_waits_double_are_partly_random_and_bounded() -> None:
    calls = Calls([AWAY] * 9)
    calls.retried(10)
    longest = [min(2.0**i, 30.0) for i in range(9)]
    assert all(most / 2 <= wait <= most for wait, most in zip(calls.waits, longest, strict=True))
    assert len(set(calls.waits)) == 9


def test_the_last_failure_is_raised() -> None:
    calls = Calls([AWAY, AWAY, LATE])
    with pytest.raises(grpc.RpcError) as failure:
        calls.retried(3)
    assert isinstance(failure.value, grpc.Call)
    assert failure.value.code() is LATE
    assert len(calls.waits) == 2


def test_what_no_retry_can_mend_is_raised_at_once() -> None:
    calls = Calls([grpc.StatusCode.PERMISSION_DENIED])
    with pytest.raises(grpc.RpcError):
        calls.retried(3)
    assert calls.waits == []


def test_a_call_without_an_answer_is_not_made_again_where_that_would_take_too_long() -> None:
    calls = Calls([AWAY, LATE])
    with pytest.raises(grpc.RpcError) as failure:
        calls.retried(3, late=False)
    assert isinstance(failure.value, grpc.Call)
    assert failure.value.code() is LATE
    assert len(calls.waits) == 1
