"""A backup made a ledger again, in a new epoch."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, func, select

from ostraka.common.clock import Clock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.guardian.ledger import creation
from ostraka.guardian.ledger.archive.backup import copy_tables
from ostraka.guardian.ledger.log import integrity
from ostraka.guardian.ledger.log.audit import SignHead
from ostraka.guardian.ledger.sessions import session_close
from ostraka.guardian.ledger.store import schema_version
from ostraka.guardian.ledger.store.cipher import Cipher
from ostraka.guardian.ledger.store.schema import metadata
from ostraka.guardian.ledger.store.storage import Storage, open_storage
from ostraka.guardian.ledger.transaction import Transaction


def restore(backup: Path, where: Path | str, *, clock: Clock, cipher: Cipher, sign_head: SignHead) -> int:
    """Make an empty place the ledger that was backed up, and return its new epoch.

    What happened after the backup is lost to the ledger: its sessions have ended, batches without answers
    are dead, and every party reconciles with its receipts before it votes again. All in one transaction.

    Args:
        backup: a file that `backup` wrote; it is checked against its own audit log first.
        where: a SQLite file or a PostgreSQL URL that holds no ledger yet.
        clock: the time of the audit log's row.
        cipher: made from the key that belongs to the ledger.
        sign_head: signs audit heads as the guardian.

    Raises:
        OstrakaError: `ledger.exists` where `where` is not empty, `ledger.missing` or `ledger.tampered` for
            the backup, also with another key, `ledger.older` and `ledger.newer`; and as `Ledger.open`.
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
    ended = session_close.end_all(tx)
    epoch = session_close.begin_epoch(tx)
    tx.record("restored", epoch=epoch, ended=ended)
    return epoch


def _continue_ids(connection: Connection) -> None:
    """Let PostgreSQL number new rows after the copied ones, as SQLite does by itself."""
    for table in metadata.sorted_tables:
        column = table.autoincrement_column
        if column is not None:
            sequence = func.pg_get_serial_sequence(table.name, column.name)
            last = select(func.max(column)).scalar_subquery()
            connection.execute(select(func.setval(sequence, last)))
