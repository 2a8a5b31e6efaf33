"""Archives that may unpack to more than they should: measured before anything is read."""

import zlib
from copy import copy
from lzma import LZMAError
from pathlib import Path
from typing import IO
from zipfile import ZIP_STORED, BadZipFile, ZipFile, ZipInfo

SMALL = 64 << 20
"""Bytes that a file of any size may unpack to."""
MAX_UNPACKED_BYTES = 4 << 30
"""Bytes that a file may unpack to at any ratio, because its content is kept in memory."""
RATIO = 100
"""Maximum ratio of unpacked to packed size; zip bombs need up to 1,032, the most that deflate reaches."""
_PIECE = 1 << 20
"""Bytes unpacked at a time, so that counting them needs little memory."""
_DAMAGE = (zlib.error, LZMAError, EOFError, RuntimeError)
"""Errors for a damaged, encrypted or unknown kind of member, besides BadZipFile."""


class UnpackingError(ValueError):
    """A file claims to unpack to too much, or unpacks to more than it claims."""


def check_unpacked(claimed: int, packed: int) -> None:
    """Raise UnpackingError if a file of `packed` bytes claims to unpack to too many.

    It may unpack to 64 MiB, or to 100 times its size but at most 4 GiB, or to its own size.
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
    """Check the unpacked size of the members of an archive of `packed` bytes.

    Each compressed member is unpacked in pieces, up to its claimed length: many readers of archives,
    including `ZipFile.read`, unpack everything before they look at the claim.

    Raises:
        UnpackingError: if members claim too much, or are longer than they claim.
        BadZipFile: if a member cannot be unpacked.
    """
    members = archive.infolist()
    check_unpacked(sum(member.file_size for member in members), packed)
    for member in (one for one in members if one.compress_type != ZIP_STORED):
        if _count_bytes(archive, member) > member.file_size:
            raise UnpackingError(f"{member.filename!r} unpacks to more than it claims")


def _count_bytes(archive: ZipFile, member: ZipInfo) -> int:
    """Return the number of bytes of a member, up to one more than it claims."""
    longer = copy(member)
    longer.file_size += 1
    del longer.CRC  # it belongs to the claimed length
    length = 0
    try:
        with archive.open(longer) as content:
            while piece := content.read(_PIECE):
                length += len(piece)
    except _DAMAGE as exc:
        raise BadZipFile(f"{member.filename!r} cannot be unpacked") from exc
    return length


def check_zip_file(path: Path) -> None:
    """Check the file at `path` as `check_zip` does."""
    with path.open("rb") as file:
        check_zip(file)
