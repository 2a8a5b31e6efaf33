"""The journal's file: its tables, migrations from earlier versions, and readable errors."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.files.durable import is_used_up, storage_full

VERSION = 4
"""Version of the tables, stored in the file as `user_version`."""
_WITH_CHARGES = 2
"""The first version with charges by group."""
_WITH_ASKED = 3
"""The first version that counts the queries of each querying party."""
_BUSY_S = 5.0
_TABLES = (
    """
    CREATE TABLE charges (
        id INTEGER PRIMARY KEY,
        session TEXT NOT NULL,
        batch TEXT NOT NULL,
        mechanism TEXT NOT NULL,
        queries INTEGER NOT NULL,
        classes INTEGER NOT NULL,
        sensitivity REAL NOT NULL,
        record_group TEXT NOT NULL,
        adjacency TEXT NOT NULL,
        recorded_unix_s REAL NOT NULL,
        UNIQUE (session, batch, record_group)
    ) STRICT
    """,
    """
    CREATE TABLE IF NOT EXISTS audit_head (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        sequence INTEGER NOT NULL,
        head BLOB NOT NULL
    ) STRICT
    """,
    "ALTER TABLE audit_head ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0",
    "CREATE TABLE former_heads (epoch INTEGER PRIMARY KEY, head BLOB NOT NULL) STRICT",
)
"""Tables of version 2."""
_ASKED = """
    CREATE TABLE asked (
        session TEXT NOT NULL,
        batch TEXT NOT NULL,
        querier TEXT NOT NULL,
        queries INTEGER NOT NULL,
        recorded_unix_s REAL NOT NULL,
        PRIMARY KEY (session, batch)
    ) STRICT
    """
"""Table of version 3: earlier batches have no row, so a day's count begins with the migration."""
_DECLARED_VOTES = "CREATE TABLE declared_votes (id INTEGER PRIMARY KEY, votes INTEGER NOT NULL) STRICT"
"""Table of version 4: earlier declarations have no row."""
_CLASSES_BEFORE = 2
"""Used for journals without that column, whose mechanisms cost the same for any number of classes."""


class JournalFile:
    """A SQLite file with the journal's tables; one thread uses it at a time, other processes may wait."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        """Open it, or create it unless `read_only`, which does not migrate an earlier version either.

        Raises `ledger.read_only`, `.locked`, `.tampered`, `.newer` or `.older`, and `storage.full`.
        """
        self._path = path
        # Guards the single connection: SQLite's transactions belong to the connection, not to a thread.
        self._lock = threading.Lock()
        with self._errors():
            self._db = _connect(path, read_only)
            current = self._version() == VERSION
        if read_only:
            _check_version(self._version(), path)
        elif not current:
            with self.transaction() as db:
                _migrate(db, self._version(), path)

    def close(self) -> None:
        """Close the file; everything written stays."""
        with self._lock:
            self._db.close()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Yield the tables, for reading."""
        with self._lock, self._errors():
            yield self._db

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Yield the tables, for a change that is durable when the block ends and rolled back if it raises."""
        with self._lock, self._errors():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    def _version(self) -> int:
        return int(self._db.execute("PRAGMA user_version").fetchone()[0])

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as exc:
            raise _explain(exc, self._path) from exc


def _connect(path: Path, read_only: bool) -> sqlite3.Connection:
    if not read_only:
        with suppress(OSError):  # SQLite reports the error, if there is one
            path.touch(mode=0o600)
    target = f"file:{quote(str(path.absolute()))}?mode={'ro' if read_only else 'rwc'}"
    db = sqlite3.connect(target, uri=True, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
    if not read_only:
        db.execute("PRAGMA journal_mode = WAL")
        # Durable at every commit: after a power cut, this party must not answer, and pay for, a batch again.
        db.execute("PRAGMA synchronous = FULL")
    return db


def _check_version(version: int, path: Path) -> None:
    """Raise `ledger.newer` or `ledger.older` for a journal that this version cannot read."""
    if version < VERSION:
        raise OstrakaError(
            ErrorCode.LEDGER_OLDER,
            f"The journal {path} was written by an earlier version: start `ostraka party serve` once, which "
            "brings it up to date.",
        )
    _check_not_newer(version, path)


def _check_not_newer(version: int, path: Path) -> None:
    if version > VERSION:
        raise OstrakaError(
            ErrorCode.LEDGER_NEWER,
            f"The journal {path} was written by a later version: run that one; this one would misread it.",
        )


def _migrate(db: sqlite3.Connection, version: int, path: Path) -> None:
    _check_not_newer(version, path)
    if version == VERSION:
        return
    if version < _WITH_CHARGES:
        _make_charges(db)
    if version < _WITH_ASKED:
        db.execute(_ASKED)
        db.execute("CREATE INDEX asked_by ON asked (querier, recorded_unix_s)")
    db.execute(_DECLARED_VOTES)
    db.execute(f"PRAGMA user_version = {VERSION}")


def _make_charges(db: sqlite3.Connection) -> None:
    """Create the tables of version 2, with the data of earlier versions."""
    for statement in _TABLES:
        db.execute(statement)
    columns = [row[1] for row in db.execute("PRAGMA table_info(batches)")]
    if columns:
        classes = "classes" if "classes" in columns else _CLASSES_BEFORE
        db.execute(
            "INSERT INTO charges SELECT NULL, session, batch, mechanism, queries, "  # noqa: S608
            f"{classes}, votes_per_person, 'all', 'record', recorded_unix_s FROM batches ORDER BY rowid"
        )
        db.execute("DROP TABLE batches")


def _explain(exc: sqlite3.DatabaseError, path: Path) -> OstrakaError:
    if not isinstance(exc, sqlite3.OperationalError):
        return OstrakaError(
            ErrorCode.LEDGER_TAMPERED,
            f"The journal {path} is damaged: restore it from a backup; without it this party cannot know "
            "which batches it answered.",
        )
    # The low byte of an extended code is the primary code.
    if exc.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return OstrakaError(
            ErrorCode.LEDGER_LOCKED,
            f"The journal {path} is in use by another process: stop that one, then try again.",
        )
    if exc.sqlite_errorcode & 0xFF == sqlite3.SQLITE_FULL or is_used_up(path.parent):
        return storage_full(path.parent)
    return OstrakaError(
        ErrorCode.LEDGER_READ_ONLY,
        f"The journal {path} cannot be written: give this user write access to its folder.",
    )
