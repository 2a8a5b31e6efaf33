"""Of calls that a caller needs one at a time, the last one alone goes on."""

from contextlib import ExitStack
from typing import Any

from ostraka.common.rpc.calls import LatestCalls


class Call:
    """A call under way that says whether it was cancelled."""

    def __init__(self) -> None:
        self.cancelled = 0

    def cancel(self) -> None:
        self.cancelled += 1


def begin(latest: LatestCalls, *kind: str) -> tuple[Any, ExitStack]:
    call: Any = Call()
    stack = ExitStack()
    stack.enter_context(latest.only(call, *kind))
    return call, stack


def test_a_later_call_of_a_kind_ends_the_one_before_it() -> None:
    latest = LatestCalls()
    begun = [begin(latest, kind) for kind in ("vote", "train", "vote")]
    assert [call.cancelled for call, _ in begun] == [1, 0, 0]


def test_an_earlier_call_that_ends_leaves_its_successor_to_be_ended() -> None:
    latest = LatestCalls()
    _, first_ends = begin(latest, "vote")
    second, _ = begin(latest, "vote")
    first_ends.close()
    third, _ = begin(latest, "vote")
    assert (second.cancelled, third.cancelled) == (1, 0)


def test_a_call_that_ended_is_not_ended_again() -> None:
    latest = LatestCalls()
    first, ends = begin(latest, "vote")
    ends.close()
    begin(latest, "vote")
    assert first.cancelled == 0
