"""What others wrote, as people read it."""

import pytest
from rich.table import Table

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.printable import printable, shortened
from ostraka.common.screen import Screen

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
    short = shortened(text, 500)
    assert len(short) == 500
    assert short.startswith("There is no session xx")
    assert short.endswith("xx; open one.")
    assert shortened(short, 500) == short
