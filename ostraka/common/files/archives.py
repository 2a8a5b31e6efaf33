"""Archives that people name and that unpack to more than they hold: measured before anything is read."""

import zlib
from copy import copy
from lzma import LZMAError
from pathlib import Path
from typing import IO
from zipfile import ZIP_STORED, BadZipFile, ZipFile, ZipInfo

SMALL = 64 << 20
"""Bytes that any file may unpack to."""
MAX_UNPACKED_BYTES = 4 << 30
"""Bytes that a file may unpack to at any ratio: what is read is held in memory."""
RATIO = 100
"""Times its own size that a file may unpack to: bombs live by the 1,032 that deflate reaches at best."""
_PIECE = 1 << 20
"""Bytes unpacked at a time, so that counting them takes no memory."""
_DAMAGE = (zlib.error, LZMAError, EOFError, RuntimeError)
"""What a damaged or encrypted member, or one packed in an unknown way, raises besides BadZipFile."""


class UnpackingError(ValueError):
    """A file claims to unpack to too much, or unpacks to more than it claims."""


def check_unpacked(claimed: int, packed: int) -> None:
    """Raise UnpackingError where a file of `packed` bytes claims to hold too many.

    It may hold 64 MiB, or 100 times its size and at most 4 GiB, or what it has itself.
    """
    if claimed > max(SMALL, packed, min(RATIO * packed, MAX_UNPACKED_BYTES)):
        raise UnpackingError(f"its {packed} bytes claim to unpack to {claimed}")


def check_zip(file: IO[bytes]) -> None:
    """Check an archive as `check_members` does, and leave `file` at its beginning."""
    packed = file.seek(0, 2)
    with ZipFile(file) as archive:
        check_members(archive, packed)
    file.seek(0)


def check_members(archive: ZipFile, packed: int) -> None:
    """Check what the members of an archive of `packed` bytes unpack to.

    Each that is compressed is unpacked up to its claimed length, a piece at a time: many readers of archives,
    `ZipFile.read` among them, unpack all there is before they look at the claim.

    Raises:
        UnpackingError: where members claim too much, or are longer than they claim.
        BadZipFile: where one cannot be unpacked.
    """
    members = archive.infolist()
    check_unpacked(sum(member.file_size for member in members), packed)
    for member in (one for one in members if one.compress_type != ZIP_STORED):
        if _count_bytes(archive, member) > member.file_size:
            raise UnpackingError(f"{member.filename!r} unpacks to more than it claims")


def _count_bytes(archive: ZipFile, member: ZipInfo) -> int:
    """How many bytes a member has, up to one more than it claims."""
    longer = copy(member)
    longer.file_size += 1
    del longer.CRC  # which is that of the claimed length
    length = 0
    try:
        with archive.open(longer) as content:
            while piece := content.read(_PIECE):
                length += len(piece)
    except _DAMAGE as exc:
        raise BadZipFile(f"{member.filename!r} cannot be unpacked") from exc
    return length


def check_zip_file(path: Path) -> None:
    """As `check_zip`, of the file at `path`."""
    with path.open("rb") as file:
        check_zip(file)
