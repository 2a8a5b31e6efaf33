"""Per-site limits on a server's threads, so that calls that never end leave threads for other sites."""

import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import grpc
import structlog

from ostraka.common.errors import ErrorCode, OstrakaError

THREADS = 160
"""Number of calls that a server answers at once; four sites at their limits leave a fifth to others."""
READ_BYTES = 8192
"""Size of gRPC's reads. By default it keeps up to 64 KiB for each connection that ever sent a few KiB."""
TELL_AGAIN_S = 60.0
"""Time after a warning that a site has too many calls during which no other is logged for it."""


@dataclass(frozen=True)
class CallLimits:
    """Limits on the calls of one site.

    Attributes:
        of_one_site: concurrent calls, with whatever certificates. A party that answers the maximum number of
            batches needs 26 at the guardian, a querying site 18 at a party.
        first_s: seconds until a call's first message must be complete: it may be a share of 4 MiB, and its
            party waits as long.
        next_s: seconds until each further message must be complete, 1 MiB at most over a link that many
            streams share.
        every_s: interval in seconds at which waiting calls are checked.
        idle_s: seconds without a call after which a connection is closed.
    """

    of_one_site: int = 32
    first_s: float = 30.0
    next_s: float = 300.0
    every_s: float = 1.0
    idle_s: float = math.inf


class Places:
    """Concurrent calls by site; safe to use from many threads."""

    def __init__(self, limits: CallLimits, timer: Callable[[], float] = time.monotonic) -> None:
        """Start with no calls; `timer` is in seconds."""
        self._most = limits.of_one_site
        self._timer = timer
        # Guards both counts, briefly: a warning is logged outside the lock.
        self._lock = threading.Lock()
        self._taken: Counter[str] = Counter()
        self._told: dict[str, float] = {}

    @contextmanager
    def place(self, site: str) -> Iterator[None]:
        """Count a call of `site` within the block; raise `server.busy` if the site has too many."""
        if not self._take(site):
            raise OstrakaError(
                ErrorCode.SERVER_BUSY,
                f"This site has {self._most} calls under way here, as many as one may: end some, or ask again"
                " in a moment.",
            )
        try:
            yield
        finally:
            with self._lock:
                self._taken[site] -= 1
                if not self._taken[site]:
                    del self._taken[site]

    def _take(self, site: str) -> bool:
        with self._lock:
            if self._taken[site] < self._most:
                self._taken[site] += 1
                return True
            now = self._timer()
            tell = now - self._told.get(site, float("-inf")) >= TELL_AGAIN_S
            if tell:
                self._told[site] = now
        if tell:
            structlog.get_logger().warning("rpc.busy", site=site, calls=self._most)
        return False


class Waits:
    """Calls that wait for a message from their caller; those that wait too long are cancelled.

    A thread checks them as long as there are any.
    """

    def __init__(self, limits: CallLimits, timer: Callable[[], float] = time.monotonic) -> None:
        """Start with no waiting calls; `timer` is in seconds."""
        self._limits = limits
        self._timer = timer
        # Guards `_until` and `_watched` together: a call that comes as the thread ends starts another thread.
        self._lock = threading.Lock()
        self._until: dict[grpc.ServicerContext, tuple[float, str]] = {}
        self._watched = False

    def messages(self, requests: Iterator[Any], context: grpc.ServicerContext, site: str) -> Iterator[Any]:
        """Yield the messages of a call of `site`; each must come in time."""
        allowed = self._limits.first_s
        while True:
            self._begin(context, allowed, site)
            try:
                message = next(requests)
            except StopIteration:
                return
            finally:
                self._end(context)
            yield message
            allowed = self._limits.next_s

    def cancel_late(self) -> None:
        """Cancel every call that has waited too long."""
        now = self._timer()
        with self._lock:
            late = {context: site for context, (until, site) in self._until.items() if until <= now}
            for context in late:
                del self._until[context]
        for site, calls in Counter(late.values()).items():
            structlog.get_logger().warning("rpc.idle", site=site, calls=calls)
        for context in late:
            context.cancel()

    def _begin(self, context: grpc.ServicerContext, allowed_s: float, site: str) -> None:
        with self._lock:
            self._until[context] = self._timer() + allowed_s, site
            if not self._watched:
                self._watched = True
                threading.Thread(target=self._watch, name="waits", daemon=True).start()

    def _end(self, context: grpc.ServicerContext) -> None:
        with self._lock:
            self._until.pop(context, None)

    def _watch(self) -> None:
        tick = threading.Event()
        while self._is_busy():
            tick.wait(self._limits.every_s)
            self.cancel_late()

    def _is_busy(self) -> bool:
        """Whether calls wait; if not, the next one starts another thread."""
        with self._lock:
            self._watched = bool(self._until)
            return self._watched
