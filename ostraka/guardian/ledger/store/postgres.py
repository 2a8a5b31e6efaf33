"""PostgreSQL as the ledger's storage, shared by several guardians."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, make_url
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.files.durable import storage_full
from ostraka.guardian.ledger.store.backend import ConflictError, Storage

_DRIVER = "postgresql+psycopg"
_CONNECT_TIMEOUT_S = 10
_POOL = 20
"""Connections that read and change the ledger."""
_LOOKING = 5
"""Connections that only ask for the version; they do not first test each time whether the server is there.

A guardian opens no more than both kinds: three guardians fit the 100 connections that PostgreSQL allows by
default.
"""
_HUNG_S = 60.0
"""How long a guardian may be silent in a transaction that changes the ledger, in seconds."""
# SQLSTATEs: serialization failure, deadlock, and a row or table that another transaction made first.
_CONFLICTS = {"40001", "40P01", "23505", "42P07"}
_LOCK_TIMEOUT = "55P03"
_READ_ONLY = {"25006", "42501"}
_DISK_FULL = "53100"
_DAMAGED = {"XX001", "XX002", "42P01", "42703"}


class PostgresStorage(Storage):
    """READ COMMITTED transactions; everything that may change is locked row by row.

    The order of locks is: the session, its units in unit order, the row of `meta` before the audit log.
    """

    def __init__(self, url: str, *, read_only: bool = False, busy_timeout_s: float = 5.0) -> None:
        """Connect to `url`.

        Raises:
            OstrakaError: `config.invalid`, `ledger.unreachable`.
        """
        parsed = _parse(url)
        self.name = parsed.render_as_string(hide_password=True)
        self.shared = True
        self._engine = _make_engine(
            parsed,
            busy_timeout_s,
            isolation_level="READ COMMITTED",
            execution_options={"postgresql_readonly": read_only},
            pool_pre_ping=True,
            pool_size=_POOL,
        )
        self._reading_engine = self._engine.execution_options(
            isolation_level="REPEATABLE READ", postgresql_readonly=True
        )
        self._looking_engine = _make_engine(
            parsed,
            busy_timeout_s,
            isolation_level="AUTOCOMMIT",
            pool_size=_LOOKING,
            pool_reset_on_return=None,
        )
        try:
            self._check_durable()
        except BaseException:
            self.close()
            raise

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Open a transaction that is committed, and durable, at the end of the block.

        The server undoes it if its process hangs or its machine is gone, because others wait for its locks.
        """
        with self._translate_errors(), self._engine.begin() as connection:
            hung_ms = int(_HUNG_S * 1000)
            connection.exec_driver_sql(f"SET LOCAL idle_in_transaction_session_timeout = {hung_ms}")
            yield connection

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Open a transaction that sees one state of the ledger while others write."""
        with self._translate_errors(), self._reading_engine.begin() as connection:
            yield connection

    def version(self) -> str:
        """Return which transactions a reader would see now; other databases of the cluster also count."""
        with self._translate_errors():
            try:
                return self._snapshot()
            except DBAPIError as exc:
                if not exc.connection_invalidated:
                    raise
            return self._snapshot()

    def check_health(self, connection: Connection) -> None:
        """Do nothing: PostgreSQL checks pages as it reads them, if its cluster has checksums."""

    def close(self) -> None:
        """Close every connection."""
        self._engine.dispose()
        self._looking_engine.dispose()

    def _snapshot(self) -> str:
        with self._looking_engine.connect() as connection:
            return str(connection.exec_driver_sql("SELECT pg_current_snapshot()::text").scalar_one())

    def _check_durable(self) -> None:
        with self.read() as connection:
            for setting in ("synchronous_commit", "fsync"):
                if connection.exec_driver_sql(f"SHOW {setting}").scalar_one() == "off":
                    raise OstrakaError(
                        ErrorCode.CONFIG_INVALID,
                        f"The database {self.name} has {setting} off and may forget charges; set {setting} ="
                        " on for it.",
                    )

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except PoolTimeoutError as exc:
            raise _lock_error(self.name) from exc
        except DBAPIError as exc:
            known = _translate(self.name, exc)
            if known is None:
                raise
            raise known from exc


def _parse(url: str) -> URL:
    try:
        parsed = make_url(url)
    except ArgumentError as exc:
        raise _not_a_database("is no URL") from exc
    if parsed.drivername not in ("postgresql", _DRIVER):
        raise _not_a_database(f"is for {parsed.drivername}")
    return parsed.set(drivername=_DRIVER)


def _not_a_database(what: str) -> OstrakaError:
    return OstrakaError(
        ErrorCode.CONFIG_INVALID,
        f"The ledger's URL {what}; write {_DRIVER}://USER:PASSWORD@HOST/DATABASE.",
    )


def _make_engine(url: URL, busy_timeout_s: float, **settings: Any) -> Engine:
    """Return an engine with its own pool of connections, of a fixed size; `settings` are SQLAlchemy's."""
    options = f"-c lock_timeout={max(1, int(busy_timeout_s * 1000))}"
    try:
        return create_engine(
            url,
            max_overflow=0,
            hide_parameters=True,
            connect_args={"options": options, "connect_timeout": _CONNECT_TIMEOUT_S},
            **settings,
        )
    except ModuleNotFoundError as exc:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            "A ledger in PostgreSQL needs psycopg; run: pip install 'ostraka[postgres]'",
        ) from exc


def _translate(name: str, error: DBAPIError) -> OstrakaError | None:
    state = getattr(error.orig, "sqlstate", None)
    if state in _CONFLICTS:
        return ConflictError(name)
    if state == _LOCK_TIMEOUT:
        return _lock_error(name)
    if isinstance(error, IntegrityError):
        return None
    if state == _DISK_FULL:
        return storage_full(f"the ledger's database {name}")
    if state in _READ_ONLY:
        return OstrakaError(
            ErrorCode.LEDGER_READ_ONLY,
            f"The ledger {name} cannot be written ({_first_line(error)}); check the rights of its user.",
        )
    if state in _DAMAGED:
        return OstrakaError(
            ErrorCode.LEDGER_TAMPERED,
            f"The ledger {name} is damaged or no ledger at all ({_first_line(error)}); restore it from a"
            " backup.",
        )
    if error.connection_invalidated or state is None or state[:2] in ("08", "28", "3D", "53", "57"):
        return OstrakaError(
            ErrorCode.LEDGER_UNREACHABLE,
            f"The database {name} cannot be reached ({_first_line(error)}); check that it runs and its URL,"
            " then try again.",
        )
    return None


def _lock_error(name: str) -> OstrakaError:
    return OstrakaError(
        ErrorCode.LEDGER_LOCKED, f"Another transaction holds the ledger {name}; try again later."
    )


def _first_line(error: DBAPIError) -> str:
    return str(error.orig).strip().partition("\n")[0] or "no answer"
