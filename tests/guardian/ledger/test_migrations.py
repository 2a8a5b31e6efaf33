"""A ledger of an older version is brought to a later one with everything in it; a new one has its tables."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Inspector, inspect, select

from ostraka.common.errors import ErrorCode
from ostraka.guardian.ledger import (
    BudgetTerms,
    Charge,
    Cipher,
    LedgerReader,
    UnitKey,
    creation,
    migrate,
    migrations,
    registrations,
)
from ostraka.guardian.ledger.log import audit, integrity
from ostraka.guardian.ledger.members import parties
from ostraka.guardian.ledger.sessions import batches, endings, sessions
from ostraka.guardian.ledger.store import schema, schema_version
from ostraka.guardian.ledger.store.storage import open_storage
from ostraka.guardian.ledger.units import balances, budgets, history
from tests.guardian.ledger import later_version
from tests.guardian.ledger.places import Place
from tests.guardian.ledger.support import (
    ATHENS,
    BUDGET,
    CORINTH,
    DELTA,
    ORDER,
    amounts,
    budget_of,
    cipher,
    clock,
    open_session,
    refused,
    release,
    sign,
)

Install = Callable[[], None]


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Install:
    """Make the code that of a later version."""
    return lambda: later_version.install(monkeypatch, tmp_path / "migrations")


@pytest.fixture
def older(place: Place, later: Install) -> Place:
    """Return a place with a ledger of this version, opened by code of a later one."""
    write(place)
    later()
    return place


def write(place: Place) -> None:
    """Two units, a closed session and an open one with a released, a dead and a ticketed batch."""
    ledger = place.open()
    for unit, enforce in ((ATHENS, "worst_case"), (CORINTH, "data_dependent")):
        for epsilon in (BUDGET + 1, BUDGET):
            ledger.write(budgets.set_budget, unit, BudgetTerms(epsilon, DELTA, ORDER, enforce))
    ledger.write(registrations.register, "athens", b"m", b"s")
    for session in ("s", "t"):
        open_session(ledger, session)
    ledger.write_session("t", endings.close)
    for batch, size in ((1, 5), (2, 7), (3, 6)):
        ledger.write_session("s", batches.open_batch, batch, size, b"t", {ATHENS: 100})
    release(ledger, 1, Charge(ATHENS, 60, 1), Charge(CORINTH, 50, 2))
    ledger.write_session("s", endings.settle, 2)
    ledger.close()


def migrated(place: Place, key: Cipher | None = None) -> int:
    return migrate(place.where, clock=clock(), cipher=key or cipher(), sign_head=sign)


def test_the_migrations_end_with_this_version() -> None:
    scripts = ScriptDirectory(str(Path(migrations.__file__).parent))
    assert scripts.get_heads() == [schema.REVISION]
    assert len(list(scripts.walk_revisions())) == schema.SCHEMA_VERSION


def test_an_older_ledger_is_not_migrated_by_opening_it(older: Place) -> None:
    assert "guardian ledger migrate" in refused(ErrorCode.LEDGER_OLDER, older.open).message
    refused(ErrorCode.LEDGER_OLDER, lambda: LedgerReader.open_read_only(older.where))
    assert migrated(older) == later_version.VERSION
    assert older.open().read(audit.head)


def test_a_migration_is_in_the_log_and_raises_the_fence(older: Place) -> None:
    fence = fence_of(older)
    migrated(older)
    assert fence_of(older) == fence + 1
    row = list(audit.audit_rows(older.open()))[-2]
    before, after = schema.SCHEMA_VERSION, later_version.VERSION
    assert row.payload == f'{{"after":{after},"before":{before},"fence":{fence + 1},"kind":"migrated"}}'


def test_a_guardian_of_the_older_version_that_still_runs_is_fenced(place: Place, later: Install) -> None:
    write(place)
    running = place.open()
    running.write_session("s", batches.open_batch, 4, 6, b"t", {ATHENS: 100})
    later()
    migrated(place)
    refused(ErrorCode.LEDGER_FENCED, running.renew_lease)
    refused(ErrorCode.LEDGER_FENCED, lambda: release(running, 4, Charge(ATHENS, 40, 3)))
    ledger = place.open()
    assert amounts(ledger, ATHENS) == (60, 0)
    assert ledger.write_session("s", endings.settle, 4) is None


def fence_of(place: Place) -> int:
    storage = open_storage(place.where)
    with storage.read() as connection:
        fence = int(connection.execute(select(schema.meta.c.fence)).scalar_one())
    storage.close()
    return fence


@pytest.mark.heavy
def test_a_migrated_ledger_has_everything_and_goes_on(older: Place) -> None:
    older.time.advance(60)
    migrated(older)
    ledger = older.open()
    assert amounts(ledger, ATHENS) == (60, 0)
    assert ledger.read(balances.data_dependent_totals) == {ATHENS: 1, CORINTH: 2}
    assert ledger.write_session("s", endings.settle, 1) == b"answers"
    assert ledger.write_session("s", endings.settle, 3) is None
    assert [(s.session_id, s.state, s.asked, s.answered) for s in ledger.read(sessions.summaries)] == [
        ("s", "open", 5, 1),
        ("t", "closed", 0, 0),
    ]
    assert [(p.site, p.state, p.reconciled) for p in ledger.read(parties.all_parties)] == [
        ("athens", "active", True)
    ]
    assert [(e.kind, e.epsilon, e.spent) for e in ledger.read(history.events_of, CORINTH)] == [
        ("set", BUDGET + 1, 0),
        ("lowered", BUDGET, 0),
        ("charged", BUDGET, 50),
    ]
    ledger.write_session("s", batches.open_batch, 4, 25, b"t", {ATHENS: 100})
    release(ledger, 4, Charge(ATHENS, 40, 3), Charge(CORINTH, 1, 1))
    assert amounts(ledger, ATHENS) == (100, 0)
    assert ledger.read(balances.data_dependent_totals) == {ATHENS: 4, CORINTH: 3}
    assert (
        ledger.write(
            budgets.set_budget,
            UnitKey("thebes", "all", "record"),
            BudgetTerms(1.0, DELTA, ORDER, "worst_case"),
        ).spent
        == 0
    )
    ledger.close()
    assert budget_of(older.open()).state == "active"


def test_a_current_ledger_is_left_as_it_is(place: Place) -> None:
    head = place.open().read(audit.head)
    assert migrated(place) == schema.SCHEMA_VERSION
    assert place.open().read(audit.head).sequence == head.sequence + 1


def test_an_older_ledger_with_another_key_or_edited_stays_as_it_is(older: Place) -> None:
    refused(ErrorCode.LEDGER_TAMPERED, lambda: migrated(older, Cipher(b"k" * 32)))
    storage = open_storage(older.where)
    with storage.write() as connection:
        connection.exec_driver_sql("UPDATE units SET spent = 59 WHERE party = 'athens'")
    assert "unit athens/all/record" in refused(ErrorCode.LEDGER_TAMPERED, lambda: migrated(older)).message
    with storage.read() as connection:
        assert schema_version.read_version(connection, "it") == schema.SCHEMA_VERSION
        assert set(inspect(connection).get_table_names()) == set(schema.metadata.tables)
    storage.close()


def test_what_is_not_there_is_not_migrated(tmp_path: Path, postgres_url: str) -> None:
    for where in (tmp_path / "ledger.db", postgres_url):
        refused(ErrorCode.LEDGER_MISSING, lambda: migrated(Place(where)))  # noqa: B023
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("noted", [schema.REVISION, later_version.REVISION])
@pytest.mark.heavy
def test_migrations_make_the_tables_of_a_new_ledger(older: Place, noted: str) -> None:
    """Whatever revision Alembic finds: the ledger's own schema version counts."""
    from alembic.autogenerate import compare_metadata  # takes long
    from alembic.migration import MigrationContext

    storage = open_storage(older.where)
    with storage.write() as connection:
        connection.execute(schema.alembic_version.update().values(version_num=noted))
    migrated(older)
    with storage.write() as connection:
        later = later_version.tables()
        assert compare_metadata(MigrationContext.configure(connection), later) == []
        migrated_tables = described(inspect(connection))
        assert revision_of(connection) == later_version.REVISION
        later.drop_all(connection)
        creation.create_tables(connection)
        assert migrated_tables == described(inspect(connection))
        assert revision_of(connection) == later_version.REVISION
    storage.close()


def revision_of(connection: Connection) -> str:
    return str(connection.execute(select(schema.alembic_version.c.version_num)).scalar_one())


def described(tables: Inspector) -> dict[str, Any]:
    """Every table's columns, keys, checks and indexes."""
    return {
        name: {
            "columns": sorted(
                (c["name"], str(c["type"]), c["nullable"], str(c["default"]))
                for c in tables.get_columns(name)
            ),
            "key": tables.get_pk_constraint(name)["constrained_columns"],
            "foreign": sorted(str(key) for key in tables.get_foreign_keys(name)),
            "unique": sorted(str(u["column_names"]) for u in tables.get_unique_constraints(name)),
            "checks": sorted(check["sqltext"] for check in tables.get_check_constraints(name)),
            "indexes": sorted(str((i["name"], i["column_names"])) for i in tables.get_indexes(name)),
        }
        for name in tables.get_table_names()
    }


def test_a_migration_that_fails_changes_nothing(older: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(integrity, "chain", lambda _: (_ for _ in ()).throw(OSError("power")))
        with pytest.raises(OSError, match="power"):
            migrated(older)
    assert migrated(older) == later_version.VERSION
    assert budget_of(older.open()).spent == 60
