"""Tables of the ledger. Their constraints are its last line of defence, in every backend."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

SCHEMA_VERSION = 4
"""Version of these tables; increased with each migration, and checked before anything is read."""

REVISION = f"{SCHEMA_VERSION:04d}"

metadata = MetaData()
_RowId = BigInteger().with_variant(Integer, "sqlite")


def _text(name: str) -> Column[str]:
    return Column(name, Text, nullable=False)


def _blob(name: str) -> Column[bytes]:
    return Column(name, LargeBinary, nullable=False)


def _count(name: str, at_least: int = 0) -> Column[int]:
    return Column(name, BigInteger, CheckConstraint(f"{name} >= {at_least}"), nullable=False)


alembic_version = Table("alembic_version", metadata, Column("version_num", String(32), primary_key=True))
"""Where Alembic stores the revision of the tables: the schema version in four digits."""

meta = Table(
    "meta",
    metadata,
    Column("id", Integer, CheckConstraint("id = 1"), primary_key=True),
    _count("schema_version", 1),
    _blob("ledger_id"),
    _count("fence"),
    _count("epoch"),
    _blob("key_check"),
)
"""One row: `fence` is the last number given to a replica, `epoch` the number of restores."""

replicas = Table(
    "replicas",
    metadata,
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    _text("address"),
    _count("lease_until_unix_ms"),
)
"""Guardian processes: one whose lease is over, or that is missing here, has lost its sessions to others."""

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
    Column("state", Text, CheckConstraint("state IN ('active', 'frozen', 'withdrawn')"), nullable=False),
    Column("level", Text),
    _count("agreements"),
    _count("spent_before"),
    _count("period_started_unix_ms"),
    Column("broken_unix_ms", BigInteger),
    UniqueConstraint("party", "group_name", "adjacency"),
    CheckConstraint("adjacency IN ('record', 'label')"),
    CheckConstraint("enforce IN ('worst_case', 'data_dependent')"),
    CheckConstraint("enforce = 'worst_case' OR reserved = 0", name="nothing_reserved"),
    CheckConstraint(
        "enforce = 'data_dependent' OR spent + reserved <= budget OR spent + reserved <= overdrawn_to",
        name="within_budget",
    ),
)
"""Amounts of a unit. `overdrawn_to` is the committed amount of a unit that exceeds its budget, because the
budget was lowered or the unit was charged past spending; else 0. `data_dependent` is the encrypted running
total that a data-dependent budget is compared with, `level` the consent level whose epsilon the budget is,
`agreements` the number of used agreements of the owning party, `spent_before` the spending of earlier periods
of a renewed budget, and `broken_unix_ms` the time since which the guarantee no longer covers the unit's
lifetime."""

unit_events = Table(
    "unit_events",
    metadata,
    Column("id", _RowId, primary_key=True),
    Column("unit", _RowId, ForeignKey("units.id"), nullable=False, index=True),
    _count("time_unix_ms"),
    _text("kind"),
    Column("epsilon", Float, nullable=False),
    _count("spent"),
    _text("reason"),
    Column("entry", BigInteger, nullable=False, server_default="0"),
    Column("votes", BigInteger),
)
"""Events of a unit except charges, with its budget and spending afterwards. Rows are only added.

For restated spending, entries up to `entry` came before, whatever clocks say; it is 0 for other events and
for events of older versions. `votes` of one person is the number that a recosting used, NULL for other
events. If an older version did not record it, minus `entry` is the last entry that the recosting may have
come after.
"""

parties = Table(
    "parties",
    metadata,
    Column("site", Text, primary_key=True),
    Column(
        "state", Text, CheckConstraint("state IN ('added', 'active', 'suspended', 'removed')"), nullable=False
    ),
    _count("reconciled_epoch"),
    _count("since_unix_ms"),
)
"""`reconciled_epoch` is the epoch in which the party's receipts were last taken."""

policies = Table(
    "policies",
    metadata,
    Column("version", _RowId, primary_key=True, autoincrement=False),
    _text("toml"),
    _text("reason"),
    _count("applied_unix_ms"),
)
"""Policies that were applied; the last one is in force."""

manifests = Table(
    "manifests",
    metadata,
    Column("id", _RowId, primary_key=True),
    Column("site", Text, nullable=False, index=True),
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
    _count("asked"),
    _count("opened_unix_ms"),
    _count("holder"),
    UniqueConstraint("querier", "plan_digest"),
    Index("open_sessions_by_holder", "holder", "state"),
)
"""`asked` is the size of all batches except dead ones, `holder` the number of the replica to which the
session is pinned while it is open."""

KINDS = ("batch", "publication", "receipt")
"""Kinds of entries. `repricing.RULES` says what each costs under other terms."""

