"""Reading a ledger: one state of it, and a ledger without permission to change it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Concatenate, ParamSpec, Self, TypeVar

from sqlalchemy import Connection

from ostraka.guardian.ledger.store import schema_version
from ostraka.guardian.ledger.store.cipher import Cipher
from ostraka.guardian.ledger.store.storage import Storage, open_storage


@dataclass(frozen=True)
class View:
    """One state of the ledger.

    Attributes:
        connection: the connection to read from.
        cipher: for values that depend on votes; None for a reader without the ledger's key.
    """

    connection: Connection
    cipher: Cipher | None

    def require_cipher(self) -> Cipher:
        """Return the cipher, or raise ValueError for a reader without one."""
        if self.cipher is None:
            raise ValueError("data-dependent totals need the ledger's cipher")
        return self.cipher


P = ParamSpec("P")
T = TypeVar("T")


class LedgerReader:
    """A ledger opened for reading, beside a running guardian or without one."""

    def __init__(self, storage: Storage, cipher: Cipher | None) -> None:
        """Use `LedgerReader.open_read_only` or `Ledger.open` instead."""
        self._storage = storage
        self._cipher = cipher

    @classmethod
    def open_read_only(cls, where: Path | str, *, cipher: Cipher | None = None) -> LedgerReader:
        """Open a file or a database's URL for reading; with its `cipher` also the data-dependent amounts.

        Raises:
            OstrakaError: `ledger.missing`, `ledger.newer`, `ledger.older`, `ledger.tampered` (not a ledger),
                `ledger.locked` or `ledger.unreachable`.
        """
        storage = open_storage(where, read_only=True)
        try:
            with storage.read() as connection:
                schema_version.check_schema(connection, storage.name)
        except BaseException:
            storage.close()
            raise
        return LedgerReader(storage, cipher)

    def close(self) -> None:
        """Close the file; the ledger cannot be used any more."""
        self._storage.close()

    def __enter__(self) -> Self:
        """Return the ledger itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self.close()

    def read(self, question: Callable[Concatenate[View, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Return the result of `question` on one state of the ledger: `ledger.read(parties.all_parties)`.

        It is called with the state and the other arguments. Its result must not read any more.

        Raises:
            OstrakaError: `ledger.locked`, `ledger.unreachable`, `ledger.tampered`; and as `question`.
        """
        with self._view() as view:
            return question(view, *args, **kwargs)

    @contextmanager
    def _view(self) -> Iterator[View]:
        with self._storage.read() as connection:
            yield View(connection, self._cipher)
