"""Copies of a whole ledger in one file, whichever backend it is kept in."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, Engine, Table, create_engine, insert, select
from sqlalchemy.exc import OperationalError

from ostraka.common.files.storage import is_used_up, storage_full
from ostraka.guardian.ledger.reader import LedgerReader
from ostraka.guardian.ledger.store.new_file import new_file
from ostraka.guardian.ledger.store.schema import metadata, replicas
from ostraka.guardian.ledger.view import View

_ROWS_AT_ONCE = 500


def backup(ledger: LedgerReader, path: Path) -> None:
    """Write a ledger as it is now, while others use it, to a new SQLite file that its owner alone may read.

    The file appears at `path` once it is whole. What is encrypted stays so, and the key is not in it: keep
    a copy of ledger.key apart from it. A backup becomes a ledger again by `restore` alone.

    Raises:
        OstrakaError: `ledger.exists` where there is a file at `path`, `ledger.read_only` where none can be
            written, `storage.full` without room; and as any read of the ledger.
    """
    with new_file(path, "backup") as unfinished:
        _write(ledger, unfinished)


def copy_tables(source: Connection, target: Connection) -> None:
    """Copy every table but that of running replicas into empty ones, in parts."""
    for table in metadata.sorted_tables:
        if table is not replicas:
            _copy(source, target, table)


def _copy(source: Connection, target: Connection, table: Table) -> None:
    rows = source.execute(select(table).execution_options(yield_per=_ROWS_AT_ONCE))
    for part in rows.mappings().partitions():
        target.execute(insert(table), [dict(row) for row in part])


def _write(ledger: LedgerReader, path: Path) -> None:
    engine = create_engine(f"sqlite:///{path}", hide_parameters=True)
    try:
        ledger.read(_copy_whole, path, engine)
    finally:
        engine.dispose()


def _copy_whole(view: View, path: Path, engine: Engine) -> None:
    with _room_for(path), engine.begin() as target:
        metadata.create_all(target)
        copy_tables(view.connection, target)


@contextmanager
def _room_for(path: Path) -> Iterator[None]:
    """Tell a full disk of the backup apart from trouble of the ledger."""
    try:
        yield
    except OperationalError as exc:
        if getattr(exc.orig, "sqlite_errorcode", 0) != sqlite3.SQLITE_FULL and not is_used_up(path.parent):
            raise
        raise storage_full(path.parent) from exc
