"""Places of simulated ledgers: new SQLite files, or emptied databases of one PostgreSQL server."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from tests.chaos.guardians import Where
from tests.postgres import running_server

MEMORY = Path("/dev/shm")  # noqa: S108
Place = Callable[[], Where]
"""Returns an empty place for a ledger at every call; the place before the last may be reused."""


@contextmanager
def folder() -> Iterator[Path]:
    """Yield a folder that is deleted afterwards; it is in memory if possible."""
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as name:
        yield Path(name)


@contextmanager
def places(backend: str) -> Iterator[Place]:
    """Yield empty places for ledgers of a backend, "sqlite" or "postgresql"."""
    if backend == "sqlite":
        with folder() as root:
            yield _Files(root).new
    else:
        with folder() as root, _in(root), running_server() as server:
            yield _Databases([server.new_database() for _ in range(2)]).new


class _Files:
    def __init__(self, root: Path) -> None:
        self._root = root
        self._count = 0

    def new(self) -> Path:
        self._count += 1
        for old in self._root.glob(f"{self._count - 2}.*"):
            old.unlink()
        return self._root / f"{self._count}.db"


class _Databases:
    def __init__(self, urls: list[str]) -> None:
        self._urls = urls

    def new(self) -> str:
        self._urls.append(self._urls.pop(0))
        url = self._urls[-1]
        with psycopg.connect(url.replace("+psycopg", "", 1), autocommit=True) as connection:
            connection.execute("DROP SCHEMA public CASCADE")
            connection.execute("CREATE SCHEMA public")
        return url


@contextmanager
def _in(root: Path) -> Iterator[None]:
    before, tempfile.tempdir = tempfile.tempdir, str(root)
    try:
        yield
    finally:
        tempfile.tempdir = before
