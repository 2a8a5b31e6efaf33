"""Parties, policies, replicas and epochs; consent, raises and renewals of budgets.

Tables that change are set aside, made anew and filled, which is the same on every backend and leaves no
default behind.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from alembic import op
from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Connection,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    func,
    insert,
    select,
    text,
)

from ostraka.guardian.ledger.migrations.first import audit
from ostraka.guardian.ledger.migrations.first import metadata as first

revision = "0002"
down_revision = "0001"

_AMOUNT_MAX = 2**62
_CHANGED = ("meta", "units", "manifests", "sessions", "batches", "charges")
_RowId = BigInteger().with_variant(Integer, "sqlite")
_FILLED = {
    "meta": {"epoch": "0"},
    "units": {
        "state": "'active'",
        "agreements": "0",
        "spent_before": "0",
        "period_started_unix_ms": ":now_ms",
    },
    "sessions": {
        "asked": "(SELECT coalesce(sum(size), 0) FROM old_batches"
        " WHERE old_batches.session_id = old_sessions.session_id AND old_batches.state <> 'dead')",
        "holder": "0",
    },
    "batches": {"opened_unix_ms": "coalesce(released_unix_ms, 0)"},
}
"""What new columns hold of rows that were there before, as SQL."""


def upgrade() -> None:
    """Change the tables and keep what is in them."""
    connection, now_ms = op.get_bind(), op.get_context().opts["now_ms"]
    tables = _tables()
    for name in _CHANGED:
        connection.execute(text(f"CREATE TABLE old_{name} AS SELECT * FROM {name}"))  # noqa: S608
    first.drop_all(connection, [first.tables[name] for name in _CHANGED])
    tables.create_all(connection, [table for table in tables.sorted_tables if table.name != audit.name])
    for table in tables.sorted_tables:
        if table.name in _CHANGED:
            _fill(connection, table, now_ms)
    for name in _CHANGED:
        connection.execute(text(f"DROP TABLE old_{name}"))
    _add_parties(connection)
    _add_events(connection, tables)
    connection.execute(text("UPDATE meta SET schema_version = 2"))


def _fill(connection: Connection, table: Table, now_ms: int) -> None:
    kept = {column.name: column.name for column in first.tables[table.name].columns}
    values = kept | _FILLED.get(table.name, {})
    statement = text(
        f"INSERT INTO {table.name} ({', '.join(values)})"  # noqa: S608
        f" SELECT {', '.join(values.values())} FROM old_{table.name}"
    )
    connection.execute(statement, {"now_ms": now_ms} if ":now_ms" in statement.text else {})
    number = table.autoincrement_column
    if connection.dialect.name == "postgresql" and number is not None:
        sequence = func.pg_get_serial_sequence(table.name, number.name)
        connection.execute(select(func.setval(sequence, select(func.max(number)).scalar_subquery())))


def _add_parties(connection: Connection) -> None:
    connection.execute(
        text(
            "INSERT INTO parties (site, state, reconciled_epoch, since_unix_ms)"
            " SELECT site, 'active', 0, min(registered_unix_ms) FROM manifests GROUP BY site"
        )
    )


def _add_events(connection: Connection, tables: MetaData) -> None:
    """Budgets that were set or lowered, from the log."""
    units = tables.tables["units"]
    key = (units.c.party, units.c.group_name, units.c.adjacency)
    ids = {tuple(row[1:]): row.id for row in connection.execute(select(units.c.id, *key))}
    events = [{"unit": ids[unit], **event} for unit, event in _events(connection) if unit in ids]
    if events:
        connection.execute(insert(tables.tables["unit_events"]), events)


def _events(connection: Connection) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    spent: dict[tuple[str, ...], int] = {}
    epsilon: dict[tuple[str, ...], float] = {}
    for row in connection.execute(select(audit).order_by(audit.c.sequence)):
        payload = json.loads(row.payload)
        if payload["kind"] == "batch_released":
            for *unit, amount in payload["charged"]:
                spent[tuple(unit)] = min(spent.get(tuple(unit), 0) + amount, _AMOUNT_MAX)
        elif payload["kind"] == "budget_set":
            key = tuple(payload["unit"])
            lowered = payload["epsilon"] < epsilon.get(key, 0.0)
            epsilon[key] = payload["epsilon"]
            yield (
                key,
                {
                    "time_unix_ms": row.time_unix_ms,
                    "kind": "lowered" if lowered else "set",
                    "epsilon": epsilon[key],
                    "spent": spent.get(key, 0),
                    "reason": "",
                },
            )


def _tables() -> MetaData:
    """The first version's tables with what this one adds."""
    tables = MetaData()
    for table in first.tables.values():
        table.to_metadata(tables)
    _extend(tables.tables["meta"], _count("epoch"))
    _extend(
        tables.tables["units"],
        Column("state", Text, CheckConstraint("state IN ('active', 'frozen', 'withdrawn')"), nullable=False),
        Column("level", Text),
        _count("agreements"),
        _count("spent_before"),
        _count("period_started_unix_ms"),
        Column("broken_unix_ms", BigInteger),
    )
    sessions, batches = tables.tables["sessions"], tables.tables["batches"]
    _extend(sessions, _count("asked"), _count("holder"))
    Index("open_sessions_by_holder", sessions.c.holder, sessions.c.state)
    _extend(batches, _count("opened_unix_ms"))
    Index("ix_batches_opened_unix_ms", batches.c.opened_unix_ms)
    Index("ix_manifests_site", tables.tables["manifests"].c.site)
    _add_tables(tables)
    return tables


def _add_tables(tables: MetaData) -> None:
    Table(
        "replicas",
        tables,
        Column("number", BigInteger, primary_key=True, autoincrement=False),
        _text("address"),
        _count("lease_until_unix_ms"),
    )
    Table(
        "unit_events",
        tables,
        Column("id", _RowId, primary_key=True),
        Column("unit", _RowId, ForeignKey("units.id"), nullable=False, index=True),
        _count("time_unix_ms"),
        _text("kind"),
        Column("epsilon", Float, nullable=False),
        _count("spent"),
        _text("reason"),
    )
    states = CheckConstraint("state IN ('added', 'active', 'suspended', 'removed')")
    Table(
        "parties",
        tables,
        Column("site", Text, primary_key=True),
        Column("state", Text, states, nullable=False),
        _count("reconciled_epoch"),
        _count("since_unix_ms"),
    )
    Table(
        "policies",
        tables,
        Column("version", _RowId, primary_key=True, autoincrement=False),
        _text("toml"),
        _text("reason"),
        _count("applied_unix_ms"),
    )
    Table(
        "reconciled",
        tables,
        Column("session_id", Text, primary_key=True),
        Column("batch_id", BigInteger, primary_key=True),
        Column("unit", _RowId, ForeignKey("units.id"), primary_key=True),
        _count("worst_case"),
        _count("time_unix_ms"),
    )


def _extend(table: Table, *columns: Column[Any]) -> None:
    for column in columns:
        table.append_column(column)


def _text(name: str) -> Column[str]:
    return Column(name, Text, nullable=False)


def _count(name: str) -> Column[int]:
    return Column(name, BigInteger, CheckConstraint(f"{name} >= 0"), nullable=False)
