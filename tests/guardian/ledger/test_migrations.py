"""A ledger of an older version is brought to this one with everything in it; a new one has its tables."""

import json
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, Inspector, insert, inspect, select

from ostraka.common.errors import ErrorCode
from ostraka.guardian.ledger import Charge, Cipher, Ledger, LedgerReader, audit, creation, integrity, migrate
from ostraka.guardian.ledger.audit import sha256
from ostraka.guardian.ledger.migrate import upgrade
from ostraka.guardian.ledger.migrations import first
from ostraka.guardian.ledger.schema import SCHEMA_VERSION, meta, metadata
from ostraka.guardian.ledger.storage import open_storage
from ostraka.guardian.ledger.transaction import Transaction
from tests.guardian.ledger.places import Place
from tests.guardian.ledger.support import (
    ATHENS,
    BUDGET,
    CORINTH,
    DELTA,
    ORDER,
    START,
    amounts,
    budget_of,
    cipher,
    clock,
    refused,
    release,
    sign,
)

NOW = int(START * 1000)
AMOUNT = 10**15
ID = bytes(16)


def write_first_version(connection: Connection) -> None:
    """Two units, a closed session and an open one with a released, a dead and a ticketed batch."""
    upgrade(connection, 0, to=1)
    connection.exec_driver_sql("DROP TABLE alembic_version")
    write = _Writer(connection)
    sealed = cipher().seal(0, "key", ID.hex())
    write.row(first.meta, id=1, schema_version=1, ledger_id=ID, fence=1, key_check=sealed)
    write.log("created", ledger=ID.hex())
    write.log("opened", fence=1, dead=[])
    for unit, number, spent, enforce in (
        (ATHENS, 1, 60, "worst_case"),
        (CORINTH, 2, 50, "data_dependent"),
    ):
        terms = {"epsilon": BUDGET, "delta": DELTA, "enforce": enforce, "budget": AMOUNT}
        write.row(
            first.units,
            **terms,
            id=number,
            party=unit.party,
            group_name=unit.group,
            adjacency=unit.adjacency,
            renyi_order=ORDER,
            spent=spent,
            reserved=100 if unit == ATHENS else 0,
            overdrawn_to=0,
            data_dependent=cipher().seal(number, "unit", *unit, spent),
        )
        write.log("budget_set", unit=unit, order=ORDER, **terms | {"epsilon": BUDGET + 1})
        write.log("budget_set", unit=unit, order=ORDER, **terms)
    write.row(first.manifests, id=1, site="athens", manifest=b"m", signed=b"s", registered_unix_ms=NOW - 9)
    write.log("party_registered", site="athens", manifest_sha256=sha256(b"m"))
    for session in ("s", "t"):
        write.session(session, "open" if session == "s" else "closed")
    write.log("session_closed", session="t", dead=[])
    write.batch(1, 5, "ticketed")
    write.charged(1, [(ATHENS, 1, 60), (CORINTH, 2, 50)])
    write.batch(2, 7, "dead")
    write.log("batch_dead", session="s", batch=2)
    write.batch(3, 6, "ticketed")


