"""Durable files: after any failure the whole old or the whole new content is there, even on a full disk."""

import errno
import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ostraka.common.errors import ErrorCode, OstrakaError

FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""System errors for a full disk, a used-up quota, or a file of the largest size."""
MIN_ROOM_BYTES = 64 * 1024
"""With fewer bytes left, a database's failure to write is attributed to lack of space."""


def is_full(error: BaseException) -> bool:
    """Return whether a write failed for lack of space; Rust libraries say so only in words."""
    if isinstance(error, OSError) and error.errno in FULL:
        return True
    return os.strerror(errno.ENOSPC) in str(error)


def storage_full(folder: Path | str) -> OstrakaError:
    """Return the error for a folder whose disk is full."""
    return OstrakaError(
        ErrorCode.STORAGE_FULL,
        f"There is no room on the disk of {folder}: free some or give it more, then try again.",
    )


def is_used_up(folder: Path) -> bool:
    """Return whether almost nothing can be written into an existing folder."""
    try:
        return shutil.disk_usage(folder).free < MIN_ROOM_BYTES
    except OSError:
        return False


@contextmanager
def room_in(folder: Path) -> Iterator[None]:
    """Raise `storage.full` naming `folder` if the block finds the disk full; pass on other errors."""
    try:
        yield
    except OstrakaError:
        raise
    except Exception as error:
        if not is_full(error):
            raise
        raise storage_full(folder) from error


def read_bytes(path: Path) -> bytes:
    """Return a file's bytes; raise `data.missing` if it cannot be read."""
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
    """Replace a file's content so that any failure leaves the old or the new one; durable on return.

    Nothing else is left beside it if writing fails.

    Raises:
        OstrakaError: storage.full; other failures as OSError.
    """
    temporary = path.with_name(path.name + ".tmp")
    try:
        with room_in(path.parent):
            temporary.unlink(missing_ok=True)
            # Always a new file, never written through a link that somebody left under this name.
            with temporary.open("xb") as file:
                file.write(content)
                file.flush()
                # On the disk before the rename, so that no crash leaves half a file under the name.
                os.fsync(file.fileno())
                os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    # Sync the folder's entry too; without it the old file may be back after a crash.
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


@contextmanager
def one_at_a_time(folder: Path) -> Iterator[None]:
    """Wait until no other process is in such a block with this folder; a process that dies leaves it.

    Raises:
        OSError: the folder cannot be read.
    """
    held = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
    finally:
        # Closing releases the lock, and so does the end of the process.
        os.close(held)
