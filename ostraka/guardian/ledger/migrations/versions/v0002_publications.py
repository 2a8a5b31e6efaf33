"""Totals of votes for publishing epsilons, and the publications."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_ROW_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Add the column and both tables; nothing was stored or published before."""
    op.add_column("charges", sa.Column("vote_total", sa.LargeBinary))
    op.create_table(
        "publications",
        sa.Column("id", _ROW_ID, primary_key=True),
        sa.Column("state", sa.Text, nullable=False, unique=True),
        sa.Column("votes", sa.Text, nullable=False),
        sa.Column("statement", sa.LargeBinary, nullable=False),
        sa.Column("beta", sa.Float, nullable=False),
        sa.Column("sigma", sa.Float, nullable=False),
        sa.Column("time_unix_ms", sa.BigInteger, sa.CheckConstraint("time_unix_ms >= 0"), nullable=False),
    )
    op.create_table(
        "publication_charges",
        sa.Column("publication", _ROW_ID, sa.ForeignKey("publications.id"), primary_key=True),
        sa.Column("unit", _ROW_ID, sa.ForeignKey("units.id"), primary_key=True),
        sa.Column("worst_case", sa.BigInteger, sa.CheckConstraint("worst_case >= 0"), nullable=False),
    )
    op.execute("UPDATE meta SET schema_version = 2")
