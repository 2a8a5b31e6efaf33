"""When a device counts as gone, when as back, and who is told."""

import pytest
from structlog.testing import capture_logs

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning.device import DeviceState

GONE = OstrakaError(ErrorCode.SERVER_DEVICE_GONE, "Gone.")


def fail() -> None:
    raise GONE


@pytest.mark.parametrize("failure", [RuntimeError("other"), OstrakaError(ErrorCode.MODEL_INVALID, "Other.")])
def test_a_model_that_fails_otherwise_says_nothing_of_the_device(failure: Exception) -> None:
    state = DeviceState()
    state.note_failure(failure)
    assert state.works


def test_who_watches_is_told_of_every_change_once() -> None:
    state = DeviceState()
    told: list[bool] = []
    state.watch(told.append)
    with capture_logs() as logs:
        for _ in range(3):
            state.note_failure(GONE)
        state.retry(fail)
        assert told == [True, False]
        for _ in range(2):
            state.retry(lambda: None)
    assert told == [True, False, True]
    assert [log["event"] for log in logs] == ["device.gone", "device.back"]
    late: list[bool] = []
    state.watch(late.append)
    assert late == [True]


def test_a_device_that_works_is_not_asked() -> None:
    DeviceState().retry(fail)


def test_a_failure_during_a_probe_outlasts_it() -> None:
    state = DeviceState()
    state.note_failure(GONE)
    state.retry(lambda: state.note_failure(GONE))
    assert not state.works
