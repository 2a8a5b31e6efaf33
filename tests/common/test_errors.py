import re

import grpc
import pytest

from ostraka.common.clock import ManualClock, SystemClock
from ostraka.common.errors import ErrorCode, OstrakaError, status_of


@pytest.mark.parametrize("code", list(ErrorCode))
def test_every_code_is_spelled_like_its_name_and_has_a_status(code: ErrorCode) -> None:
    assert re.fullmatch(r"[a-z]+(\.[a-z]+(_[a-z]+)*)?", code)
    assert code.name == code.upper().replace(".", "_")
    assert status_of(code) in grpc.StatusCode.__members__


def test_codes_are_in_order() -> None:
    assert [code.name for code in ErrorCode] == sorted(code.name for code in ErrorCode)


def test_an_error_keeps_what_it_was_given() -> None:
    error = OstrakaError(ErrorCode.DATA_NAN, "Column age has no value in row 3.", code="x", message="y")
    assert str(error) == error.message == "Column age has no value in row 3."
    assert error.details == {"code": "x", "message": "y"}


def test_clocks() -> None:
    clock = ManualClock(5.0)
    clock.advance(2.5)
    assert clock.now() == 7.5
    assert SystemClock().now() > 1.7e9
