"""Interface of a storage backend."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager

from sqlalchemy import Connection

from ostraka.common.errors import ErrorCode, OstrakaError


class Storage(ABC):
    """Read and write transactions on one database.

    Attributes:
        name: the database's name in messages, without secrets.
        shared: whether several guardians may use the ledger at once.
    """

    name: str
    shared: bool

    @abstractmethod
    def write(self) -> AbstractContextManager[Connection]:
        """Open a transaction that is committed, and durable, at the end of the block.

        Raises:
            OstrakaError: `ledger.locked` if another transaction blocks it for too long, as `ConflictError` if
                a repetition helps; `ledger.read_only`, `ledger.unreachable`, `ledger.tampered`;
                `storage.full` if there is no room.
        """

    @abstractmethod
    def read(self) -> AbstractContextManager[Connection]:
        """Open a transaction that sees one state of the ledger while others write. Raises as `write`."""

    @abstractmethod
    def version(self) -> object:
        """Return a value that differs from all earlier ones after any commit of a change. It is cheap.

        Raises as `read`.
        """

    @abstractmethod
    def check_health(self, connection: Connection) -> None:
        """Raise `ledger.tampered` if the database reports that it is inconsistent."""

    @abstractmethod
    def close(self) -> None:
        """Close every connection."""


class ConflictError(OstrakaError):
    """A transaction that was undone because of another one; it may be repeated as a whole."""

    def __init__(self, name: str) -> None:
        super().__init__(
            ErrorCode.LEDGER_LOCKED, f"Other transactions keep the ledger {name} busy; try again later."
        )
