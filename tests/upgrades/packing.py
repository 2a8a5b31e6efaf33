"""Converts folders and databases of a frozen version to files, and back."""

import gzip
import tarfile
from pathlib import Path

import psycopg

FOLDERS = "federation.tar.gz"
DATABASE = "postgresql.sql.gz"


def pack(root: Path, out: Path) -> None:
    """Write everything below `root`, with modes and links, and without owners and times."""
    with (
        (out / FOLDERS).open("wb") as file,
        gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w") as archive,
    ):
        for path in sorted(root.rglob("*")):
            archive.add(path, str(path.relative_to(root)), recursive=False, filter=_without_owner)


def _without_owner(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    entry.mtime = 0
    return entry


def unpack(version: Path, root: Path) -> None:
    """Restore the folders of a frozen version below `root`."""
    with tarfile.open(version / FOLDERS) as archive:
        archive.extractall(root, filter="data")


def write_database(dumped: str, out: Path) -> None:
    """Write a PostgreSQL database that was dumped as SQL."""
    # Lines that only psql reads, not the server.
    lines = [line for line in dumped.splitlines(keepends=True) if not line.startswith("\\")]
    (out / DATABASE).write_bytes(gzip.compress("".join(lines).encode(), mtime=0))


def load_database(version: Path, url: str) -> None:
    """Restore the database of a frozen version in an empty one."""
    statements = gzip.decompress((version / DATABASE).read_bytes())
    with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute(statements)
