"""A new ledger, and whether a key belongs to one."""

from __future__ import annotations

import secrets

from sqlalchemy import Connection, insert, select

from ostraka.guardian.ledger.reader import View
from ostraka.guardian.ledger.store.cipher import Cipher
from ostraka.guardian.ledger.store.schema import REVISION, SCHEMA_VERSION, alembic_version, meta, metadata
from ostraka.guardian.ledger.transaction import Transaction


def create(tx: Transaction) -> None:
    """Make all tables, with a ledger that has no units."""
    create_tables(tx.connection)
    ledger_id = secrets.token_bytes(16)
    tx.connection.execute(
        insert(meta).values(
            id=1,
            schema_version=SCHEMA_VERSION,
            ledger_id=ledger_id,
            fence=0,
            epoch=0,
            key_check=tx.cipher.seal(0, "key", ledger_id.hex()),
        )
    )
    tx.record("created", ledger=ledger_id.hex())


def create_tables(connection: Connection) -> None:
    """Make all tables, with the same result as all migrations in order."""
    metadata.create_all(connection, checkfirst=False)
    connection.execute(insert(alembic_version).values(version_num=REVISION))


def key_check(view: View) -> tuple[bytes, bytes]:
    """Return the ledger's id, and a zero that its key encrypted for that id."""
    row = view.connection.execute(select(meta.c.key_check, meta.c.ledger_id)).one()
    return row.ledger_id, row.key_check


def open_check(cipher: Cipher, ledger_id: bytes, check: bytes) -> None:
    """Raise `ledger.tampered` unless `cipher` has the key of the ledger of this `key_check`."""
    cipher.unseal(check, "key", ledger_id.hex())


def check_key(connection: Connection, cipher: Cipher) -> None:
    """Raise `ledger.tampered` unless `cipher` has this ledger's key."""
    open_check(cipher, *key_check(View(connection, cipher)))