class _Writer:
    """Writes rows as the first version did."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def row(self, into: Any, **values: Any) -> None:
        self.connection.execute(insert(into).values(**values))

    def log(self, kind: str, **details: Any) -> None:
        rows = self.connection.execute(select(first.audit).order_by(first.audit.c.sequence)).all()
        number, previous = len(rows) + 1, rows[-1].hash if rows else audit.GENESIS
        payload = json.dumps({"kind": kind, **details}, sort_keys=True, separators=(",", ":"))
        digest = audit.row_hash(number, NOW - 9, previous, payload)
        signed = sign(audit.head_payload(number, digest)).SerializeToString()
        values = {"sequence": number, "time_unix_ms": NOW - 9, "payload": payload}
        self.row(first.audit, **values, previous=previous, hash=digest, signed=signed)

    def session(self, name: str, state: str) -> None:
        digest = name.encode()
        values = {"querier": "querier", "queries": 30}
        self.row(
            first.sessions,
            **values,
            session_id=name,
            plan=b"plan",
            plan_digest=digest,
            grant_bytes=b"grant",
            state=state,
            opened_unix_ms=NOW - 9,
        )
        digests = {"plan_sha256": sha256(b"plan"), "grant_sha256": sha256(b"grant")}
        self.log("session_opened", session=name, plan_digest=digest.hex(), **values, **digests)

    def batch(self, number: int, size: int, state: str) -> None:
        values = {"session_id": "s", "batch_id": number, "size": size, "ticket": b"t"}
        self.row(first.batches, id=number, state=state, answered=0, **values)
        self.row(first.charges, batch=number, unit=1, reserved=100, worst_case=0)
        opened = {"size": size, "ticket_sha256": sha256(b"t"), "reserved": [[*ATHENS, 100]]}
        self.log("batch_opened", session="s", batch=number, **opened)

    def charged(self, number: int, charges: list[tuple[Any, int, int]]) -> None:
        released = {"request_digest": b"d" * 32, "answers": b"answers", "answered": 3}
        self.connection.execute(
            first.batches.update().values(state="released", released_unix_ms=NOW - 9, **released)
        )
        for unit, row, amount in charges:
            sealed = cipher().seal(row, "charge", "s", number, *unit)
            self.connection.execute(
                first.charges.delete().where(first.charges.c.batch == number, first.charges.c.unit == row)
            )
            reserved = 100 if unit == ATHENS else 0
            values = {"reserved": reserved, "worst_case": amount, "data_dependent": sealed}
            self.row(first.charges, batch=number, unit=row, **values)
        digests = {"request_sha256": (b"d" * 32).hex(), "answers_sha256": sha256(b"answers")}
        charged = [[*unit, amount] for unit, _, amount in charges]
        self.log("batch_released", session="s", batch=number, answered=3, charged=charged, **digests)


@pytest.fixture
def older(place: Place) -> Place:
    """A place with a ledger of the first version."""
    storage = open_storage(place.where)
    with storage.write() as connection:
        write_first_version(connection)
    storage.close()
    return place


def gone_on(place: Place, version: int) -> Ledger:
    """A ledger of an older version, an hour after a guardian used it last, migrated and opened."""
    storage = open_storage(place.where)
    with storage.write() as connection:
        write_first_version(connection)
        upgrade(connection, NOW, 1, to=version)
        connection.execute(meta.update().values(fence=2))
        transaction = Transaction(connection, NOW, cipher(), sign)
        transaction.record("migrated", before=1, after=version, fence=2)
    storage.close()
    place.time.advance(3600)
    assert migrated(place) == SCHEMA_VERSION
    return place.open()


def migrated(place: Place, key: Cipher | None = None) -> int:
    return migrate(place.where, clock=clock(), cipher=key or cipher(), sign_head=sign)


def test_an_older_ledger_is_not_migrated_by_opening_it(older: Place) -> None:
    assert "guardian ledger migrate" in refused(ErrorCode.LEDGER_OLDER, older.open).message
    refused(ErrorCode.LEDGER_OLDER, lambda: LedgerReader.open_read_only(older.where))
    assert migrated(older) == SCHEMA_VERSION


@pytest.mark.heavy
def test_a_migrated_ledger_has_everything_and_goes_on(older: Place) -> None:
    migrated(older)
    ledger = older.open()
    assert amounts(ledger, ATHENS) == (60, 0)
    assert ledger.data_dependent_totals() == {ATHENS: 1, CORINTH: 2}
    assert ledger.settle("s", 1) == b"answers"
    assert ledger.settle("s", 3) is None
    assert [(s.session_id, s.state, s.asked, s.answered) for s in ledger.sessions()] == [
        ("s", "open", 5, 3),
        ("t", "closed", 0, 0),
    ]
    assert [(p.site, p.state, p.reconciled) for p in ledger.parties()] == [("athens", "active", True)]
    assert [(e.kind, e.epsilon, e.spent) for e in ledger.history(CORINTH)] == [
        ("set", BUDGET + 1, 0),
        ("lowered", BUDGET, 0),
        ("charged", BUDGET, 50),
    ]
    ledger.open_batch("s", 4, 25, b"t", {ATHENS: 100})
    release(ledger, 4, Charge(ATHENS, 40, 3), Charge(CORINTH, 1, 1))
    assert amounts(ledger, ATHENS) == (100, 0)
    assert ledger.data_dependent_totals() == {ATHENS: 4, CORINTH: 3}
    assert ledger.set_budget("thebes", "all", "record", 1.0, DELTA, ORDER, "worst_case").spent == 0
    ledger.close()
    assert budget_of(older.open()).state == "active"


def test_periods_begin_with_the_migration(older: Place) -> None:
    migrated(older)
    ledger = older.open()
    ledger.renew([ATHENS], period_ms=1)
    assert budget_of(ledger).spent == 60
    older.time.advance(1.0)
    ledger.renew([ATHENS], period_ms=1)
    assert (budget_of(ledger).spent, budget_of(ledger).spent_before) == (0, 60)


def test_a_current_ledger_is_left_as_it_is(place: Place) -> None:
    head = place.open().head()
    assert migrated(place) == SCHEMA_VERSION
    assert place.open().head().sequence == head.sequence + 1


def test_an_older_ledger_with_another_key_or_edited_stays_as_it_is(older: Place) -> None:
    refused(ErrorCode.LEDGER_TAMPERED, lambda: migrated(older, Cipher(b"k" * 32)))
    storage = open_storage(older.where)
    with storage.write() as connection:
        connection.exec_driver_sql("UPDATE units SET spent = 59 WHERE id = 1")
    assert "unit athens/all/record" in refused(ErrorCode.LEDGER_TAMPERED, lambda: migrated(older)).message
    with storage.read() as connection:
        assert integrity.known_version(connection, "it") == 1
    storage.close()


def test_what_is_not_there_is_not_migrated(tmp_path: Path, postgres_url: str) -> None:
    for where in (tmp_path / "ledger.db", postgres_url):
        refused(ErrorCode.LEDGER_MISSING, lambda: migrated(Place(where)))  # noqa: B023
    assert not list(tmp_path.iterdir())


@pytest.mark.heavy
def test_migrations_make_the_tables_of_a_new_ledger(place: Place) -> None:
    from alembic.autogenerate import compare_metadata  # takes long
    from alembic.migration import MigrationContext

    storage = open_storage(place.where)
    with storage.write() as connection:
        upgrade(connection, NOW)
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
        migrated_tables = described(inspect(connection))
        metadata.drop_all(connection)
        creation.create_tables(connection)
        assert migrated_tables == described(inspect(connection))
    storage.close()


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
    assert migrated(older) == SCHEMA_VERSION
    assert budget_of(older.open()).spent == 60
