"""Backups of a whole ledger in one file, for any backend, and restoring a ledger from a backup."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, Engine, Table, create_engine, func, insert, select
from sqlalchemy.exc import OperationalError

from ostraka.common.clock import Clock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.files.durable import is_used_up, storage_full
from ostraka.guardian.ledger import creation
from ostraka.guardian.ledger.log import integrity
from ostraka.guardian.ledger.log.audit import SignHead
from ostraka.guardian.ledger.reader import LedgerReader, View
from ostraka.guardian.ledger.sessions import endings
from ostraka.guardian.ledger.store import schema_version
from ostraka.guardian.ledger.store.cipher import Cipher
from ostraka.guardian.ledger.store.new_file import new_file
from ostraka.guardian.ledger.store.schema import metadata, replicas
from ostraka.guardian.ledger.store.storage import Storage, open_storage
from ostraka.guardian.ledger.transaction import Transaction

_ROWS_AT_ONCE = 500
"""Rows that are copied together: a session's plan or a batch's ticket may take megabytes of memory."""


def backup(ledger: LedgerReader, path: Path) -> None:
    """Write a snapshot of a ledger in use to a new SQLite file that only its owner may read.

    The file appears at `path` when it is complete. Encrypted values stay encrypted, and the key is not in the
    file: keep a copy of ledger.key separately. Only `restore` turns a backup into a ledger again.

    Raises:
        OstrakaError: `ledger.exists` if there is a file at `path`, `ledger.read_only` if none can be written,
            `storage.full` without room; and as any read of the ledger.
    """
    with new_file(path, "backup") as unfinished:
        _write(ledger, unfinished)


def copy_tables(source: Connection, target: Connection) -> None:
    """Copy every table except the one of running replicas into empty tables, in parts."""
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
    """Distinguish a full disk of the backup from a problem of the ledger."""
    try:
        yield
    except OperationalError as exc:
        if getattr(exc.orig, "sqlite_errorcode", 0) != sqlite3.SQLITE_FULL and not is_used_up(path.parent):
            raise
        raise storage_full(path.parent) from exc


def restore(backup: Path, where: Path | str, *, clock: Clock, cipher: Cipher, sign_head: SignHead) -> int:
    """Restore the backed-up ledger into an empty place, and return its new epoch.

    The ledger loses everything after the backup: its sessions have ended, batches without answers are dead,
    and every party reconciles with its receipts before it votes again. Everything happens in one transaction.

    Args:
        backup: a file that `backup` wrote; it is checked against its own audit log first.
        where: a SQLite file or a PostgreSQL URL without a ledger.
        clock: the time of the audit log's row.
        cipher: made from the ledger's key.
        sign_head: signs audit heads as the guardian.

    Raises:
        OstrakaError: `ledger.exists` if `where` is not empty; `ledger.missing` or `ledger.tampered` for the
            backup, also with another key; `ledger.older` and `ledger.newer`; and as `Ledger.open`.
    """
    source = open_storage(backup, read_only=True)
    try:
        with source.read() as saved:
            schema_version.check_schema(saved, source.name)
            source.check_health(saved)
            creation.check_key(saved, cipher)
            integrity.check_tables(saved, integrity.chain(saved))
            target = open_storage(where)
            try:
                with target.write() as connection:
                    _fill(saved, connection, target)
                    return _begin(Transaction(connection, cipher, int(clock.now() * 1000), sign_head))
            finally:
                target.close()
    finally:
        source.close()


def _fill(saved: Connection, connection: Connection, target: Storage) -> None:
    if not schema_version.is_empty(connection):
        raise OstrakaError(
            ErrorCode.LEDGER_EXISTS,
            f"There is a ledger in {target.name} already; move it away, or restore to another place.",
        )
    metadata.create_all(connection)
    copy_tables(saved, connection)
    if connection.dialect.name == "postgresql":
        _continue_ids(connection)


def _begin(tx: Transaction) -> int:
    ended = endings.end_all(tx)
    epoch = endings.begin_epoch(tx)
    tx.record("restored", epoch=epoch, ended=ended)
    return epoch


def _continue_ids(connection: Connection) -> None:
    """Make PostgreSQL number new rows after the copied ones, as SQLite does by itself."""
    for table in metadata.sorted_tables:
        column = table.autoincrement_column
        if column is not None:
            sequence = func.pg_get_serial_sequence(table.name, column.name)
            last = select(func.max(column)).scalar_subquery()
            connection.execute(select(func.setval(sequence, last)))
