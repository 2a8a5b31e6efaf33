"""Migrates an older ledger to this version's tables."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection

from ostraka.common.clock import Clock
from ostraka.guardian.ledger import creation, migrations, replicas
from ostraka.guardian.ledger.log import integrity
from ostraka.guardian.ledger.log.audit import SignHead
from ostraka.guardian.ledger.store import schema_version
from ostraka.guardian.ledger.store.cipher import Cipher
from ostraka.guardian.ledger.store.schema import SCHEMA_VERSION
from ostraka.guardian.ledger.store.storage import open_storage
from ostraka.guardian.ledger.transaction import Transaction


def migrate(where: Path | str, *, clock: Clock, cipher: Cipher, sign_head: SignHead) -> int:
    """Migrate the ledger at `where` and return its schema version; a current ledger does not change.

    Everything happens in one transaction; before its end the tables are compared with the audit log. A
    guardian of the older version that still runs is fenced.

    Args:
        where: a SQLite file, or the URL of a PostgreSQL database.
        clock: the time of the audit log's row.
        cipher: made from this ledger's key.
        sign_head: signs audit heads as the guardian.

    Raises:
        OstrakaError: `ledger.missing`, `ledger.newer`, `ledger.tampered`; and as `Ledger.open`.
    """
    _require(where)
    storage = open_storage(where)
    try:
        with storage.write() as connection:
            version = schema_version.read_version(connection, storage.name)
            if version < SCHEMA_VERSION:
                creation.check_key(connection, cipher)
                _upgrade(connection, version)
                tx = Transaction(connection, cipher, int(clock.now() * 1000), sign_head)
                fence = replicas.fence_all(tx)
                tx.record("migrated", before=version, after=SCHEMA_VERSION, fence=fence)
                integrity.check_tables(connection, integrity.chain(connection))
    finally:
        storage.close()
    return SCHEMA_VERSION


def _upgrade(connection: Connection, version: int) -> None:
    """Run the migrations after schema `version`, whatever revision Alembic has recorded."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    config.attributes["connection"] = connection
    command.stamp(config, f"{version:04d}")
    command.upgrade(config, f"{SCHEMA_VERSION:04d}")


def _require(where: Path | str) -> None:
    storage = open_storage(where, read_only=True)
    try:
        with storage.read() as connection:
            schema_version.read_version(connection, storage.name)
    finally:
        storage.close()
