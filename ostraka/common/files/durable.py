"""Files that are there whole, the old one or the new, whatever happens, also where the disk is full."""

import errno
import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ostraka.common.errors import ErrorCode, OstrakaError

FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""What the system says where a disk, a quota or the largest size of a file is used up."""
MIN_ROOM_BYTES = 64 * 1024
"""Bytes: with fewer left, a database's failure to write is taken to be for want of room."""


def is_full(error: BaseException) -> bool:
    """Whether a failure to write means that there is no room; libraries in Rust have words for it alone."""
    if isinstance(error, OSError) and error.errno in FULL:
        return True
    return os.strerror(errno.ENOSPC) in str(error)


def storage_full(folder: Path | str) -> OstrakaError:
    """Return the error for a folder on whose disk there is no room."""
    return OstrakaError(
        ErrorCode.STORAGE_FULL,
        f"There is no room on the disk of {folder}: free some or give it more, then try again.",
    )


def is_used_up(folder: Path) -> bool:
    """Whether next to nothing can be written into a folder that is there."""
    try:
        return shutil.disk_usage(folder).free < MIN_ROOM_BYTES
    except OSError:
        return False


@contextmanager
def room_in(folder: Path) -> Iterator[None]:
    """Raise `storage.full` naming `folder` where the block finds no room; other errors stay as they are."""
    try:
        yield
    except OstrakaError:
        raise
    except Exception as error:
        if not is_full(error):
            raise
        raise storage_full(folder) from error


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
                # On the disk before the name leads to it: no crash leaves half a file there.
                os.fsync(file.fileno())
                os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    # Then the folder's entry: without it the old name may be back after a crash.
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
        # Closing is what gives the lock up, also where the process dies.
        os.close(held)
