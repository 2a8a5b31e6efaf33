"""What archives unpack to is measured, whatever they claim."""

import tracemalloc
import zlib
from io import BytesIO
from struct import pack_into
from zipfile import ZIP_BZIP2, ZIP_DEFLATED, ZIP_LZMA, ZIP_STORED, BadZipFile, ZipFile

import pytest

from ostraka.common.files.archives import (
    MAX_UNPACKED_BYTES,
    RATIO,
    SMALL,
    UnpackingError,
    check_unpacked,
    check_zip,
)

LOCAL, CENTRAL = 14, 16
"""Where a member's checksum lies in its own header and in the directory's; 8 bytes on, its length."""


def archive(content: bytes, method: int = ZIP_DEFLATED) -> bytearray:
    packed = BytesIO()
    with ZipFile(packed, "w", method) as file:
        file.writestr("content", content)
        file.writestr("folder/", b"")
    return bytearray(packed.getvalue())


def claiming(length: int, content: bytes, method: int = ZIP_DEFLATED) -> BytesIO:
    """Forge an archive of zeros that claims another length, with the checksum of what it claims."""
    forged = archive(content, method)
    for start in (LOCAL, forged.index(b"PK\1\2") + CENTRAL):
        pack_into("<I", forged, start, zlib.crc32(bytes(length)))
        pack_into("<I", forged, start + 8, length)
    return BytesIO(forged)


@pytest.mark.parametrize("method", [ZIP_STORED, ZIP_DEFLATED, ZIP_BZIP2, ZIP_LZMA])
@pytest.mark.parametrize("length", [0, 1, 3 << 20])
def test_honest_archives_pass(length: int, method: int) -> None:
    file = BytesIO(archive(bytes(length), method))
    check_zip(file)
    assert file.tell() == 0


@pytest.mark.parametrize("method", [ZIP_DEFLATED, ZIP_BZIP2, ZIP_LZMA])
def test_members_longer_than_they_claim_are_refused(method: int) -> None:
    with pytest.raises(UnpackingError, match="'content' unpacks to more than it claims"):
        check_zip(claiming(10, bytes(11), method))


def test_what_is_refused_is_not_unpacked() -> None:
    bomb = claiming(10, bytes(64 << 20))
    tracemalloc.start()
    with pytest.raises(UnpackingError):
        check_zip(bomb)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 8 << 20


def test_damaged_members_are_no_archive() -> None:
    damaged = archive(bytes(range(256)) * 9)
    damaged[37:41] = b"\xff" * 4
    with pytest.raises(BadZipFile, match="cannot be unpacked"):
        check_zip(BytesIO(damaged))


@pytest.mark.parametrize(
    ("packed", "most"),
    [
        (1, SMALL),
        (1 << 20, RATIO << 20),
        (MAX_UNPACKED_BYTES // RATIO + 1, MAX_UNPACKED_BYTES),
        (MAX_UNPACKED_BYTES + 1, MAX_UNPACKED_BYTES + 1),
    ],
)
def test_a_file_unpacks_to_so_many_bytes_and_no_more(packed: int, most: int) -> None:
    check_unpacked(most, packed)
    with pytest.raises(UnpackingError, match=f"claim to unpack to {most + 1}"):
        check_unpacked(most + 1, packed)
