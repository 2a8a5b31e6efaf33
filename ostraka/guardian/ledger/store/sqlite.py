"""SQLite as the ledger's embedded storage: one writer at a time, durable before a call returns."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import Connection, Engine, create_engine
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.pool import QueuePool

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.files.durable import is_full, is_used_up, storage_full
from ostraka.guardian.ledger.store.backend import Storage

_LOCKED = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_UNWRITABLE = {
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_IOERR,
}
_ANY_NUMBER = -1
"""SQLAlchemy's value for no limit: a connection to a file costs little, and no reader waits for another."""
_DAMAGED = {sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT}


class SqliteStorage(Storage):
    """Read and write transactions on one SQLite file."""

    def __init__(self, path: Path, *, read_only: bool = False, busy_timeout_s: float = 5.0) -> None:
        """Prepare for `path`, which is created (mode 0600) unless `read_only`."""
        self.path = path
        self.name = str(path)
        self.shared = False
        if read_only:
            self._require()
        else:
            self._make()
        self._mode = "ro" if read_only else "rw"
        self._busy_timeout_s = busy_timeout_s
        # Writers of this process wait here, not in SQLite's busy handler, which polls and gives up.
        self._writing = threading.Lock()
        # Guards the one connection that asks for the version, because several threads use it.
        self._looking = threading.Lock()
        self._looker: sqlite3.Connection | None = None
        self._engine = self._make_engine()

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Open the only transaction that may write, committed (and on disk) at the end of the block."""
        with self._writing, self._begin("BEGIN IMMEDIATE") as connection:
            yield connection

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Open a transaction that sees one state of the ledger while others write."""
        with self._begin("BEGIN") as connection:
            yield connection

    def version(self) -> int:
        """Return SQLite's count of other connections' commits, as seen by a connection that never writes."""
        with self._looking:
            try:
                self._looker = self._looker or self._connect()
                return int(self._looker.execute("PRAGMA data_version").fetchone()[0])
            except sqlite3.Error as exc:
                known = _translate(self.path, exc)
                if known is None:
                    raise
                raise known from exc

    def check_health(self, connection: Connection) -> None:
        """Raise `ledger.tampered` if SQLite reports that its file is inconsistent."""
        found = connection.exec_driver_sql("PRAGMA integrity_check(1)").scalar_one()
        if found != "ok":
            raise _damage_error(self.path, found)

    def close(self) -> None:
        """Close every connection."""
        with self._looking:
            if self._looker is not None:
                self._looker.close()
                self._looker = None
        self._engine.dispose()

    def _make_engine(self) -> Engine:
        return create_engine(
            "sqlite://",
            creator=self._connect,
            poolclass=QueuePool,
            max_overflow=_ANY_NUMBER,
            hide_parameters=True,
        )

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            f"file:{quote(str(self.path.absolute()))}?mode={self._mode}",
            uri=True,
            timeout=self._busy_timeout_s,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            if self._mode == "rw":
                connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    def _make(self) -> None:
        try:
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
        except OSError as exc:
            if is_full(exc):
                raise storage_full(self.path.parent) from exc
            raise _unwritable(self.path, exc.strerror or "error") from exc

    def _require(self) -> None:
        if not self.path.is_file():
            raise OstrakaError(
                ErrorCode.LEDGER_MISSING, f"There is no ledger at {self.path}; check the path of --ledger."
            )

    @contextmanager
    def _begin(self, statement: str) -> Iterator[Connection]:
        """Open a transaction by `statement`; the driver begins none itself. End it after the block."""
        with self._translate_errors(), self._engine.begin() as connection:
            connection.exec_driver_sql(statement)
            yield connection

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except IntegrityError:
            raise
        except DBAPIError as exc:
            known = _translate(self.path, exc.orig)
            if known is None:
                raise
            raise known from exc


def _translate(path: Path, error: BaseException | None) -> OstrakaError | None:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in _LOCKED:
        return OstrakaError(
            ErrorCode.LEDGER_LOCKED,
            f"Another process holds the ledger {path}; stop it or wait until it is done, then try again.",
        )
    if code == sqlite3.SQLITE_FULL or (code in _UNWRITABLE and is_used_up(path.parent)):
        return storage_full(path.parent)
    if code in _UNWRITABLE:
        return _unwritable(path, str(error))
    if code in _DAMAGED or str(error).startswith("no such "):
        return _damage_error(path, error)
    return None


def _damage_error(path: Path, reason: object) -> OstrakaError:
    return OstrakaError(
        ErrorCode.LEDGER_TAMPERED,
        f"The ledger {path} is damaged or no ledger at all ({reason}); restore it from a backup.",
    )


def _unwritable(path: Path, reason: str) -> OstrakaError:
    return OstrakaError(
        ErrorCode.LEDGER_READ_ONLY,
        f"The ledger {path} cannot be written ({reason}); check its owner and permissions.",
    )
