"""The tables of schema version 1, as they were."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)

metadata = MetaData()
_RowId = BigInteger().with_variant(Integer, "sqlite")


def _text(name: str) -> Column[str]:
    return Column(name, Text, nullable=False)


def _blob(name: str) -> Column[bytes]:
    return Column(name, LargeBinary, nullable=False)


def _count(name: str, at_least: int = 0) -> Column[int]:
    return Column(name, BigInteger, CheckConstraint(f"{name} >= {at_least}"), nullable=False)


meta = Table(
    "meta",
    metadata,
    Column("id", Integer, CheckConstraint("id = 1"), primary_key=True),
    _count("schema_version", 1),
    _blob("ledger_id"),
    _count("fence"),
    _blob("key_check"),
)
"""One row: the fence is the number of the process that may write."""

units = Table(
    "units",
    metadata,
    Column("id", _RowId, primary_key=True),
    _text("party"),
    _text("group_name"),
    _text("adjacency"),
    Column("epsilon", Float, CheckConstraint("epsilon > 0"), nullable=False),
    Column("delta", Float, CheckConstraint("delta > 0 AND delta < 1"), nullable=False),
    Column("renyi_order", Float, CheckConstraint("renyi_order > 1"), nullable=False),
    _text("enforce"),
    _count("budget"),
    _count("spent"),
    _count("reserved"),
    _count("overdrawn_to"),
    _blob("data_dependent"),
    UniqueConstraint("party", "group_name", "adjacency"),
    CheckConstraint("adjacency IN ('record', 'label')"),
    CheckConstraint("enforce IN ('worst_case', 'data_dependent')"),
    CheckConstraint("enforce = 'worst_case' OR reserved = 0", name="nothing_reserved"),
    CheckConstraint(
        "enforce = 'data_dependent' OR spent + reserved <= budget OR spent + reserved <= overdrawn_to",
        name="within_budget",
    ),
)
"""Amounts of a unit. `overdrawn_to` is what was committed when a budget was lowered below it; it only falls.
`data_dependent` is the encrypted running total."""

manifests = Table(
    "manifests",
    metadata,
    Column("id", _RowId, primary_key=True),
    _text("site"),
    _blob("manifest"),
    _blob("signed"),
    _count("registered_unix_ms"),
)

sessions = Table(
    "sessions",
    metadata,
    Column("session_id", Text, primary_key=True),
    _text("querier"),
    _blob("plan"),
    _blob("plan_digest"),
    _blob("grant_bytes"),
    Column("state", Text, CheckConstraint("state IN ('open', 'closed', 'ended')"), nullable=False),
    _count("queries", 1),
    _count("opened_unix_ms"),
    UniqueConstraint("querier", "plan_digest"),
)

batches = Table(
    "batches",
    metadata,
    Column("id", _RowId, primary_key=True),
    Column("session_id", Text, ForeignKey("sessions.session_id"), nullable=False),
    _count("batch_id"),
    _count("size"),
    _blob("ticket"),
    Column("state", Text, CheckConstraint("state IN ('ticketed', 'released', 'dead')"), nullable=False),
    Column("request_digest", LargeBinary),
    Column("answers", LargeBinary),
    _count("answered"),
    Column("released_unix_ms", BigInteger),
    UniqueConstraint("session_id", "batch_id"),
    CheckConstraint("answered <= size"),
    CheckConstraint("size > 0 OR state = 'dead'"),
    CheckConstraint(
        "(state = 'released') = (answers IS NOT NULL) AND (state = 'released') = (request_digest IS NOT NULL)"
        " AND (state = 'released') = (released_unix_ms IS NOT NULL)",
        name="answers_once_released",
    ),
)
"""One row per ticket; a dead batch stays as a tombstone so that its id is never used again."""

charges = Table(
    "charges",
    metadata,
    Column("batch", _RowId, ForeignKey("batches.id"), primary_key=True),
    Column("unit", _RowId, ForeignKey("units.id"), primary_key=True),
    _count("reserved"),
    _count("worst_case"),
    Column("data_dependent", LargeBinary),
)
"""Per batch and unit: what its ticket reserved, and once released the charge, the latter also as an
encrypted data-dependent sum. A reservation counts while its batch is ticketed; units that reserve nothing
get their row with the charge."""

audit = Table(
    "audit",
    metadata,
    Column("sequence", _RowId, primary_key=True, autoincrement=False),
    _count("time_unix_ms"),
    _text("payload"),
    _blob("previous"),
    _blob("hash"),
    _blob("signed"),
)
