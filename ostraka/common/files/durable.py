"""Files that people name, and files that are there whole, the old one or the new, whatever happens."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.files.storage import room_in


def read_bytes(path: Path) -> bytes:
    """Return a file's bytes; raise `data.missing` where it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as exc:
        raise OstrakaError(
            ErrorCode.DATA_MISSING, f"{path} cannot be read ({exc.strerror}); check its path."
        ) from exc


def write_atomic(path: Path, text: str) -> None:
    """Replace a file's text as `replace_durably` does."""
    replace_durably(path, text.encode())


def replace_durably(path: Path, content: bytes) -> None:
    """Replace a file's content so that it is the old or the new whatever happens, durable on return.

    Nothing else is left beside it where it cannot be written.

    Raises:
        OstrakaError: storage.full; other failures as OSError.
    """
    temporary = path.with_name(path.name + ".tmp")
    try:
        with room_in(path.parent):
            temporary.unlink(missing_ok=True)
            # A new file: never through a link that somebody left under this name.
            with temporary.open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
                os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


@contextmanager
def one_at_a_time(folder: Path) -> Iterator[None]:
    """Wait until no other process is in such a block with this folder; one that dies leaves it, too.

    Raises:
        OSError: the folder cannot be read.
    """
    held = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
    finally:
        os.close(held)
