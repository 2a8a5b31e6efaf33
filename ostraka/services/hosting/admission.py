"""Limit on concurrent batches: further batches are refused and may be sent again."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from ostraka.common.errors import ErrorCode, OstrakaError

PLACES = 24
"""Maximum number of batches in progress: fewer than the server's threads, so other calls are still
answered."""
OF_ONE_SITE = 18
"""Maximum of these for a single site, so a site that never ends its batches leaves room for others."""
HELD_BYTES = 2**30
"""Maximum memory for the queries of all batches in progress."""


class Admission:
    """Places for batches, from their header to their reply; thread-safe."""

    def __init__(
        self, places: int = PLACES, held_bytes: int = HELD_BYTES, of_one_site: int = OF_ONE_SITE
    ) -> None:
        """Start with all places free; a batch larger than `held_bytes` is accepted if it is the only one."""
        self._places = places
        self._of_one_site = of_one_site
        self._held_bytes = held_bytes
        self._under_way: Counter[str] = Counter()
        self._held = 0
        self._stopping = False
        # Guards all counts, which are compared and changed together; notified when a place is free.
        self._changed = threading.Condition()

    @property
    def places(self) -> int:
        """The maximum number of batches in progress."""
        return self._places

    @property
    def used(self) -> int:
        """The number of batches in progress."""
        with self._changed:
            return self._under_way.total()

    @property
    def held(self) -> int:
        """Bytes of their queries."""
        with self._changed:
            return self._held

    @contextmanager
    def place(self, size: int, site: str) -> Iterator[None]:
        """Occupy a place for a batch of `size` bytes from `site`, in the block.

        Raises:
            OstrakaError: `server.busy` if there is none, `server.stopping` after `close`.
        """
        self._enter(size, site)
        try:
            yield
        finally:
            self._leave(size, site)

    def close(self) -> None:
        """Accept no more batches."""
        with self._changed:
            self._stopping = True

    def wait_until_empty(self, timeout_s: float) -> None:
        """Return when no batch is in progress, or after `timeout_s` seconds."""
        with self._changed:
            self._changed.wait_for(lambda: self._under_way.total() == 0, timeout_s)

    def _enter(self, size: int, site: str) -> None:
        with self._changed:
            if self._stopping:
                raise stopping()
            under_way = self._under_way.total()
            full = under_way >= self._places or self._held + size > self._held_bytes
            if (under_way and full) or self._under_way[site] >= self._of_one_site:
                raise OstrakaError(
                    ErrorCode.SERVER_BUSY,
                    "This party has as many batches under way as it can hold: ask again in a moment.",
                )
            self._under_way[site] += 1
            self._held += size

    def _leave(self, size: int, site: str) -> None:
        with self._changed:
            self._under_way[site] -= 1
            self._held -= size
            self._changed.notify_all()


def stopping() -> OstrakaError:
    """Return the refusal of a batch that came after a party was told to stop."""
    return OstrakaError(
        ErrorCode.SERVER_STOPPING,
        "This party is shutting down and accepts no more batches: ask again when it serves again, or go "
        "on without it.",
    )
