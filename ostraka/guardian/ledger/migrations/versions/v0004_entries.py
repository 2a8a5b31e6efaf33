"""One table of entries and one of charges for batches, publications and receipts."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

_ROW_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")
_CHARGES = (
    "INSERT INTO charges (entry, unit, reserved, worst_case, data_dependent, checked, spent)"
    " SELECT batch, unit, reserved, worst_case, data_dependent, checked, spent FROM charges_before"
)
_PUBLICATIONS = (
    "INSERT INTO entries (id, kind, time_unix_ms)"
    " SELECT id + :last, 'publication', time_unix_ms FROM publications_before",
    "INSERT INTO publications (id, state, votes, statement, beta, sigma)"
    " SELECT id + :last, state, votes, statement, beta, sigma FROM publications_before",
    "INSERT INTO charges (entry, unit, reserved, worst_case, spent)"
    " SELECT before.id + :last, paid.unit, 0, paid.worst_case,"
    " (SELECT happened.spent FROM unit_events AS happened WHERE happened.unit = paid.unit"
    " AND happened.kind = 'published' AND happened.time_unix_ms = before.time_unix_ms"
    " ORDER BY happened.id DESC LIMIT 1)"
    " FROM publication_charges AS paid JOIN publications_before AS before ON before.id = paid.publication",
)
"""After the last batch, `last`; each charge with its unit's spending then, from its event."""
_RECEIPTS = (
    "INSERT INTO entries (id, kind, time_unix_ms) VALUES (:entry, 'receipt', :time_unix_ms)",
    "INSERT INTO receipts (id, session_id, batch_id) VALUES (:entry, :session_id, :batch_id)",
    "INSERT INTO charges (entry, unit, reserved, worst_case, spent)"
    " SELECT :entry, paid.unit, 0, paid.worst_case,"
    " (SELECT happened.spent FROM unit_events AS happened WHERE happened.unit = paid.unit"
    " AND happened.kind = 'reconciled' AND happened.time_unix_ms = paid.time_unix_ms"
    " ORDER BY happened.id DESC LIMIT 1)"
    " FROM reconciled AS paid WHERE paid.session_id = :session_id AND paid.batch_id = :batch_id"
    " AND paid.time_unix_ms = :time_unix_ms",
)
"""One entry for each batch and time."""


def upgrade() -> None:
    """Move everything that was charged; drop totals of votes.

    Nobody knows how many votes of one person those totals apply to.
    """
    connection = op.get_bind()
    _make_tables()
    op.execute("INSERT INTO entries (id, kind, time_unix_ms) SELECT id, 'batch', opened_unix_ms FROM batches")
    op.execute(_CHARGES)
    last = {"last": _last(connection)}
    for statement in _PUBLICATIONS:
        connection.execute(sa.text(statement), last)
    _move_receipts(connection)
    for table in ("publication_charges", "publications_before", "charges_before", "reconciled"):
        op.drop_table(table)
    op.create_index("charges_by_unit", "charges", ["unit", "worst_case"])
    op.add_column("unit_events", sa.Column("entry", sa.BigInteger, nullable=False, server_default="0"))
    op.add_column("unit_events", sa.Column("votes", sa.BigInteger))
    recosted = sa.text("UPDATE unit_events SET entry = -:last WHERE kind = 'recosted'")
    connection.execute(recosted, {"last": _last(connection)})
    if connection.dialect.name == "postgresql":
        op.execute("SELECT setval(pg_get_serial_sequence('entries', 'id'), MAX(id)) FROM entries")
        op.execute("ALTER TABLE batches ALTER COLUMN id DROP DEFAULT")
        op.execute("DROP SEQUENCE IF EXISTS batches_id_seq")
    op.execute("UPDATE meta SET schema_version = 4")


def _make_tables() -> None:
    op.rename_table("charges", "charges_before")
    op.rename_table("publications", "publications_before")
    op.create_table(
        "entries",
        sa.Column("id", _ROW_ID, primary_key=True),
        sa.Column(
            "kind", sa.Text, sa.CheckConstraint("kind IN ('batch', 'publication', 'receipt')"), nullable=False
        ),
        _count("time_unix_ms"),
    )
    op.create_index("entries_by_kind", "entries", ["kind"])
    op.create_table(
        "charges",
        sa.Column("entry", _ROW_ID, sa.ForeignKey("entries.id"), primary_key=True),
        sa.Column("unit", _ROW_ID, sa.ForeignKey("units.id"), primary_key=True),
        sa.Column("votes", sa.BigInteger, sa.CheckConstraint("votes >= 1")),
        _count("reserved"),
        _count("worst_case"),
        sa.Column("data_dependent", sa.LargeBinary),
        sa.Column("checked", sa.BigInteger, sa.CheckConstraint("checked >= 0 AND checked <= worst_case")),
        sa.Column("vote_total", sa.LargeBinary),
        sa.Column("spent", sa.BigInteger),
    )
    op.create_table(
        "publications",
        sa.Column("id", _ROW_ID, sa.ForeignKey("entries.id"), primary_key=True, autoincrement=False),
        sa.Column("state", sa.Text, nullable=False, unique=True),
        sa.Column("votes", sa.Text, nullable=False),
        sa.Column("statement", sa.LargeBinary, nullable=False),
        sa.Column("beta", sa.Float, nullable=False),
        sa.Column("sigma", sa.Float, nullable=False),
    )
    op.create_table(
        "receipts",
        sa.Column("id", _ROW_ID, sa.ForeignKey("entries.id"), primary_key=True, autoincrement=False),
        sa.Column("session_id", sa.Text, nullable=False),
        _count("batch_id"),
    )
    op.create_index("receipts_by_batch", "receipts", ["session_id", "batch_id"])


def _move_receipts(connection: sa.Connection) -> None:
    last = _last(connection)
    batches = sa.text(
        "SELECT DISTINCT session_id, batch_id, time_unix_ms FROM reconciled"
        " ORDER BY time_unix_ms, session_id, batch_id"
    )
    found = [
        {"entry": last + number, **row}
        for number, row in enumerate(connection.execute(batches).mappings(), start=1)
    ]
    for statement in _RECEIPTS:
        if found:
            connection.execute(sa.text(statement), found)


def _last(connection: sa.Connection) -> int:
    return int(connection.execute(sa.text("SELECT COALESCE(MAX(id), 0) FROM entries")).scalar_one())


def _count(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger, sa.CheckConstraint(f"{name} >= 0"), nullable=False)
