"""SQLite files that cannot be used, and what the database itself refuses."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from ostraka.common.errors import ErrorCode
from ostraka.guardian.ledger import Charge, Cipher, Ledger, LedgerReader
from ostraka.guardian.ledger.sessions import batches, endings, recorded_charges
from ostraka.guardian.ledger.store.storage import open_storage
from ostraka.guardian.ledger.units import balances
from tests.guardian.ledger.support import (
    ATHENS,
    CORINTH,
    SEAL,
    amounts,
    cipher,
    clock,
    refused,
    release,
    sign,
    with_budgets,
)


def opened(path: Path, key: Cipher | None = None) -> Ledger:
    return Ledger.open(
        path, clock=clock(), cipher=key or cipher(), sign_head=sign, seal=SEAL, busy_timeout_s=0.0
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with with_budgets(opened(tmp_path / "ledger.db")) as ledger:
        ledger.write_session("s", batches.open_batch, 1, 5, b"t", {ATHENS: 100, CORINTH: 100})
        release(ledger, 1, Charge(ATHENS, 60, 3), Charge(CORINTH, 60, 3))
    return tmp_path / "ledger.db"


@pytest.fixture
def raw(path: Path) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA foreign_keys = ON")
    yield connection
    connection.close()


def test_a_new_ledger_is_its_owners_alone(path: Path) -> None:
    assert path.stat().st_mode & 0o777 == 0o600


def test_writes_are_durable_before_they_return(path: Path) -> None:
    storage = open_storage(path)
    with storage.write() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2
        assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar() == 1
    storage.close()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE units SET spent = budget + 1",
        "UPDATE units SET reserved = budget",
        "UPDATE units SET reserved = -1",
        "UPDATE units SET delta = 1",
        "UPDATE units SET renyi_order = 1",
        "UPDATE units SET adjacency = 'both'",
        "UPDATE units SET party = 'athens'",
        "UPDATE units SET enforce = 'data_dependent', reserved = 1",
        "UPDATE batches SET answers = NULL",
        "UPDATE batches SET state = 'ticketed'",
        "UPDATE batches SET session_id = 'unknown'",
        "UPDATE batches SET answered = 6",
        "INSERT INTO batches SELECT 2, session_id, batch_id, 0, ticket, 'dead', 0, NULL, NULL, 0, NULL, NULL,"
        " NULL FROM batches",
        "UPDATE batches SET checked_unix_ms = 1",
        "UPDATE charges SET checked = worst_case + 1",
        "UPDATE charges SET worst_case = -1",
        "UPDATE charges SET unit = 9",
        "UPDATE sessions SET state = 'paused'",
        "UPDATE meta SET id = 2",
    ],
)
def test_the_database_refuses_what_may_not_be(raw: sqlite3.Connection, statement: str) -> None:
    with pytest.raises(sqlite3.IntegrityError):
        raw.execute(statement)


def test_a_locked_ledger(path: Path, raw: sqlite3.Connection) -> None:
    with opened(path) as ledger:
        raw.execute("BEGIN IMMEDIATE")
        refused(ErrorCode.LEDGER_LOCKED, lambda: ledger.write_session("s", endings.settle, 2))
        refused(ErrorCode.LEDGER_LOCKED, lambda: opened(path))
        assert amounts(ledger) == (60, 0)
        raw.execute("ROLLBACK")
        ledger.write_session("s", endings.settle, 2)


def test_a_read_only_ledger(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connect = sqlite3.connect
    monkeypatch.setattr(
        sqlite3, "connect", lambda name, **options: connect(name.replace("mode=rw", "mode=ro"), **options)
    )
    error = refused(ErrorCode.LEDGER_READ_ONLY, lambda: opened(path))
    assert "permissions" in error.message


def test_a_full_disk_in_the_middle_of_a_release(path: Path) -> None:
    long = b"x" * 100_000
    with opened(path) as ledger:
        ledger.write_session("s", batches.open_batch, 2, 5, b"t", {ATHENS: 100})

        def limit(pages: int) -> None:
            with ledger._storage.read() as connection:
                connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")

        limit(1)
        for _ in range(2):
            refused(ErrorCode.STORAGE_FULL, lambda: release(ledger, 2, Charge(ATHENS, 60, 3), answers=long))
        assert amounts(ledger) == (60, 100)
        limit(10_000)
        assert release(ledger, 2, Charge(ATHENS, 60, 3), answers=long) == long
        assert amounts(ledger) == (120, 0)
    opened(path).close()


@pytest.mark.parametrize("place", ["missing/ledger.db", "."])
def test_a_ledger_that_cannot_be_made(tmp_path: Path, place: str) -> None:
    refused(ErrorCode.LEDGER_READ_ONLY, lambda: opened(tmp_path / place))


def test_a_newer_ledger(path: Path, raw: sqlite3.Connection) -> None:
    raw.execute("UPDATE meta SET schema_version = 99")
    refused(ErrorCode.LEDGER_NEWER, lambda: opened(path))
    refused(ErrorCode.LEDGER_NEWER, lambda: LedgerReader.open_read_only(path))


def test_a_file_that_is_no_ledger(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    path.write_bytes(b"not a database" * 1000)
    refused(ErrorCode.LEDGER_TAMPERED, lambda: opened(path))
    path.unlink()
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE notes (text)")
    other.close()
    refused(ErrorCode.LEDGER_MISSING, lambda: opened(path))
    assert path.stat().st_size > 0


def test_a_damaged_ledger(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    path.write_bytes(content)
    refused(ErrorCode.LEDGER_TAMPERED, lambda: opened(path))


def test_a_missing_ledger_is_not_made_by_reading(tmp_path: Path) -> None:
    refused(ErrorCode.LEDGER_MISSING, lambda: LedgerReader.open_read_only(tmp_path / "ledger.db"))
    assert not list(tmp_path.iterdir())


def test_a_guardian_does_not_serve_from_edited_balances(path: Path, raw: sqlite3.Connection) -> None:
    raw.execute("UPDATE units SET spent = 0 WHERE party = 'athens'")
    error = refused(ErrorCode.LEDGER_TAMPERED, lambda: opened(path))
    assert "unit athens/all/record" in error.message


def test_a_ledger_does_not_open_with_another_key(path: Path) -> None:
    error = refused(ErrorCode.LEDGER_TAMPERED, lambda: opened(path, Cipher(b"k" * 32)))
    assert "ledger.key" in error.message
    with opened(path) as ledger:
        assert amounts(ledger) == (60, 0)


def test_reading_does_not_disturb_a_guardian(path: Path) -> None:
    with opened(path) as ledger, LedgerReader.open_read_only(path) as reader:
        ledger.write_session("s", batches.open_batch, 2, 5, b"t", {ATHENS: 100})
        assert amounts(reader) == (60, 100)
        release(ledger, 2, Charge(ATHENS, 60, 3))
        assert [charge.data_dependent for charge in reader.read(recorded_charges.charges)] == [
            None,
            None,
            None,
        ]
        with pytest.raises(ValueError, match="cipher"):
            reader.read(balances.data_dependent_totals)


def test_reading_with_the_key_shows_data_dependent_amounts(path: Path) -> None:
    with LedgerReader.open_read_only(path, cipher=cipher()) as reader:
        assert [charge.data_dependent for charge in reader.read(recorded_charges.charges)] == [3, 3]


def test_encrypted_amounts_are_bound_to_their_rows(path: Path, raw: sqlite3.Connection) -> None:
    sealed = raw.execute("SELECT data_dependent FROM units ORDER BY id").fetchall()
    assert {len(value) for (value,) in sealed} == {24 + 16 + 16}
    raw.execute("UPDATE units SET data_dependent = ? WHERE id = 1", sealed[1])
    raw.execute(
        "UPDATE charges SET data_dependent = (SELECT data_dependent FROM charges WHERE unit = 2)"
        " WHERE unit = 1"
    )
    with opened(path) as ledger:
        refused(ErrorCode.LEDGER_TAMPERED, lambda: ledger.read(balances.data_dependent_totals))
        refused(ErrorCode.LEDGER_TAMPERED, lambda: ledger.read(recorded_charges.charges))


def test_an_older_total_does_not_pass_for_a_newer(path: Path, raw: sqlite3.Connection) -> None:
    (before,) = raw.execute("SELECT data_dependent FROM units WHERE id = 1").fetchone()
    with opened(path) as ledger:
        ledger.write_session("s", batches.open_batch, 2, 5, b"t", {ATHENS: 100})
        release(ledger, 2, Charge(ATHENS, 60, 3))
        raw.execute("UPDATE units SET data_dependent = ? WHERE id = 1", (before,))
        ledger.write_session("s", batches.open_batch, 3, 5, b"t", {ATHENS: 100})
        refused(ErrorCode.LEDGER_TAMPERED, lambda: release(ledger, 3, Charge(ATHENS, 60, 3)))
        assert amounts(ledger) == (120, 100)
