"""Alembic migrations of the ledger's tables.

A revision is a schema version in four digits. A migration makes the tables of its version from the tables of
the version before, written out in its own file because `schema` only has the latest version, and sets
`meta.schema_version`.
"""
