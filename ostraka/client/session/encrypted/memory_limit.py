"""A limit on what is held in memory at once."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

LIMIT_BYTES = 2**30
"""Garbled tables held at once; a party whose tables are more is asked alone."""


class MemoryLimit:
    """So many bytes, of which threads take their part and give it back."""

    def __init__(self, size: int = LIMIT_BYTES) -> None:
        """All of it is free."""
        self._size = self._free = size
        self._changed = threading.Condition()

    @contextmanager
    def taken(self, size: int) -> Iterator[None]:
        """Wait until `size` bytes are free, or everything is, and hold them while the block lasts."""
        part = min(size, self._size)
        with self._changed:
            self._changed.wait_for(lambda: self._free >= part)
            self._free -= part
        try:
            yield
        finally:
            with self._changed:
                self._free += part
                self._changed.notify_all()
