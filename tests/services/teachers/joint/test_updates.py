import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ostraka.common.learning.record_gradients import STEPS
from ostraka.common.mechanism.ttac import UPDATE_UNITS
from ostraka.services.teachers.updates import MAX_COORDINATE, clip_update, plain

UPDATES = arrays(np.float64, st.integers(1, 50), elements=st.floats(-1e6, 1e6))


@given(UPDATES, st.floats(1e-6, 1e6))
def test_a_clipped_update_is_within_a_radius(update: np.ndarray, radius: float) -> None:
    steps = clip_update(update, radius)
    assert sum(int(one) ** 2 for one in steps) <= STEPS**2
    norm = np.linalg.norm(update)
    wanted = update / max(radius, norm) * STEPS
    assert np.all(np.abs(steps) <= np.abs(wanted))
    assert np.all(np.abs(steps - wanted) <= 1 + 2e-6 * np.abs(wanted))


@given(UPDATES)
def test_a_plain_update_is_as_it_was(update: np.ndarray) -> None:
    known = np.clip(update, -MAX_COORDINATE, MAX_COORDINATE)
    assert np.allclose(plain(update) / (STEPS * UPDATE_UNITS), known, rtol=0, atol=1 / (STEPS * UPDATE_UNITS))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_is_nothing(value: float) -> None:
    update = np.array([1.0, value])
    assert clip_update(update, 1.0).tolist() == [0, 0]
    assert plain(update).tolist() == [2**24, 0]


@pytest.mark.parametrize("radius", [1e-30, 1e-310])
def test_an_update_of_nothing_stays_nothing(radius: float) -> None:
    assert clip_update(np.zeros(3), radius).tolist() == [0, 0, 0]


def test_sums_of_a_million_plain_updates_fit_the_ring() -> None:
    assert int(plain(np.array([1e300]))[0]) * 2**20 < 2**63
