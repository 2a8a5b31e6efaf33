"""Files that people name and that unpack to more than they hold: measured before anything is unpacked."""

from pathlib import Path
from typing import IO
from zipfile import ZipFile

SMALL = 64 << 20
"""Bytes that any file may unpack to."""
MOST = 4 << 30
RATIO = 100


class UnpackingError(ValueError):
    """A file claims to unpack to too much."""


def check_unpacked(claimed: int, packed: int) -> None:
    """Raise UnpackingError where a file of `packed` bytes claims to hold too many.

    It may hold 64 MiB, or 100 times its size and at most 4 GiB, or what it has itself.
    """
    if claimed > max(SMALL, packed, min(RATIO * packed, MOST)):
        raise UnpackingError(f"its {packed} bytes claim to unpack to {claimed}")


def check_zip(file: IO[bytes]) -> None:
    """Raise UnpackingError for a zip archive whose members claim too much, and BadZipFile for no archive.

    `file` is left at its beginning.
    """
    packed = file.seek(0, 2)
    with ZipFile(file) as archive:
        check_unpacked(sum(member.file_size for member in archive.infolist()), packed)
    file.seek(0)


def check_zip_file(path: Path) -> None:
    """As `check_zip`, of the file at `path`."""
    with path.open("rb") as file:
        check_zip(file)
