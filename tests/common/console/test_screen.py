"""Tables in narrow terminals."""

import pytest
from rich.table import Table

from ostraka.common.console.screen import Screen, table_of
from ostraka.common.console.texts import epsilon_text, number_text

ID = "c5d652f444699e2106bbfa0c1c55aa21"


def printed(capsys: pytest.CaptureFixture[str], *cells: str) -> list[str]:
    table = Table(*(f"column {number}" for number in range(len(cells))))
    table.add_row(*cells)
    Screen().print(table)
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("columns", ["20", "50", "80", "200"])
def test_no_word_of_a_table_is_ever_cut(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    words = ["what", "was", "found", "and", "how", "to", "put", "it", "right"]
    lines = printed(capsys, ID, "9.9201", " ".join(words))
    shown = " ".join(lines)
    assert all(word in shown for word in (ID, "9.9201", *words))
    assert "…" not in shown


def test_text_wraps_where_a_table_is_too_wide(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    lines = printed(capsys, ID, "a sentence that is much longer than the place that is left")
    assert max(map(len, lines)) <= 60


@pytest.mark.parametrize(
    ("value", "text"),
    [(9.91996, "9.92"), (0.0801, "0.0801"), (0.0, "0"), (44.6, "44.6"), (999.96, "1000"), (12345.6, "12346")],
)
def test_epsilons_have_four_digits_and_no_exponents(value: float, text: str) -> None:
    assert epsilon_text(value) == text


@pytest.mark.parametrize(("value", "text"), [(10.0, "10"), (1e-5, "1e-5"), (0.5, "0.5")])
def test_what_was_set_is_told_as_it_was_set(value: float, text: str) -> None:
    assert number_text(value) == text


def test_numbers_stand_to_the_right() -> None:
    rows = [("a", "1.5", "2 of 3", "-"), ("b", "-", "no", "1e-5")]
    justified = [column.justify for column in table_of(("name", "share", "state", "delta"), rows).columns]
    assert justified == ["left", "right", "left", "right"]
    assert table_of(("name",), []).row_count == 0
