"""Interruptions at every step: the same plan is sent again, and every answer counts once."""

import json
from pathlib import Path
from typing import Any

import pytest

from ostraka.client.peers.guardian_peer import GuardianPeer
from ostraka.client.run.run_folder import hold_folder
from ostraka.client.session.run_state import RunStore, load_state
from ostraka.common.errors import ErrorCode, OstrakaError
from tests.client.driving import options, right, rows, run, run_of, session_of
from tests.client.federation import Federation, refuse
from tests.client.hooks import failing


def interrupted_once(monkeypatch: pytest.MonkeyPatch, owner: Any, method: str, *, after: bool) -> None:
    """Make the second call of a method end in Ctrl-C, before or after it acts."""
    real, calls = getattr(owner, method), []

    def call(*arguments: Any, **named: Any) -> Any:
        calls.append(method)
        if len(calls) == 2 and not after:
            raise KeyboardInterrupt
        result = real(*arguments, **named)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return result

    monkeypatch.setattr(owner, method, call)


STEPS = [
    (RunStore, "begin"),
    (GuardianPeer, "open_batch"),
    (GuardianPeer, "verify_ballots"),
    (GuardianPeer, "prepare"),
    (GuardianPeer, "release"),
    (RunStore, "record_answers"),
]
BEFORE_THE_FIRST_RELEASE = ("begin", "open_batch")
"""Steps that the second batch takes while the first has only been voted on."""


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(("owner", "method"), STEPS, ids=[method for _, method in STEPS])
def test_an_interruption_at_any_step_loses_and_repeats_nothing(
    either: Federation, monkeypatch: pytest.MonkeyPatch, owner: Any, method: str, after: bool
) -> None:
    interrupted_once(monkeypatch, owner, method, after=after)
    with pytest.raises(KeyboardInterrupt):
        run(either)
    answered = {row for row in rows(either) if row[2] != "unasked"}
    assert len(answered) >= (0 if method in BEFORE_THE_FIRST_RELEASE else 4)
    assert answered < set(right(10))
    result = run(either)
    assert rows(either) == right(10)
    assert result.answered == 10
    assert len(either.guardian.plans) == 1
    released = [
        query
        for batch in load_state(run_of(either)).batches
        if batch.status == "released"
        for query in batch.queries
    ]
    assert sorted(released) == list(range(10))
    assert len(either.guardian.answers) == 3


@pytest.mark.heavy
def test_answers_stored_before_the_interruption_come_back_without_a_vote(
    either: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted_once(monkeypatch, RunStore, "record_answers", after=False)
    with pytest.raises(KeyboardInterrupt):
        run(either)
    assert [batch.status for batch in load_state(run_of(either)).batches] == ["released", "open", "open"]
    run(either)
    assert either.parties["a"].voted.count((session_of(either), 2)) == 1
    statuses = [batch.status for batch in load_state(run_of(either)).batches]
    assert statuses == ["released", "released", "dead", "released"]
    assert rows(either) == right(10)


@pytest.mark.heavy
def test_a_reply_lost_after_storing_is_repeated_with_the_same_sum(either: Federation) -> None:
    either.guardian.after_release = failing(ErrorCode.SERVER_UNREACHABLE)
    run(either)
    assert rows(either) == right(10)
    first = either.guardian.sums[session_of(either), 1]
    assert len(first) == 2
    assert first[0] == first[1]


def test_a_guardian_lost_after_storing_has_its_answers_fetched_later(federation: Federation) -> None:
    def lose() -> None:
        federation.stop("guardian")
        raise refuse(ErrorCode.SERVER_UNREACHABLE)

    federation.guardian.after_release = lose
    with pytest.raises(OstrakaError) as down:
        run(federation)
    assert down.value.code is ErrorCode.SERVER_UNREACHABLE
    federation.guardian.after_release = lambda: None
    federation.start("guardian")
    run(federation)
    assert rows(federation) == right(10)
    assert [key for key in federation.parties["a"].voted if key[1] == 1] == [("s0", 1)]
    assert [batch.status for batch in load_state(run_of(federation)).batches] == [
        "released",
        "dead",
        "released",
        "released",
    ]


def test_answers_that_the_guardian_dropped_count_as_charged_and_the_others_stay(
    federation: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted_once(monkeypatch, RunStore, "record_answers", after=False)
    with pytest.raises(KeyboardInterrupt):
        run(federation)
    settle = GuardianPeer.settle

    def forget(peer: GuardianPeer, session: str, batch: int) -> Any:
        if batch == 2:
            raise OstrakaError(ErrorCode.BATCH_FORGOTTEN, "Batch 2 is dropped.")
        return settle(peer, session, batch)

    monkeypatch.setattr(GuardianPeer, "settle", forget)
    result = run(federation)
    lost = load_state(run_of(federation)).batches[1]
    assert (lost.status, lost.charged) == ("lost", ((True,),) * 4)
    assert (result.lost, result.answered, result.unasked) == (4, 6, 4)


def test_another_pool_is_refused(federation: Federation) -> None:
    run(federation)
    federation.write_pool([0.5] * 10)
    with pytest.raises(OstrakaError) as refused:
        run(federation)
    assert refused.value.code is ErrorCode.RUN_MISMATCH
    assert "another pool" in refused.value.message


@pytest.mark.heavy
def test_another_plan_is_refused_and_what_differs_named(federation: Federation) -> None:
    run(federation)
    with pytest.raises(OstrakaError) as refused:
        run(federation, options(quorum=3, batch_size=5))
    assert refused.value.code is ErrorCode.RUN_MISMATCH
    assert "quorum, batch_size" in refused.value.message


def test_another_task_is_refused(federation: Federation) -> None:
    run(federation)
    task = federation.site / "task.toml"
    task.write_text(task.read_text().replace("insects", "birds"))
    with pytest.raises(OstrakaError) as refused:
        run(federation)
    assert refused.value.code is ErrorCode.RUN_MISMATCH
    assert "another task" in refused.value.message


@pytest.mark.parametrize("damage", [b"{", b"\xff", json.dumps({"version": 2}).encode()])
def test_a_damaged_state_is_refused(federation: Federation, damage: bytes) -> None:
    run(federation)
    (run_of(federation) / "session.json").write_bytes(damage)
    with pytest.raises(OstrakaError) as refused:
        run(federation)
    assert refused.value.code is ErrorCode.RUN_MISMATCH


def test_two_processes_cannot_drive_one_run(federation: Federation) -> None:
    with hold_folder(run_of(federation)), pytest.raises(OstrakaError) as refused:
        run(federation)
    assert refused.value.code is ErrorCode.RUN_MISMATCH
    assert not federation.guardian.plans


def test_a_run_cannot_go_into_a_file(federation: Federation, tmp_path: Path) -> None:
    run_of(federation).write_text("no folder")
    with pytest.raises(OstrakaError, match="Cannot write into") as refused:
        run(federation)
    assert refused.value.code is ErrorCode.CONFIG_INVALID


def test_a_crash_while_saving_keeps_the_old_state(
    federation: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(federation, options(queries=4))
    before = load_state(run_of(federation))

    def crash(*_: object) -> None:
        raise OSError("power cut")

    store = RunStore(run_of(federation), before)
    monkeypatch.setattr("ostraka.common.files.durable.os.replace", crash)
    with pytest.raises(OSError, match="power cut"):
        store.begin([0])
    assert load_state(run_of(federation)) == before
