import errno
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.reproduce import running
from benchmarks.reproduce.cell import Cell, Figure, Job, Outcome, Word
from benchmarks.reproduce.running import reproduce, waiting
from benchmarks.reproduce.store import Record, Store
from ostraka.common.errors import ErrorCode, OstrakaError


class Counted:
    """A run that counts how often it is called, and may fail."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.calls: list[Job] = []
        self.error = error

    def __call__(self, job: Job) -> Outcome:
        self.calls.append(job)
        if self.error is not None:
            raise self.error
        return Outcome((Figure("sum", tuple(float(seed) for seed in job.seeds)),))


def cell(name: str, run: Callable[[Job], Outcome], *, needs: tuple[str, ...] = (), seeds: int = 3) -> Cell:
    def made(job: Job) -> Outcome:
        return run(job)

    made.__qualname__ = name
    return Cell(name, "sums", "3", "nothing", made, needs, seeds)


def made(cells: list[Cell], store: Store, *, quick: bool = False) -> list[Record]:
    return list(reproduce(cells, store, quick=quick, tell=lambda cell, record: None))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "kept")


def test_a_cell_is_run_once_and_its_record_says_how(store: Store) -> None:
    run = Counted()
    (first,), (second,) = made([cell("a", run)], store), made([cell("a", run)], store)
    assert first == second
    assert len(run.calls) == 1
    (file,) = store.folder.glob("*.json")
    kept = json.loads(file.read_text())
    assert kept["outcome"]["figures"] == [
        {"name": "sum", "values": [0.0, 1.0, 2.0], "paper": None, "better": None, "close": 0.05}
    ]
    assert kept["seeds"] == [0, 1, 2]
    assert kept["seconds"] >= 0
    assert kept["processor_seconds"] >= 0
    assert kept["commit"]
    assert "cores" in kept["machine"]


def test_small_and_whole_other_settings_and_other_code_are_kept_apart(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Counted()
    made([cell("a", run)], store, quick=True)
    made([cell("a", run)], store)
    made([cell("a", run, seeds=2)], store)
    monkeypatch.setattr("benchmarks.reproduce.store.code_version", lambda module, name: "other")
    made([cell("a", run)], store)
    assert [(job.quick, len(job.seeds)) for job in run.calls] == [
        (True, 1),
        (False, 3),
        (False, 2),
        (False, 3),
    ]


def test_a_cell_that_fails_is_recorded_the_others_go_on_and_it_is_tried_again(store: Store) -> None:
    fails, works = Counted(ValueError("no votes")), Counted()
    cells = [cell("a", fails), cell("b", works)]
    first, second = made(cells, store)
    assert (first.outcome, first.error) == (None, "ValueError: no votes")
    assert second.outcome is not None
    assert [one.id for one in waiting(cells, store, quick=False)] == ["a"]
    fails.error = None
    assert made(cells, store)[0].outcome is not None
    assert (len(fails.calls), len(works.calls)) == (2, 1)


def test_a_refusal_is_its_sentence(store: Store) -> None:
    refused = OstrakaError(ErrorCode.DATA_MISSING, "No such votes; cast them first.")
    (record,) = made([cell("a", Counted(refused))], store)
    assert record.error == "No such votes; cast them first."


def test_missing_data_is_a_sentence_and_nothing_is_run(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "DATA", tmp_path)
    tmp_path.joinpath("there.npz").touch()
    run = Counted()
    (record,) = made([cell("a", run, needs=("there.npz", "x.npz"))], store)
    assert run.calls == []
    assert record.error is not None
    assert record.error.startswith("x.npz is not in the data folder; name the folder with --data")


def test_ctrl_c_keeps_what_has_ended(store: Store) -> None:
    works, stopped = Counted(), Counted(KeyboardInterrupt())
    cells = [cell("a", works), cell("b", stopped)]
    with pytest.raises(KeyboardInterrupt):
        made(cells, store)
    stopped.error = None
    assert all(record.outcome for record in made(cells, store))
    assert (len(works.calls), len(stopped.calls)) == (1, 2)


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "full"), OstrakaError(ErrorCode.STORAGE_FULL, "No room.")]
)
def test_a_full_disk_ends_the_run_with_a_sentence(store: Store, error: Exception) -> None:
    later = Counted()
    with pytest.raises(OstrakaError, match=r"There is no room on the disk of .*kept"):
        made([cell("a", Counted(error)), cell("b", later)], store)
    assert later.calls == []


def test_a_file_of_another_version_is_not_read(store: Store) -> None:
    run = Counted()
    made([cell("a", run)], store)
    (file,) = store.folder.glob("*.json")
    file.write_text('{"cell": "a"}')
    assert store.newest(cell("a", run)) is None
    made([cell("a", run)], store)
    assert len(run.calls) == 2


def test_what_the_page_shows_is_a_record_as_any_other(store: Store, tmp_path: Path) -> None:
    shown, one, run = tmp_path / "shown", cell("a", Counted()), Counted()
    store = Store(store.folder, shown)
    made([one], store, quick=True)
    store.show(one)
    assert not shown.exists()
    made([one], store)
    store.show(one)
    elsewhere = Store(tmp_path / "elsewhere", shown)
    assert elsewhere.newest(one) == store.newest(one)
    made([cell("a", run)], elsewhere)
    assert run.calls == []


def test_what_has_no_command_waits_for_nothing(store: Store) -> None:
    lacking = Cell("x", "sums", "3", lacking=Word.NOT_PUBLISHED, why="No data.")
    assert waiting([lacking], store, quick=False) == []


def test_those_who_watch_hear_of_each_cell_that_begins_and_ends(store: Store) -> None:
    heard: list[tuple[str, bool]] = []
    one = cell("a", Counted())
    for _ in range(2):
        list(
            reproduce([one], store, quick=False, tell=lambda c, record: heard.append((c.id, record is None)))
        )
    assert heard == [("a", True), ("a", False)]
