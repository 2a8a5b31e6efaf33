"""The first version, where every migration begins: `creation` makes its tables, from `schema`."""

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Change nothing: no ledger is older."""
