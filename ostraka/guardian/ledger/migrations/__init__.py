"""Alembic migrations of the ledger's tables.

A revision is a schema version in four digits. A migration makes the tables of its version from those of the
one before, spelled out in its own file because `schema` only has the latest, and sets `meta.schema_version`.
"""
