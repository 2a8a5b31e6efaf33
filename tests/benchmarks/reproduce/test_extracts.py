from pathlib import Path

import pytest

from benchmarks.reproduce.cell import Figure, Outcome
from benchmarks.reproduce.definitions import ROOT
from benchmarks.reproduce.extracts import EXTRACTS, Extract, fill
from benchmarks.reproduce.store import RECORDS, Record, Store

CELL = "tang-2022-table-2-rand-res"
EXTRACT = Extract((CELL,), r"(?P<row>\w+), (?P<column>epsilon \d): true, %")
PAGE = "Before.\n\n<!-- labels: drawn -->\nold\n<!-- end -->\n\nAfter.\n"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "kept")


def test_the_pages_have_what_the_records_say(tmp_path: Path) -> None:
    """Draw them anew with `python -m benchmarks.reproduce --page` where they have not."""
    store = Store(tmp_path, RECORDS)
    for name, extracts in EXTRACTS.items():
        text = ROOT.joinpath("docs", name).read_text(encoding="utf-8")
        assert fill(text, extracts, store) == text


def test_a_table_has_the_numbers_where_their_names_say(store: Store) -> None:
    figures = (
        Figure("CIFAR10, epsilon 1: true, %", (10.0, 12.0), 11.5),
        Figure("CINIC10, epsilon 1: true, %", (20.0,)),
        Figure("CINIC10, epsilon 2: true, %", (30.0,)),
        Figure("something else", (40.0,)),
    )
    record = Record(CELL, "x", False, (0, 1), Outcome(figures), None, 1.0, ended="2026-11-27T03:00:00+00:00")
    store.keep(record)
    filled = fill(PAGE, {"labels": EXTRACT}, store)
    assert filled == (
        "Before.\n\n<!-- labels: drawn -->\n\n"
        "| | epsilon 1 | epsilon 2 |\n|---|---|---|\n"
        "| CIFAR10 | 11.00 ± 1.41 (11.50) | - |\n| CINIC10 | 20.0 | 30.0 |\n\n"
        f"`{CELL}` 2026-11-27\n\n<!-- end -->\n\nAfter.\n"
    )
    assert fill(filled, {"labels": EXTRACT}, store) == filled


def test_what_was_not_run_says_so(store: Store) -> None:
    assert f"`{CELL}` not run here" in fill(PAGE, {"labels": EXTRACT}, store)


@pytest.mark.parametrize("extracts", [{}, {"others": EXTRACT}, {"labels": EXTRACT, "others": EXTRACT}])
def test_marks_and_tables_are_the_same(store: Store, extracts: dict[str, Extract]) -> None:
    with pytest.raises(ValueError, match="marks"):
        fill(PAGE, extracts, store)
