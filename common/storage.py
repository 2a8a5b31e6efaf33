"""Full disks: told apart from other failures to write, and named by their folder."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from common.errors import ErrorCode, OstrakaError

FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""What the system says where a disk, a quota or a limit of a file is used up."""


def is_full(error: OSError) -> bool:
    """Whether a failure to write means that there is no room."""
    return error.errno in FULL


def storage_full(folder: Path) -> OstrakaError:
    """The error of a folder on whose disk there is no room."""
    return OstrakaError(
        ErrorCode.STORAGE_FULL,
        f"There is no room on the disk of {folder}: free some or give it more, then try again.",
    )


@contextmanager
def room_in(folder: Path) -> Iterator[None]:
    """Raise `storage.full` naming `folder` where the block finds no room; other errors stay as they are."""
    try:
        yield
    except OSError as error:
        if not is_full(error):
            raise
        raise storage_full(folder) from error
