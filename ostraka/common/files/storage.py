"""Full disks: told apart from other failures to write, and named by their folder."""

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ostraka.common.errors import ErrorCode, OstrakaError

FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""What the system says where a disk, a quota or the largest size of a file is used up."""
LEAST_ROOM = 64 * 1024
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
        return shutil.disk_usage(folder).free < LEAST_ROOM
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
