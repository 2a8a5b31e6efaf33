"""Encrypted batches that parties have evaluated, whose worst cost stands if they are not released."""

from alembic import op

revision = "0004"
down_revision = "0003"

_CHANGES = (
    "CREATE TABLE evaluations ("
    "batch {id} NOT NULL REFERENCES batches (id), unit {id} NOT NULL REFERENCES units (id),"
    " worst_case BIGINT NOT NULL CHECK (worst_case >= 0),"
    " time_unix_ms BIGINT NOT NULL CHECK (time_unix_ms >= 0),"
    " charged_unix_ms BIGINT, PRIMARY KEY (batch, unit))",
    "UPDATE meta SET schema_version = 4",
)


def upgrade() -> None:
    """Add a table that is empty: no batch that there is was evaluated under this rule."""
    row_id = "BIGINT" if op.get_bind().dialect.name == "postgresql" else "INTEGER"
    for change in _CHANGES:
        op.execute(change.format(id=row_id))
