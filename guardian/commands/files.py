"""Files that commands read and write."""

from pathlib import Path

from google.protobuf.message import DecodeError

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.files import read_bytes
from ostraka.common.storage import room_in
from ostraka.protos.ostraka.v1 import common_pb2


def read_text(path: Path) -> str:
    """Read a file's text; raises `data.missing`, or `data.unreadable` where it is not text."""
    try:
        return read_bytes(path).decode()
    except UnicodeDecodeError as exc:
        raise OstrakaError(ErrorCode.DATA_UNREADABLE, f"{path} is no text in UTF-8; correct it.") from exc


def read_signed(path: Path) -> common_pb2.Signed:
    """Read a signed message as its signer wrote it; raises `data.missing` or `data.unreadable`."""
    try:
        return common_pb2.Signed.FromString(read_bytes(path))
    except DecodeError as exc:
        raise OstrakaError(
            ErrorCode.DATA_UNREADABLE, f"{path} is no signed message; take the file as its signer wrote it."
        ) from exc


def write(path: Path, data: bytes | str) -> None:
    """Write a file; raises `config.invalid` where that cannot be done, `storage.full` without room."""
    try:
        with room_in(path.parent):
            path.write_bytes(data if isinstance(data, bytes) else data.encode())
    except OSError as exc:
        raise unwritable(path, exc) from exc


def unwritable(path: Path, error: OSError) -> OstrakaError:
    """Return the error for a file that cannot be written."""
    return OstrakaError(
        ErrorCode.CONFIG_INVALID,
        f"Cannot write {path}: {error.strerror}; name a file in a folder that exists and is writable.",
    )
