"""Files in memory, for a library that can only read and write files."""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def memory_file(content: bytes | memoryview = b"") -> Iterator[tuple[str, int]]:
    """Yield path and descriptor of a temporary file with `content` that only this process can open.

    On Linux it never touches a disk. Elsewhere it is a private temporary file.
    """
    if sys.platform != "linux":
        with tempfile.NamedTemporaryFile() as file:
            file.write(content)
            file.flush()
            yield file.name, file.fileno()
        return
    descriptor = os.memfd_create("ostraka", os.MFD_CLOEXEC)
    try:
        with os.fdopen(os.dup(descriptor), "wb") as file:
            file.write(content)
        yield f"/proc/self/fd/{descriptor}", descriptor
    finally:
        os.close(descriptor)


def content_of(descriptor: int) -> bytes:
    """Return everything in the file behind `descriptor`."""
    size = os.fstat(descriptor).st_size
    parts = []
    done = 0
    while done < size:
        parts.append(os.pread(descriptor, size - done, done))
        done += len(parts[-1])
    return b"".join(parts)
