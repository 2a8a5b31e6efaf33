"""Checks of blind tallies, which are charged before the answers are."""

from alembic import op

revision = "0003"
down_revision = "0002"

_CHANGES = (
    "ALTER TABLE batches ADD COLUMN check_digest {blob}",
    "ALTER TABLE batches ADD COLUMN checked_unix_ms BIGINT"
    " CHECK ((check_digest IS NULL) = (checked_unix_ms IS NULL))",
    "ALTER TABLE charges ADD COLUMN checked BIGINT CHECK (checked >= 0 AND checked <= worst_case)",
    "UPDATE meta SET schema_version = 3",
)


def upgrade() -> None:
    """Add columns that are empty for every batch there is."""
    blob = "BYTEA" if op.get_bind().dialect.name == "postgresql" else "BLOB"
    for change in _CHANGES:
        op.execute(change.format(blob=blob))
