import re

import grpc
import pytest
from rich.table import Table

from ostraka.common.clock import ManualClock, SystemClock
from ostraka.common.console.screen import Screen
from ostraka.common.errors import ErrorCode, OstrakaError, printable, shorten, status_of


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


HOSTILE = "[/b]\x1b[2J\u202eevil\n:smile:"


def test_text_of_any_language_stays_as_it_is() -> None:
    assert printable("Ωμέγα, 心電図 (3 µV)") == "Ωμέγα, 心電図 (3 µV)"


def test_a_refusal_quotes_nothing_that_a_terminal_obeys() -> None:
    error = OstrakaError(ErrorCode.SESSION_UNKNOWN, f"There is no session {HOSTILE}.")
    assert str(error) == error.message == "There is no session [/b]\\x1b[2J\\u202eevil\\n:smile:."


def test_tables_and_sentences_show_control_codes_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table("name", width=60)
    table.add_row(HOSTILE)
    screen = Screen()
    screen.print(table)
    screen.print(HOSTILE)
    shown = capsys.readouterr().out
    assert shown.count("[/b]\\x1b[2J\\u202eevil") == 2
    assert shown.count(":smile:") == 2
    assert "\x1b" not in shown


def test_what_is_too_long_keeps_beginning_and_end() -> None:
    text = "There is no session " + "x" * 9000 + "; open one."
    short = shorten(text, 500)
    assert len(short) == 500
    assert short.startswith("There is no session xx")
    assert short.endswith("xx; open one.")
    assert shorten(short, 500) == short
