"""Draws are ready one, two, four or so on slots after they began, however long they took."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ostraka.common.clock import ManualClock
from ostraka.guardian.noise import ScheduledNoise, calibrate

BEGAN = 1000.0
SHAPE = (3, 4)
VALUE_S = 1e-3
BLANK = 4000


class Slow:
    """Draws that take as long as a test says."""

    def __init__(self, clock: ManualClock, took_s: float) -> None:
        self._clock = clock
        self._took_s = took_s

    def gaussian(self, sigma: float, shape: tuple[int, ...]) -> NDArray[np.int64]:
        self._clock.advance(self._took_s)
        return np.full(shape, sigma, dtype=np.int64)

    def laplace(self, scale: float, shape: tuple[int, ...]) -> NDArray[np.int64]:
        return self.gaussian(scale + 1, shape)

    def uniform(self, shape: tuple[int, ...]) -> NDArray[np.uint64]:
        return np.full(shape, 7, dtype=np.uint64)


def scheduled(took_s: float) -> tuple[ScheduledNoise, ManualClock]:
    clock = ManualClock(BEGAN)

    def sleep(seconds: float) -> None:
        assert seconds >= 0
        clock.advance(seconds)

    return ScheduledNoise(Slow(clock, took_s), VALUE_S, clock.now, sleep), clock


SLOT = scheduled(0.0)[0].slot_s(12)


def after(took_s: float) -> float:
    noise, clock = scheduled(took_s)
    noise.gaussian(2.0, SHAPE)
    return clock.now() - BEGAN


@given(share=st.floats(0, 0.999))
def test_all_work_within_the_slot_ends_at_the_same_time(share: float) -> None:
    assert after(share * SLOT) == pytest.approx(SLOT, abs=1e-9)


@given(slots=st.floats(1.01, 1000))
def test_longer_work_ends_after_a_power_of_two_of_slots(slots: float) -> None:
    ended = math.log2(after(slots * SLOT) / SLOT)
    assert ended == pytest.approx(round(ended), abs=1e-6)
    assert math.log2(slots) - 1e-6 <= ended <= math.log2(slots) + 1 + 1e-6


def test_a_slot_grows_with_the_number_of_draws_alone() -> None:
    slot_s = scheduled(0.0)[0].slot_s
    assert 0 < slot_s(1) < slot_s(2) < slot_s(10**6) < math.inf


@pytest.mark.parametrize("took_s", [0.004, 0.4])
def test_slots_are_twice_as_long_as_blank_draws_take_on_the_machine(took_s: float) -> None:
    clock = ManualClock(BEGAN)
    value_s = calibrate(Slow(clock, took_s), clock.now)
    assert value_s * BLANK == pytest.approx(2 * took_s)


def test_one_blank_draw_that_was_held_up_lengthens_no_slot() -> None:
    clock, took = ManualClock(BEGAN), [9.0, 0.004, 0.004, 0.002, 9.0, 0.002]
    source = Slow(clock, 0.0)
    source.gaussian = lambda *_: clock.advance(took.pop())  # type: ignore[assignment, method-assign]
    assert calibrate(source, clock.now) * BLANK == pytest.approx(0.008)


def test_slots_have_a_length_where_draws_take_no_time() -> None:
    clock = ManualClock(BEGAN)
    assert calibrate(Slow(clock, 0.0), clock.now) > 0


def test_values_are_the_source_s_own() -> None:
    noise, clock = scheduled(0.0)
    assert np.array_equal(noise.gaussian(2.0, SHAPE), np.full(SHAPE, 2))
    assert np.array_equal(noise.laplace(2.0, SHAPE), np.full(SHAPE, 3))
    assert clock.now() - BEGAN == pytest.approx(2 * SLOT)
    assert np.array_equal(noise.uniform(SHAPE), np.full(SHAPE, 7))
    assert clock.now() - BEGAN == pytest.approx(2 * SLOT)
