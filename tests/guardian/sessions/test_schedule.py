"""Answers leave at multiples of a public slot, however long the work took and however it ended."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.clock import ManualClock
from common.errors import ErrorCode, OstrakaError
from common.mechanism import Binary, Confident, GnMax, LnMax, Mechanism, Powerset
from guardian.sessions.schedule import Schedule, slot_s

SLOT = 0.25


class Elapsed:
    """Works and waits on one manual clock, which never stands behind where it began."""

    def __init__(self) -> None:
        self.clock = ManualClock(1000.0)
        self.schedule = Schedule(self.clock.now, self._sleep)

    def _sleep(self, seconds: float) -> None:
        assert seconds >= 0
        self.clock.advance(seconds)

    def after(self, work_s: float, slot_s: float = SLOT) -> float:
        with self.schedule.hold(slot_s):
            self.clock.advance(work_s)
        return self.clock.now() - 1000.0

    def refuse(self, work_s: float) -> None:
        with self.schedule.hold(SLOT):
            self.clock.advance(work_s)
            raise OstrakaError(ErrorCode.SESSION_ENDED, "The session ended.")


@given(work_s=st.floats(0, 0.2499))
def test_all_work_within_the_slot_ends_at_the_same_time(work_s: float) -> None:
    assert Elapsed().after(work_s) == pytest.approx(SLOT, abs=1e-9)


@given(work_s=st.floats(0.26, 50))
def test_longer_work_ends_at_the_next_multiple(work_s: float) -> None:
    ended = Elapsed().after(work_s)
    assert ended / SLOT == pytest.approx(round(ended / SLOT), abs=1e-6)
    assert work_s - 1e-6 <= ended < work_s + SLOT + 1e-6


def test_rounding_never_asks_for_a_wait_below_zero() -> None:
    """38 slots end a rounding error before the work does, and the quotient of the two is 38."""
    waits: list[float] = []
    times = iter([0.0, 49.400000000000006])
    with Schedule(lambda: next(times), waits.append).hold(1.3):
        pass
    assert waits == [0.0]


@pytest.mark.parametrize("work_s", [0.01, 0.2])
def test_a_refusal_that_depends_on_votes_is_held_too(work_s: float) -> None:
    elapsed = Elapsed()
    with pytest.raises(OstrakaError) as refused:
        elapsed.refuse(work_s)
    assert refused.value.code is ErrorCode.SESSION_ENDED
    assert elapsed.clock.now() - 1000.0 == pytest.approx(SLOT)


def test_every_hold_begins_its_own_slot() -> None:
    elapsed = Elapsed()
    elapsed.after(0.1)
    elapsed.clock.advance(0.07)
    assert elapsed.after(0.2) == pytest.approx(SLOT + 0.07 + SLOT)


MECHANISMS: list[Mechanism] = [
    GnMax(sigma=40),
    Confident(sigma1=40, sigma2=20, threshold=100),
    LnMax(gamma=0.1),
    Binary(sigma=10),
    Powerset(sigma=10),
]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: m.kind)
def test_a_slot_grows_with_the_batch_the_classes_and_the_accounting(mechanism: Mechanism) -> None:
    few, many = (slot_s(mechanism, rows, 10, 50, 0.0) for rows in (10, 1000))
    assert 0.1 < few < many < math.inf
    assert few < slot_s(mechanism, 10, 12, 50, 0.0)
    assert slot_s(mechanism, 10, 10, 50, 2.5) == pytest.approx(few + 2.5)
