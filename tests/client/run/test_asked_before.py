"""A site remembers which records it asked about, and a new run about them is refused."""

import errno
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from structlog.testing import capture_logs

from ostraka.client.run.asked_before import FOLDER, Question, remembering, rows_of_rounds, rows_of_run
from ostraka.client.run.pool import pool_digest
from ostraka.client.run.rounds_state import RoundsState, RoundState, save_rounds
from ostraka.client.session.run_state import BatchState, RunState, RunStore
from ostraka.common.errors import ErrorCode, OstrakaError

GOLDEN = Path(__file__).parents[2] / "golden/files/run-8"
RECORDS = np.arange(12, dtype=np.float32).reshape(6, 2)


def question(site: Path, run: str = "run", rows: Collection[int] = range(6), **changes: object) -> Question:
    fields = {"task_digest": "ab", "labels": ("a", "b"), "features": RECORDS[list(rows)]} | changes
    return Question(site=site, run=site / run, **fields)  # type: ignore[arg-type]


def ask(
    asked: Question, settled: Collection[int] | None = range(6), *, again: bool = False, begun: bool = False
) -> None:
    with remembering(asked, lambda: settled, begun=begun, again=again, paid=lambda run: f"for {run.name}"):
        pass


def refusal(asked: Question) -> str:
    with pytest.raises(OstrakaError) as refused:
        ask(asked)
    assert refused.value.code is ErrorCode.RUN_ASKED_BEFORE
    return refused.value.message


def test_records_are_known_whatever_their_order_or_company(tmp_path: Path) -> None:
    ask(question(tmp_path, rows=(0, 1, 2)), range(3))
    assert "2 of these 4 records were asked about before" in refusal(
        question(tmp_path, "other", (5, 2, 4, 0))
    )
    ask(question(tmp_path, "other", (3, 4, 5)), range(3))


def test_only_what_was_asked_about_is_remembered(tmp_path: Path) -> None:
    """A run that a budget ended has left records that nobody paid for."""
    ask(question(tmp_path), settled=(0, 1))
    said = refusal(question(tmp_path, "other"))
    assert "2 of these 6 records" in said
    assert f"in {(tmp_path / 'run').resolve()}, for run: repeat" in said
    ask(question(tmp_path, "other", (2, 3, 4, 5)), range(4))


def test_a_killed_process_has_remembered_what_it_meant_to_ask(tmp_path: Path) -> None:
    meant = remembering(question(tmp_path), lambda: (), begun=False, again=False, paid=str)
    meant.__enter__()
    assert "6 of these 6 records" in refusal(question(tmp_path, "other"))


def test_what_a_killed_process_meant_to_ask_a_run_that_goes_on_settles(tmp_path: Path) -> None:
    killed = remembering(question(tmp_path), lambda: (), begun=False, again=False, paid=str)
    killed.__enter__()
    ask(question(tmp_path), settled=(0, 1), begun=True)
    assert "2 of these 6 records" in refusal(question(tmp_path, "other"))


@pytest.mark.parametrize("left", [("session.lock",), ("session.lock", "session.json.tmp")])
def test_a_process_killed_before_it_began_its_run_has_asked_nobody(
    tmp_path: Path, left: tuple[str, ...]
) -> None:
    """So the same command goes on; another run of these records is refused, as this one may be under way."""
    killed = remembering(question(tmp_path), lambda: (), begun=False, again=False, paid=str)
    killed.__enter__()
    (tmp_path / "run").mkdir()
    for name in left:
        (tmp_path / "run" / name).touch()
    assert "6 of these 6 records" in refusal(question(tmp_path, "other"))
    ask(question(tmp_path), settled=(0, 1))
    assert "2 of these 6 records" in refusal(question(tmp_path, "other"))


@pytest.mark.parametrize("left", [(), ("labels.csv",), ("session.lock", "labels.csv")])
def test_a_run_whose_state_was_removed_may_have_asked(tmp_path: Path, left: tuple[str, ...]) -> None:
    killed = remembering(question(tmp_path), lambda: (), begun=False, again=False, paid=str)
    killed.__enter__()
    (tmp_path / "run").mkdir()
    for name in left:
        (tmp_path / "run" / name).touch()
    said = refusal(question(tmp_path))
    assert "6 of these 6 records" in said
    assert "restore that folder to go on" in said
    assert "repeat --out" not in said


def test_another_pool_by_mistake_leaves_what_is_remembered(tmp_path: Path) -> None:
    """The run of the first three is refused to others, of which there may be fewer."""
    ask(question(tmp_path, rows=(0, 1, 2)), range(3))
    ask(question(tmp_path, rows=(3, 4)), None, begun=True)
    assert "3 of these 3 records" in refusal(question(tmp_path, "other", (0, 1, 2)))
    ask(question(tmp_path, "other", (3, 4, 5)), range(3))


