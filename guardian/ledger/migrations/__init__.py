"""Alembic migrations of the ledger's tables; a revision is a schema version in four digits."""
