"""Disks so small that a test can fill them."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.skips import skip_or_fail

FILLER = "filler"
PAGE = 4096


@contextmanager
def small_disk(folder: Path, kilobytes: int) -> Iterator[Path]:
    """Mount a file system of that size at `folder`; skip the test if mounting is impossible."""
    folder.mkdir(parents=True, exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k,mode=0700", "tmpfs", str(folder)]
    try:
        mounted = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        skip_or_fail("small file systems cannot be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(folder: Path, but_for: int = 0) -> None:
    """Fill a folder's disk, except for this many pages of 4 KiB."""
    with (folder / FILLER).open("ab", buffering=0) as file:
        with suppress(OSError):
            while True:
                file.write(bytes(PAGE))
        file.truncate(max(0, file.tell() - but_for * PAGE))


def free(folder: Path) -> None:
    """Free the space again."""
    (folder / FILLER).unlink()
