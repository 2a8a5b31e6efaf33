"""When a device counts as gone, when as back, and who is told."""

from contextlib import closing

import numpy as np
import pytest
from structlog.testing import capture_logs

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.services.hosting.device import Device, DeviceState
from ostraka.services.teachers.guard import device_gone
from tests.services.hosting.test_device import Sums, numbered

GONE = device_gone("RuntimeError")


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


def test_a_prediction_for_which_the_device_is_gone_tells() -> None:
    with closing(Device()) as device:
        with pytest.raises(OstrakaError) as refused:
            device.predict(Sums(GONE), numbered(-1, 1), slice(None))
        assert refused.value is GONE
        assert not device.state.works
        assert device.predict(Sums(), np.zeros((1, 1), np.float32), slice(0, 1)).tolist() == [[0]]
        assert not device.state.works