entries = Table(
    "entries",
    metadata,
    Column("id", _RowId, primary_key=True),
    Column("kind", Text, CheckConstraint(f"kind IN {KINDS}"), nullable=False),
    _count("time_unix_ms"),
    Index("entries_by_kind", "kind"),
)
"""Everything that units are charged for, in order: a transaction that adds an entry has locked the entry's
units. Values specific to a kind are in its own table, under the same id."""

batches = Table(
    "batches",
    metadata,
    Column("id", _RowId, primary_key=True, autoincrement=False),
    Column("session_id", Text, ForeignKey("sessions.session_id"), nullable=False),
    _count("batch_id"),
    _count("size"),
    _blob("ticket"),
    Column("state", Text, CheckConstraint("state IN ('ticketed', 'released', 'dead')"), nullable=False),
    Column("opened_unix_ms", BigInteger, CheckConstraint("opened_unix_ms >= 0"), nullable=False, index=True),
    Column("request_digest", LargeBinary),
    Column("answers", LargeBinary),
    _count("answered"),
    Column("released_unix_ms", BigInteger),
    Column("check_digest", LargeBinary),
    Column(
        "checked_unix_ms",
        BigInteger,
        CheckConstraint("(check_digest IS NULL) = (checked_unix_ms IS NULL)"),
    ),
    UniqueConstraint("session_id", "batch_id"),
    CheckConstraint("answered <= size"),
    CheckConstraint("size > 0 OR state = 'dead'"),
    CheckConstraint(
        "(state = 'released') = (answers IS NOT NULL) AND (state = 'released') = (request_digest IS NOT NULL)"
        " AND (state = 'released') = (released_unix_ms IS NOT NULL)",
        name="answers_once_released",
    ),
    Index("batches_by_release", "released_unix_ms"),
    Index("batches_by_check", "checked_unix_ms"),
)
"""One row per ticket; a dead batch stays as a tombstone so that its id is never used again. A blind tally is
charged for its check before its release: `check_digest` is the digest of the check's request."""

charges = Table(
    "charges",
    metadata,
    Column("entry", _RowId, ForeignKey("entries.id"), primary_key=True),
    Column("unit", _RowId, ForeignKey("units.id"), primary_key=True),
    Column("votes", BigInteger, CheckConstraint("votes >= 1")),
    _count("reserved"),
    _count("worst_case"),
    Column("data_dependent", LargeBinary),
    Column("checked", BigInteger, CheckConstraint("checked >= 0 AND checked <= worst_case")),
    Column("vote_total", LargeBinary),
    Column("spent", BigInteger),
    Index("charges_by_unit", "unit", "worst_case"),
)
"""Per entry and unit: the reservation of a batch's ticket, and the charge; for a batch also an encrypted
data-dependent sum. A reservation counts while its batch is ticketed; units that reserve nothing get their row
with the charge.

`votes` is the influence that the amounts are for: the number of votes of one person in a query, NULL if
unknown. (Its other factors, copies and weights, are in tickets, and do not change.) `checked` is the part of
the charge for the check of a blind tally, which stays even if the batch dies. `vote_total` is also encrypted:
an epsilon is published from it. `spent` is the unit's spending in its period after the charge, NULL before.
"""

evaluations = Table(
    "evaluations",
    metadata,
    Column("batch", _RowId, ForeignKey("batches.id"), primary_key=True),
    Column("unit", _RowId, ForeignKey("units.id"), primary_key=True),
    _count("worst_case"),
    _count("time_unix_ms"),
    Column("charged_unix_ms", BigInteger),
)
"""The worst-case cost of an encrypted batch to units whose party has evaluated it, the time of the
evaluation, and the time when the cost was charged because no release charged it. Rows are only added, and
charged once."""

receipts = Table(
    "receipts",
    metadata,
    Column("id", _RowId, ForeignKey("entries.id"), primary_key=True, autoincrement=False),
    _text("session_id"),
    _count("batch_id"),
    Index("receipts_by_batch", "session_id", "batch_id"),
)
"""Batches that a restored ledger had lost, charged from receipts of parties. Rows are only added."""

publications = Table(
    "publications",
    metadata,
    Column("id", _RowId, ForeignKey("entries.id"), primary_key=True, autoincrement=False),
    Column("state", Text, nullable=False, unique=True),
    _text("votes"),
    _blob("statement"),
    Column("beta", Float, nullable=False),
    Column("sigma", Float, nullable=False),
)
"""Epsilons that were published by smooth sensitivity, once for each `state` of a unit, with the batches whose
votes they cover (`votes`) and the earlier publications. Rows are only added."""

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

checkpoints = Table(
    "checkpoints",
    metadata,
    Column("id", Integer, CheckConstraint("id = 1"), primary_key=True),
    _count("sequence", 1),
    _text("state"),
    _blob("signed"),
)
"""One row, or none: the state of the audit log at one of its rows, with a guardian's signature."""
