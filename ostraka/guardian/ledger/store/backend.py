"""Interface of a storage backend."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager

from sqlalchemy import Connection

from ostraka.common.errors import ErrorCode, OstrakaError


class Storage(ABC):
    """Read and write transactions on one database.

    Attributes:
        name: the database as messages call it, without secrets.
        shared: whether several guardians may hold the ledger at once.
    """

    name: str
    shared: bool

    @abstractmethod
    def write(self) -> AbstractContextManager[Connection]:
        """Open a transaction that is committed, and durable, at the end of the block.

        Raises:
            OstrakaError: `ledger.locked` where another transaction is in the way for too long, as
                `ConflictError` where running it again helps; `ledger.read_only`, `ledger.unreachable`,
                `ledger.tampered`; `storage.full` where there is no room.
        """

    @abstractmethod
    def read(self) -> AbstractContextManager[Connection]:
        """Open a transaction that sees one state of the ledger while others write. Raises as `write`."""

    @abstractmethod
    def version(self) -> object:
        """Return what differs from every value before once anybody committed a change; costs next to nothing.

        Raises as `read`.
        """

    @abstractmethod
    def check_health(self, connection: Connection) -> None:
        """Raise `ledger.tampered` if the database finds itself inconsistent."""

    @abstractmethod
    def close(self) -> None:
        """Close every connection."""


class ConflictError(OstrakaError):
    """A transaction that was undone because of another one, and may be run again as a whole."""

    def __init__(self, name: str) -> None:
        super().__init__(
            ErrorCode.LEDGER_LOCKED, f"Other transactions keep the ledger {name} busy; try again later."
        )
