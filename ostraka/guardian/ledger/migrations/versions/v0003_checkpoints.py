"""Checkpoints of the audit log, and with every charge its unit's spending at that time."""

from dataclasses import dataclass, field

import sqlalchemy as sa
from alembic import op

from ostraka.guardian.ledger.log import integrity
from ostraka.guardian.ledger.log.replayed_ledger import ReplayedLedger
from ostraka.guardian.ledger.log.rows import BatchName, UnitName

revision = "0003"
down_revision = "0002"

_AT_ONCE = 1000
"""Rows of the log that are read together: more take more memory, fewer take more database calls."""


def upgrade() -> None:
    """Add the table, the indexes and the column, and fill the column from the log, as verification does."""
    op.create_table(
        "checkpoints",
        sa.Column("id", sa.Integer, sa.CheckConstraint("id = 1"), primary_key=True),
        sa.Column("sequence", sa.BigInteger, sa.CheckConstraint("sequence >= 1"), nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("signed", sa.LargeBinary, nullable=False),
    )
    op.add_column("charges", sa.Column("spent", sa.BigInteger))
    op.create_index("charges_by_unit", "charges", ["unit", "worst_case"])
    op.create_index("batches_by_release", "batches", ["released_unix_ms"])
    op.create_index("batches_by_check", "batches", ["checked_unix_ms"])
    _fill(op.get_bind())
    op.execute("UPDATE meta SET schema_version = 3")


@dataclass
class _Spent(ReplayedLedger):
    """A replay that also records each unit's spending after each charge; the caller clears `found`."""

    found: dict[tuple[BatchName, UnitName], int] = field(default_factory=dict)

    def _charge(self, key: BatchName, unit: UnitName, *, charged: int, reserved: int = 0) -> None:
        super()._charge(key, unit, charged=charged, reserved=reserved)
        self.found[key, unit] = self.after[key][unit]


def _fill(connection: sa.Connection) -> None:
    units: dict[UnitName, int] = {
        (row.party, row.group_name, row.adjacency): row.id
        for row in connection.execute(sa.text("SELECT id, party, group_name, adjacency FROM units"))
    }
    batches = {
        (row.session_id, row.batch_id): row.id
        for row in connection.execute(sa.text("SELECT id, session_id, batch_id FROM batches"))
    }
    replayed = _Spent()
    last = 0
    rows = sa.text(
        "SELECT sequence, time_unix_ms, payload FROM audit WHERE sequence > :last"
        " ORDER BY sequence LIMIT :most"
    )
    changed = sa.text("UPDATE charges SET spent = :spent WHERE batch = :of_batch AND unit = :of_unit")
    while part := connection.execute(rows, {"last": last, "most": _AT_ONCE}).all():
        integrity.replay(replayed, part)
        found = [
            {"of_batch": batches[key], "of_unit": units[unit], "spent": spent}
            for (key, unit), spent in replayed.found.items()
        ]
        if found:
            connection.execute(changed, found)
        replayed.found.clear()
        last = part[-1].sequence
