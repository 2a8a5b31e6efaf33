"""Records the transactions on a SQLite ledger begun by calls to a guardian in this process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest
from sqlalchemy import Connection

from ostraka.guardian.ledger.store.sqlite import SqliteStorage

_POOL = "ThreadPoolExecutor"
"""Name of the threads in which a server answers; the guardian's own threads have other names."""


class Transactions:
    """The transactions begun while a server answered, "read" or "write", in order."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._begun: list[str] = []
        for kind in ("read", "write"):
            patch.setattr(SqliteStorage, kind, self._counted(kind, getattr(SqliteStorage, kind)))

    def of(self, call: Callable[[], object]) -> list[str]:
        """Return those of one call."""
        self._begun.clear()
        call()
        return self._begun.copy()

    def before_the_write(self, call: Callable[[], object]) -> int:
        """Return how many reads a call makes before its single write."""
        begun = self.of(call)
        assert begun.count("write") == 1
        return begun.index("write")

    def _counted(
        self, kind: str, begin: Callable[[SqliteStorage], AbstractContextManager[Connection]]
    ) -> Callable[[SqliteStorage], AbstractContextManager[Connection]]:
        @contextmanager
        def counted(storage: SqliteStorage) -> Iterator[Connection]:
            if threading.current_thread().name.startswith(_POOL):
                self._begun.append(kind)
            with begin(storage) as connection:
                yield connection

        return counted
