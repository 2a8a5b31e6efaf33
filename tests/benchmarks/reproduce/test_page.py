import re
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.reproduce.cell import Cell, Claim, Figure, Outcome
from benchmarks.reproduce.definitions import ROOT
from benchmarks.reproduce.page import IMAGES, NOT_RUN, page, word_of
from benchmarks.reproduce.registry import cells, sections
from benchmarks.reproduce.store import Record, Store, digest_of

NAME = "tang-2022-table-2-rand-res"
CELL = next(cell for cell in cells() if cell.id == NAME)


def rows(text: str) -> list[str]:
    return re.findall(r"^\| `([a-z0-9-]+)` \|", text, re.MULTILINE)


def kept(store: Store, cell: Cell = CELL, *, quick: bool = False, error: str | None = None) -> None:
    outcome = Outcome(
        (Figure("true | false, %", (15.0, 16.0), 15.5), Figure("labels", (1234.0,))),
        (Claim("it is less", holds=False),),
    )
    store.keep(
        Record(
            cell.id,
            digest_of(cell, quick=quick),
            quick,
            (0, 1),
            None if error else outcome,
            error,
            61.0,
            commit="0123456789ab",
            ended="2026-11-27T03:00:00+00:00",
        )
    )


def row(store: Store, cell: str = NAME) -> str:
    (found,) = (line for line in page(store).splitlines() if line.startswith(f"| `{cell}` |"))
    return found


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "kept")


def test_the_page_has_the_rows_of_the_registry() -> None:
    """Write it anew with `python -m benchmarks.reproduce --page` where it has not."""
    assert rows((ROOT / "docs" / "reproductions.md").read_text()) == [cell.id for cell in cells()]


def test_every_cell_has_a_row_also_where_nothing_was_run(store: Store) -> None:
    text = page(store)
    assert rows(text) == [cell.id for cell in cells()]
    assert all(f"## {paper.name}" in text for paper in sections())
    lines = [line for line in text.splitlines() if line.startswith("| `")]
    assert all(len(re.findall(r"(?<!\\)\|", line)) == 7 for line in lines)
    assert "not run here; 1 s on two cores" in row(store)
    assert "**nothing to measure**" in row(store, "tang-2022-figure-1")


def test_a_row_says_numbers_spread_the_papers_and_what_made_them(store: Store) -> None:
    kept(store)
    found = row(store)
    assert (
        r"true \| false, %: 15.50 ± 0.71 (15.50)<br>labels: 1,234<br>it is less: **does not hold**" in found
    )
    assert "2 seeds, 61 s, " in found
    assert ", 2026-11-27, commit 0123456789ab</small>" in found
    assert "**differs**" in found
    assert "older code" not in found


def test_a_row_says_what_a_run_took_of_a_processor_where_that_is_known(store: Store) -> None:
    kept(store)
    record = store.whole(CELL)
    assert record
    store.keep(replace(record, processor_seconds=12.0))
    assert "2 seeds, 12 s of a processor, " in row(store)


def test_what_others_give_is_beside_a_ratio(store: Store) -> None:
    (cell,) = (one for one in cells() if one.id == "world-noise")
    store.keep(
        Record(cell.id, "x", False, (0,), Outcome((Figure("draws", (30.0,), 20.0, "higher"),)), None, 1.0)
    )
    assert "draws: 30.0 (20.0), 1.5 times" in row(store, "world-noise")


def test_a_picture_is_shown_where_there_are_whole_numbers(store: Store) -> None:
    (cell,) = (one for one in cells() if one.id == "papernot-2018-figure-4")
    image = f"({IMAGES}/{cell.id}.svg)"
    assert image not in page(store)
    kept(store, cell, quick=True)
    assert image not in page(store)
    kept(store, cell)
    assert image in page(store)


def test_the_page_has_a_file_for_each_of_its_pictures() -> None:
    """Draw them with `python -m benchmarks.reproduce --page`."""
    docs = ROOT / "docs"
    images = re.findall(rf"\(({IMAGES}/[a-z0-9-]+\.svg)\)", (docs / "reproductions.md").read_text())
    assert sorted(images) == sorted(str(file.relative_to(docs)) for file in (docs / IMAGES).iterdir())


def test_numbers_by_older_code_say_so(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    kept(store)
    monkeypatch.setattr("benchmarks.reproduce.store.code_version", lambda module, name: "newer")
    assert "; by older code" in row(store)


def test_numbers_in_small_are_not_on_the_page(store: Store) -> None:
    kept(store, quick=True)
    assert NOT_RUN in row(store)
    assert "15.50" not in row(store)
    kept(store)
    assert "15.50" in row(store)


def test_a_failure_is_on_the_page_until_there_are_numbers(store: Store) -> None:
    kept(store, error="mnist.npz is not in the data folder.")
    assert "failed: mnist.npz is not in the data folder." in row(store)
    assert word_of(CELL, store.newest(CELL)) == NOT_RUN
    kept(store)
    assert "failed" not in row(store)
