"""A start reads the log from its checkpoint on, finds balances that were edited, and trusts no forgery."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import Connection, select

from ostraka.common.errors import ErrorCode
from ostraka.guardian.ledger import Charge
from ostraka.guardian.ledger.log import audit, checkpoint_state, checkpoints, integrity
from ostraka.guardian.ledger.log.replayed_ledger import ReplayedLedger
from ostraka.guardian.ledger.sessions import batches, endings, evaluations, releases
from ostraka.guardian.ledger.store.schema import audit as audit_table
from ostraka.guardian.ledger.store.schema import checkpoints as table
from ostraka.guardian.ledger.store.storage import open_storage
from ostraka.protos.ostraka.v1 import common_pb2
from tests.guardian.ledger.places import Place
from tests.guardian.ledger.support import (
    ATHENS,
    CORINTH,
    DIGEST,
    SEAL,
    amounts,
    open_session,
    refused,
    release,
    with_budgets,
)


def fill(place: Place) -> None:
    """Write a closed session, an open one with a released and a dead batch, a checkpoint, and batch 4."""
    with with_budgets(place.open()) as ledger:
        open_session(ledger, "t")
        ledger.write_session("t", endings.close)
        ledger.write_session("s", batches.open_batch, 1, 5, b"t", {ATHENS: 100, CORINTH: 100})
        release(ledger, 1, Charge(ATHENS, 60, 3), Charge(CORINTH, 50, 4))
        ledger.write_session("s", batches.open_batch, 2, 5, b"t", {ATHENS: 100})
        ledger.write_session("s", endings.settle, 2)
    with place.open() as ledger:
        ledger.write_session("s", batches.open_batch, 4, 5, b"t", {ATHENS: 100})
        release(ledger, 4, Charge(ATHENS, 40, 3))


@pytest.fixture
def old(place: Place) -> Place:
    fill(place)
    return place


def looking(place: Place, look: Callable[[Connection], object]) -> object:
    storage = open_storage(place.where)
    try:
        with storage.read() as connection:
            return look(connection)
    finally:
        storage.close()


def checkpoint(place: Place) -> checkpoints.Checkpoint:
    found = looking(place, checkpoints.load)
    assert isinstance(found, checkpoints.Checkpoint)
    return found


def whole(place: Place) -> None:
    """Compare every table with the whole log, as `audit verify` does."""
    looking(place, lambda connection: integrity.check_tables(connection, integrity.chain(connection)))


def replaced(place: Place, made: checkpoints.Checkpoint, seal: checkpoints.Seal = SEAL) -> None:
    """Put a checkpoint in place of the stored one."""
    storage = open_storage(place.where)
    signed = seal.sign(made.payload()).SerializeToString()
    with storage.write() as connection:
        values = {"sequence": made.sequence, "state": made.state, "signed": signed}
        connection.execute(table.update().values(values))
    storage.close()


def altered(place: Place, row: int) -> None:
    """Alter one row of the audit log."""
    place.execute(f"UPDATE audit SET payload = replace(payload, 'kind', 'kine') WHERE sequence = {row}")  # noqa: S608


def test_a_start_reads_the_log_from_the_checkpoint_on(old: Place) -> None:
    altered(old, 3)
    with old.open() as ledger:
        assert amounts(ledger) == (100, 0)
    assert "audit row 3 was altered" in refused(ErrorCode.LEDGER_TAMPERED, lambda: whole(old)).message


def test_without_a_checkpoint_it_reads_the_whole_log(old: Place) -> None:
    altered(old, 3)
    old.execute("DELETE FROM checkpoints")
    assert "audit row 3 was altered" in refused(ErrorCode.LEDGER_TAMPERED, old.open).message


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("UPDATE units SET spent = spent - 1 WHERE party = 'athens'", "unit athens/all/record"),
        ("UPDATE units SET budget = budget + 1 WHERE party = 'corinth'", "unit corinth/all/record"),
        ("UPDATE unit_events SET reason = 'other'", "unit athens/all/record"),
        ("UPDATE charges SET worst_case = 59 WHERE worst_case = 60", "charges of batch s/1"),
        ("DELETE FROM charges WHERE worst_case = 50", "charges of batch s/1"),
        ("UPDATE charges SET worst_case = 39 WHERE worst_case = 40", "charges of batch s/4"),
        ("UPDATE charges SET spent = 99 WHERE worst_case = 40", "charges of batch s/4"),
        ("UPDATE batches SET answers = ticket WHERE batch_id = 4", "batch s/4"),
        ("UPDATE sessions SET state = 'open' WHERE session_id = 't'", "session t"),
        ("UPDATE sessions SET asked = 0 WHERE session_id = 's'", "session s"),
        ("DELETE FROM batches WHERE batch_id = 2", "batch s/2"),
        ("DELETE FROM sessions WHERE session_id = 't'", "session t"),
        ("UPDATE meta SET epoch = 1", "meta"),
    ],
)
@pytest.mark.heavy
def test_what_is_edited_is_named_at_the_next_start(old: Place, statement: str, named: str) -> None:
    if statement.startswith("DELETE FROM batches"):
        old.execute("DELETE FROM charges WHERE entry = 2")
    old.execute(statement)
    assert named in refused(ErrorCode.LEDGER_TAMPERED, old.open).message


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE batches SET answers = ticket WHERE batch_id = 1",
        "UPDATE charges SET worst_case = 61 WHERE worst_case = 60 OR entry = 1 AND worst_case = 61",
        "UPDATE charges SET spent = 61 WHERE worst_case = 60",
    ],
)
@pytest.mark.heavy
def test_contents_of_what_is_over_are_held_against_the_log_by_verification(
    old: Place, statement: str
) -> None:
    """The second one is made good by another charge of the unit, so that its sum stays."""
    if "OR entry" in statement:
        with old.open() as ledger:
            assert amounts(ledger) == (100, 0)
        old.execute("UPDATE charges SET worst_case = 39 WHERE worst_case = 40")
    old.execute(statement)
    old.open().close()
    assert "batch s/1" in refused(ErrorCode.LEDGER_TAMPERED, lambda: whole(old)).message


def test_an_edited_row_after_the_checkpoint_is_named(old: Place) -> None:
    row = checkpoint(old).sequence + 2
    altered(old, row)
    assert f"audit row {row} was altered" in refused(ErrorCode.LEDGER_TAMPERED, old.open).message


def lowered(found: checkpoints.Checkpoint) -> checkpoints.Checkpoint:
    """Return the same, with less spent by a unit that nothing was charged to since."""
    replayed = checkpoint_state.decode(found.state)
    replayed.accounts.units[CORINTH].spent -= 10
    return checkpoints.Checkpoint(
        found.ledger_id, found.sequence, found.hash, checkpoint_state.encode(replayed)
    )


def test_a_forged_checkpoint_lowers_no_balance(old: Place) -> None:
    unsigned = checkpoints.Seal(lambda payload: common_pb2.Signed(payload=payload), SEAL.verify)
    replaced(old, lowered(checkpoint(old)), unsigned)
    old.execute("UPDATE units SET spent = spent - 10 WHERE party = 'corinth'")
    assert "unit corinth/all/record" in refused(ErrorCode.LEDGER_TAMPERED, old.open).message


def test_a_state_that_was_edited_under_its_signature_is_not_believed(old: Place) -> None:
    state = lowered(checkpoint(old)).state
    storage = open_storage(old.where)
    with storage.write() as connection:
        connection.execute(table.update().values(state=state))
    storage.close()
    old.execute("UPDATE units SET spent = spent - 10 WHERE party = 'corinth'")
    assert "unit corinth/all/record" in refused(ErrorCode.LEDGER_TAMPERED, old.open).message


@pytest.mark.heavy
def test_an_older_checkpoint_takes_a_longer_reading(old: Place) -> None:
    older = checkpoint(old)
    old.open().close()
    assert checkpoint(old).sequence > older.sequence
    replaced(old, older)
    with old.open() as ledger:
        assert amounts(ledger) == (100, 0)
    replaced(old, older)
    old.execute("UPDATE units SET spent = 60 WHERE party = 'athens'")
    assert "unit athens/all/record" in refused(ErrorCode.LEDGER_TAMPERED, old.open).message


@pytest.mark.heavy
def test_a_checkpoint_of_another_ledger_is_not_believed(old: Place, tmp_path: Path) -> None:
    other = Place(tmp_path / "other.db")
    fill(other)
    replaced(old, checkpoint(other))
    altered(old, 3)
    assert "audit row 3 was altered" in refused(ErrorCode.LEDGER_TAMPERED, old.open).message


def test_a_signed_state_that_this_version_does_not_know_takes_the_whole_log(old: Place) -> None:
    found = checkpoint(old)
    state = json.loads(found.state)
    state["units"]["columns"][0] = "unknown"
    replaced(old, replace(found, state=json.dumps(state)))
    with old.open() as ledger:
        assert amounts(ledger) == (100, 0)
    replaced(old, replace(found, state=json.dumps(state)))
    altered(old, 3)
    assert "audit row 3 was altered" in refused(ErrorCode.LEDGER_TAMPERED, old.open).message


def test_a_checkpoint_of_a_later_format_takes_the_whole_log(old: Place) -> None:
    replaced(old, replace(checkpoint(old), format=checkpoint_state.FORMAT + 1))
    assert looking(old, checkpoints.load) is None
    altered(old, 3)
    assert "audit row 3 was altered" in refused(ErrorCode.LEDGER_TAMPERED, old.open).message


def rechained(connection: Connection) -> None:
    """Recompute the log's hashes, without the guardian's key."""
    previous = audit.GENESIS
    for row in connection.execute(select(audit_table).order_by(audit_table.c.sequence)).all():
        digest = audit.row_hash(row.sequence, row.time_unix_ms, previous, row.payload)
        same = audit_table.update().where(audit_table.c.sequence == row.sequence)
        connection.execute(same.values(previous=previous, hash=digest))
        previous = digest


def test_a_log_rewritten_before_the_checkpoint_is_found(old: Place) -> None:
    old.execute("UPDATE audit SET payload = replace(payload, ',60]', ',10]')")
    old.execute("UPDATE units SET spent = spent - 50 WHERE party = 'athens'")
    storage = open_storage(old.where)
    with storage.write() as connection:
        rechained(connection)
    storage.close()
    message = refused(ErrorCode.LEDGER_TAMPERED, old.open).message
    assert f"audit row {checkpoint(old).sequence} is not the one that a guardian signed" in message


@pytest.mark.heavy
def test_a_log_that_ends_before_the_checkpoint_is_found(old: Place) -> None:
    row = checkpoint(old).sequence
    old.execute(f"DELETE FROM audit WHERE sequence >= {row}")  # noqa: S608
    assert f"audit row {row} is not the one" in refused(ErrorCode.LEDGER_TAMPERED, old.open).message


@pytest.mark.heavy
def test_a_start_that_fails_leaves_the_checkpoint_before(old: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    before = checkpoint(old)
    with monkeypatch.context() as broken:
        broken.setattr(audit, "append", lambda *_, **__: (_ for _ in ()).throw(OSError("power")))
        with pytest.raises(OSError, match="power"):
            old.open()
    assert checkpoint(old) == before
    with old.open() as ledger:
        assert amounts(ledger) == (100, 0)


def replayed(place: Place, last: int) -> str:
    """Return the state that the whole log adds up to at its row `last`."""

    def look(connection: Connection) -> str:
        replayed = ReplayedLedger()
        rows = [row for row in integrity.chain(connection) if row.sequence <= last]
        integrity.replay(replayed, rows)
        return checkpoint_state.encode(replayed)

    return str(looking(place, look))


@pytest.mark.heavy
def test_a_guardian_that_runs_writes_checkpoints_of_what_is_under_way(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each says what the whole log says at its row, whatever batches are doing then."""
    monkeypatch.setattr(checkpoints, "ROWS", 1)
    ledger = with_budgets(place.open())
    steps: list[Callable[[], object]] = [
        lambda: ledger.write_session("s", batches.open_batch, 1, 5, b"t", {ATHENS: 100, CORINTH: 100}),
        lambda: ledger.write_session(
            "s", releases.check, 1, DIGEST, [Charge(ATHENS, 10, 1), Charge(CORINTH, 0, 0)]
        ),
        lambda: ledger.write_session("s", batches.open_batch, 2, 5, b"t", {ATHENS: 100}),
        lambda: ledger.write_session("s", evaluations.record, 2, "athens", {ATHENS: 90}),
        lambda: release(ledger, 1, Charge(ATHENS, 60, 3), Charge(CORINTH, 50, 4)),
        lambda: ledger.write_session("s", endings.settle, 2),
        lambda: ledger.write_session("s", endings.close),
    ]
    for step in steps:
        step()
        before = checkpoint(place).sequence
        ledger.renew_lease()
        found = checkpoint(place)
        assert found.sequence > before
        assert found.state == replayed(place, found.sequence)
    ledger.close()
    with place.open() as again:
        assert amounts(again) == (160, 0)
    whole(place)


@pytest.mark.heavy
def test_between_checkpoints_renewals_write_none(old: Place) -> None:
    ledger = old.open()
    before = checkpoint(old)
    ledger.renew_lease()
    assert checkpoint(old) == before


def test_a_copy_of_the_file_starts_from_its_checkpoint(tmp_path: Path) -> None:
    place = Place(tmp_path / "ledger.db")
    fill(place)
    shutil.copy(tmp_path / "ledger.db", tmp_path / "copy.db")
    with Place(tmp_path / "copy.db").open() as ledger:
        assert amounts(ledger) == (100, 0)
