"""A ledger in PostgreSQL: the suite, and what only a server can do."""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import psycopg
import pytest
from sqlalchemy import make_url, text

from ostraka.common.errors import ErrorCode
from ostraka.guardian.ledger import Charge, Ledger, LedgerReader
from ostraka.guardian.ledger.log import audit
from ostraka.guardian.ledger.sessions import batches, recorded_charges
from ostraka.guardian.ledger.store import postgres
from ostraka.guardian.ledger.store.storage import ConflictError, open_storage
from ostraka.guardian.ledger.transaction import Transaction
from tests.guardian.ledger.suite import LedgerSuite
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


class TestPostgres(LedgerSuite):
    @pytest.fixture
    def where(self, postgres_url: str) -> str:
        return postgres_url


Raw = psycopg.Connection[tuple[object, ...]]


def opened(url: str) -> Ledger:
    return Ledger.open(url, clock=clock(), cipher=cipher(), sign_head=sign, seal=SEAL, busy_timeout_s=0.0)


@pytest.fixture
def ledger(postgres_url: str) -> Iterator[Ledger]:
    with with_budgets(opened(postgres_url)) as made:
        made.write_session("s", batches.open_batch, 1, 5, b"t", {ATHENS: 100, CORINTH: 100})
        release(made, 1, Charge(ATHENS, 60, 3), Charge(CORINTH, 60, 3))
        yield made


@pytest.fixture
def raw(postgres_url: str) -> Iterator[Raw]:
    with psycopg.connect(postgres_url.replace("+psycopg", ""), autocommit=True) as connection:
        yield connection


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE units SET spent = budget + 1",
        "UPDATE units SET reserved = budget",
        "UPDATE units SET reserved = -1",
        "UPDATE units SET state = 'gone'",
        "UPDATE units SET party = 'athens'",
        "UPDATE batches SET answers = NULL",
        "UPDATE batches SET session_id = 'unknown'",
        "UPDATE charges SET worst_case = -1",
        "UPDATE sessions SET state = 'paused'",
        "UPDATE sessions SET asked = -1",
        "UPDATE meta SET id = 2",
    ],
)
def test_the_database_refuses_what_may_not_be(ledger: Ledger, raw: Raw, statement: str) -> None:
    with pytest.raises(psycopg.IntegrityError):
        raw.execute(statement.encode())


def test_a_database_that_may_forget_is_refused(raw: Raw, postgres_url: str) -> None:
    raw.execute(f"ALTER DATABASE {raw.info.dbname} SET synchronous_commit = off".encode())
    assert "synchronous_commit" in refused(ErrorCode.CONFIG_INVALID, lambda: opened(postgres_url)).message
    refused(ErrorCode.CONFIG_INVALID, lambda: LedgerReader.open_read_only(postgres_url))


def test_a_locked_row_is_waited_for_a_while(ledger: Ledger, raw: Raw) -> None:
    with raw.transaction():
        raw.execute("SELECT * FROM units FOR UPDATE")
        refused(
            ErrorCode.LEDGER_LOCKED,
            lambda: ledger.write_session("s", batches.open_batch, 2, 1, b"t", {ATHENS: 1}),
        )
        assert amounts(ledger) == (60, 0)
    ledger.write_session("s", batches.open_batch, 2, 1, b"t", {ATHENS: 1})


def test_a_deadlock_is_a_conflict_that_one_side_survives(postgres_url: str, ledger: Ledger) -> None:
    storage = open_storage(postgres_url, busy_timeout_s=60.0)
    both_hold_one = Barrier(2)

    def lock(order: tuple[int, int]) -> bool:
        statement = text("SELECT 1 FROM units WHERE id = :unit FOR UPDATE")
        try:
            with storage.write() as connection:
                connection.execute(statement, {"unit": order[0]})
                both_hold_one.wait()
                connection.execute(statement, {"unit": order[1]})
        except ConflictError:
            return False
        return True

    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(lock, [(1, 2), (2, 1)]))
    storage.close()
    assert sorted(done) == [False, True]


def test_connections_that_were_cut_are_made_again(ledger: Ledger, raw: Raw) -> None:
    before = ledger.recall(audit.head)
    raw.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    assert ledger.recall(audit.head) == before
    ledger.write_session("s", batches.open_batch, 2, 1, b"t", {ATHENS: 1})
    assert amounts(ledger) == (60, 1)


def test_a_connection_that_is_cut_in_a_transaction_undoes_it(ledger: Ledger, raw: Raw) -> None:
    def cut(tx: Transaction) -> None:
        tx.connection.exec_driver_sql("UPDATE units SET spent = 0")
        tx.connection.exec_driver_sql("SELECT pg_terminate_backend(pg_backend_pid())")

    refused(ErrorCode.LEDGER_UNREACHABLE, lambda: ledger.write(cut))
    assert amounts(ledger) == (60, 0)


def test_a_server_that_is_not_there(tmp_path: object) -> None:
    url = f"postgresql+psycopg://someone:secret@/ledger?host={tmp_path}"
    error = refused(ErrorCode.LEDGER_UNREACHABLE, lambda: opened(url))
    assert "secret" not in error.message


def test_a_database_that_is_not_there(postgres_url: str) -> None:
    refused(ErrorCode.LEDGER_UNREACHABLE, lambda: opened(postgres_url.replace("/ledger_", "/no_ledger_")))


@pytest.mark.parametrize(
    "url", ["mysql://h/d", "sqlite:///ledger.db", "ledger.db", "postgresql+asyncpg://h/d"]
)
def test_other_urls_are_refused(url: str) -> None:
    assert "postgresql+psycopg://" in refused(ErrorCode.CONFIG_INVALID, lambda: opened(url)).message


def test_without_psycopg_one_is_told_what_to_install(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    error = refused(ErrorCode.CONFIG_INVALID, lambda: opened(postgres_url))
    assert "pip install 'ostraka[postgres]'" in error.message


def test_a_database_that_is_no_ledger(raw: Raw, postgres_url: str) -> None:
    refused(ErrorCode.LEDGER_MISSING, lambda: LedgerReader.open_read_only(postgres_url))
    raw.execute("CREATE TABLE notes (text text)")
    refused(ErrorCode.LEDGER_MISSING, lambda: opened(postgres_url))


def test_a_newer_ledger(ledger: Ledger, raw: Raw, postgres_url: str) -> None:
    raw.execute("UPDATE meta SET schema_version = 99")
    refused(ErrorCode.LEDGER_NEWER, lambda: opened(postgres_url))


def test_a_reader_changes_nothing(ledger: Ledger, postgres_url: str) -> None:
    ledger.write_session("s", batches.open_batch, 2, 5, b"t", {ATHENS: 100})
    with LedgerReader.open_read_only(postgres_url, cipher=cipher()) as reader:
        assert amounts(reader) == (60, 100)
        assert [charge.data_dependent for charge in reader.read(recorded_charges.charges)] == [3, 3]
        refused(ErrorCode.LEDGER_READ_ONLY, lambda: write(reader))


def write(reader: LedgerReader) -> None:
    with reader._storage.write() as connection:
        connection.exec_driver_sql("UPDATE units SET spent = 0")


def test_a_server_is_waited_for_so_long_and_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    """No engine is made: libpq reads the limit, in whole seconds of two or more."""
    made: list[dict[str, Any]] = []
    monkeypatch.setattr(postgres, "create_engine", lambda url, **options: made.append(options))
    postgres._make_engine(make_url("postgresql+psycopg://127.0.0.1/ledger"), 1.0)
    assert made[0]["connect_args"]["connect_timeout"] == postgres._CONNECT_TIMEOUT_S