@pytest.mark.parametrize("again", [False, True])
def test_a_run_that_was_removed_stays_remembered(tmp_path: Path, again: bool) -> None:
    """Also where a new one in its folder asks about others, or about the same and then nobody."""
    ask(question(tmp_path, rows=(0, 1)), range(2))
    ask(question(tmp_path, rows=(0, 1) if again else (4, 5)), (), again=again)
    assert "2 of these 6 records" in refusal(question(tmp_path, "other"))


@pytest.fixture
def run(tmp_path: Path) -> RunState:
    """Return a run about the records, with a batch of each status."""
    golden = RunState.model_validate_json((GOLDEN / "session.json").read_text())
    batches = tuple(
        BatchState(id=number, queries=(number,), status=status)
        for number, status in enumerate(("open", "released", "dead", "lost"))
    )
    state = golden.model_copy(
        update={"pool_sha256": pool_digest(RECORDS), "batches": batches, "copies": (), "clusters": ()}
    )
    (tmp_path / "run").mkdir()
    RunStore.create(tmp_path / "run", state)
    return state


def test_what_was_charged_for_or_may_be_is_asked_about(tmp_path: Path, run: RunState) -> None:
    changes: dict[str, Any] = {"task_digest": run.parse_plan().task_digest.hex(), "labels": run.classes}
    asked = question(tmp_path, **changes)
    assert rows_of_run(asked) == {0, 1, 3}
    assert rows_of_run(replace(asked, run=tmp_path / "none")) == ()
    for other in (
        replace(asked, features=RECORDS[:3]),
        replace(asked, task_digest="ab"),
        replace(asked, labels=("c",)),
    ):
        assert rows_of_run(other) is None
    (asked.run / "session.json").write_text("{")
    assert rows_of_run(asked) is None


def test_rows_of_rounds_are_of_their_question_alone(tmp_path: Path) -> None:
    asked = question(tmp_path)
    assert rows_of_rounds(asked, None) == ()
    asked.run.mkdir()
    rounds = RoundsState(
        task="t",
        task_digest="ab",
        pool_sha256=pool_digest(RECORDS),
        pool_size=len(RECORDS),
        settings={"labels": None},
        rounds=(RoundState(rows=(1, 2)), RoundState(rows=(4,))),
    )
    save_rounds(asked.run, rounds)
    assert rows_of_rounds(asked, None) == {1, 2, 4}
    assert rows_of_rounds(asked, ("a",)) is None
    assert rows_of_rounds(replace(asked, features=RECORDS[:3]), None) is None


def test_of_a_pool_only_the_first_records_are_asked_about(tmp_path: Path) -> None:
    ask(question(tmp_path, rows=(0, 1)), range(2))
    with pytest.raises(OstrakaError, match="2 of these 3 records"):
        ask(question(tmp_path, "other", queries=3))
    ask(question(tmp_path, "other", (5, 4, 3, 1), queries=3), range(3))


@pytest.mark.parametrize("changes", [{"task_digest": "cd"}, {"labels": ("c",)}])
def test_another_question_about_the_same_records_is_another(tmp_path: Path, changes: dict[str, Any]) -> None:
    ask(question(tmp_path))
    ask(replace(question(tmp_path, "other"), **changes))


def test_who_wants_to_pays_again_and_a_run_goes_on(tmp_path: Path) -> None:
    ask(question(tmp_path))
    ask(question(tmp_path, "other"), again=True)
    ask(question(tmp_path), begun=True)


def test_a_run_that_asked_nobody_is_forgotten(tmp_path: Path) -> None:
    ask(question(tmp_path), settled=())
    ask(question(tmp_path, "other"))


@pytest.mark.parametrize(
    ("content", "code"),
    [("{", ErrorCode.DATA_UNREADABLE), ('{"version": 2, "asked": []}', ErrorCode.DATA_NEWER)],
)
def test_a_memory_that_cannot_be_read_is_told(tmp_path: Path, content: str, code: ErrorCode) -> None:
    ask(question(tmp_path))
    (file,) = (tmp_path / FOLDER).iterdir()
    file.write_text(content)
    for asked in (question(tmp_path, "other"), question(tmp_path)):
        with pytest.raises(OstrakaError) as refused:
            ask(asked)
        assert refused.value.code is code
        assert str(file) in refused.value.message
    assert file.read_text() == content
    ask(question(tmp_path, "other"), again=True)


def test_a_site_that_nobody_writes_to_is_labelled_for_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EROFS, "read-only")

    monkeypatch.setattr("ostraka.client.run.asked_before.write_atomic", refuse)
    with capture_logs() as logs:
        ask(question(tmp_path))
    assert {line["event"] for line in logs} == {"query.not_remembered"}
