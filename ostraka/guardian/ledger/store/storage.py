"""Opens the database of a ledger."""

from __future__ import annotations

from pathlib import Path

from ostraka.guardian.ledger.store.backend import ConflictError, Storage
from ostraka.guardian.ledger.store.sqlite import SqliteStorage

__all__ = ["ConflictError", "Storage", "open_storage"]

BUSY_TIMEOUT_S = 5.0


def open_storage(
    where: Path | str, *, read_only: bool = False, busy_timeout_s: float = BUSY_TIMEOUT_S
) -> Storage:
    """Open the storage at `where`: a path is a SQLite file, a string the URL of a PostgreSQL database.

    Args:
        where: a SQLite file, created (mode 0600) unless `read_only`; or `postgresql+psycopg://...`.
        read_only: whether nothing may be changed or created.
        busy_timeout_s: how long to wait for another transaction, in seconds.

    Raises:
        OstrakaError: `ledger.missing`, `ledger.read_only`, `ledger.unreachable`; `config.invalid` for a URL
            of another kind, without psycopg, or for a database that may lose committed data.
    """
    if isinstance(where, Path):
        return SqliteStorage(where, read_only=read_only, busy_timeout_s=busy_timeout_s)
    from ostraka.guardian.ledger.store.postgres import PostgresStorage

    return PostgresStorage(where, read_only=read_only, busy_timeout_s=busy_timeout_s)
