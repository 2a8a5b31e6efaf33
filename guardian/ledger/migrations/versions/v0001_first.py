"""Budgets, sessions, batches, charges and the audit log."""

from alembic import op

from ostraka.guardian.ledger.migrations.first import metadata

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the tables."""
    metadata.create_all(op.get_bind())
