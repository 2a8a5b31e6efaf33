"""Version of a ledger's tables, compared with the version that this program reads."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import Connection, inspect, select

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.guardian.ledger.store.schema import SCHEMA_VERSION, meta, metadata


def is_empty(connection: Connection) -> bool:
    """Whether the file has no tables yet."""
    return not inspect(connection).get_table_names()


def check_schema(connection: Connection, name: str) -> None:
    """Raise `ledger.older`, or as `read_version`, unless this version can read the ledger unchanged."""
    version = read_version(connection, name)
    if version < SCHEMA_VERSION:
        raise OstrakaError(
            ErrorCode.LEDGER_OLDER,
            f"The ledger {name} was written by an older Ostraka (schema {version}, this one needs"
            f" {SCHEMA_VERSION}); keep a copy of it, then run `ostraka guardian ledger migrate`.",
        )
    names = inspect(connection).get_table_names()
    if not set(names) >= set(metadata.tables):
        raise _no_ledger(name, names)


def read_version(connection: Connection, name: str) -> int:
    """Return the schema version of a ledger.

    Raises:
        OstrakaError: `ledger.missing` for an empty database or one of something else, `ledger.newer`,
            `ledger.tampered` for a ledger with missing parts.
    """
    names = inspect(connection).get_table_names()
    if not names:
        raise OstrakaError(
            ErrorCode.LEDGER_MISSING, f"There is no ledger in {name}; start the guardian once to make one."
        )
    version = connection.execute(select(meta.c.schema_version)).scalar() if meta.name in names else None
    if not isinstance(version, int):
        raise _no_ledger(name, names)
    if version > SCHEMA_VERSION:
        raise OstrakaError(
            ErrorCode.LEDGER_NEWER,
            f"The ledger {name} was written by a newer Ostraka (schema {version}, this one knows"
            f" {SCHEMA_VERSION}); upgrade this one.",
        )
    return version


_OF_JOURNAL = frozenset(("asked", "audit_head"))
"""Tables that a party's journal has, and a ledger has not."""


def _no_ledger(name: str, tables: Collection[str]) -> OstrakaError:
    if _OF_JOURNAL.issubset(tables):
        return OstrakaError(
            ErrorCode.LEDGER_MISSING,
            f"{name} is a party's journal, and no ledger; name the guardian's, such as ledger.db.",
        )
    if metadata.tables.keys().isdisjoint(tables):
        return OstrakaError(
            ErrorCode.LEDGER_MISSING,
            f"{name} is a database of something else, and no ledger; name the guardian's, such as ledger.db.",
        )
    return OstrakaError(
        ErrorCode.LEDGER_TAMPERED,
        f"{name} is no ledger, or a part of it is gone; check what it names, or restore a backup.",
    )
