"""Commits concurrent changes of one kind, requested by several threads, in one transaction."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from ostraka.common.errors import ErrorCode, OstrakaError

MAX_CHANGES = 64
"""Largest number of changes in one transaction; other transactions wait for its locks."""
COMMIT_DELAY_S = 0.01
"""How long to wait for more changes if the previous transaction had several: that makes each cheaper."""
FAILED = (ErrorCode.LEDGER_FENCED, ErrorCode.LEDGER_UNREACHABLE, ErrorCode.STORAGE_FULL)
"""Errors that end any transaction but never refuse a single change: after them no change of the group is
tried alone."""
Change = Callable[..., Sequence[Any]]
"""Takes a transaction and a sequence of requests, and returns as many results, or changes nothing."""


@dataclass(frozen=True, eq=False)
class _Asked:
    """The request of one thread that waits for its result."""

    change: Change
    key: Hashable
    wanted: Any
    outcome: Future[Any] = field(default_factory=Future)


class GroupCommit:
    """Collects requests for the next transaction while one is under way.

    All of them then wait for the disk, and for each statement, once together.
    """

    def __init__(
        self,
        write: Callable[[Change, Sequence[Any]], Sequence[Any]],
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self._write = write
        self._sleep = sleep
        self._several = False
        # Guards the waiting requests: threads add to them while the writer takes from them.
        self._lock = threading.Lock()
        self._waiting: list[_Asked] = []
        self._writer = ThreadPoolExecutor(1, "group-commit")

    def make(self, change: Change, key: Hashable, wanted: Any) -> Any:
        """Return the result of `wanted`, durable; no two requests of one `key` share a transaction.

        If one of several is refused, each is tried alone, so no request suffers for another. If the ledger
        fails, all get the error at once.
        """
        asked = _Asked(change, key, wanted)
        # Before the writer is called: its next call then finds this request, or another call took it.
        with self._lock:
            self._waiting.append(asked)
        self._writer.submit(self._make_next)
        return asked.outcome.result()

    def close(self) -> None:
        """Finish all requests, and end the writer's thread."""
        self._writer.shutdown()

    def _make_next(self) -> None:
        """Make the waiting changes; nothing if an earlier transaction took them."""
        if self._several and self._waiting:
            self._sleep(COMMIT_DELAY_S)
        group = self._next()
        if group:
            self._several = len(group) > 1
            self._make(group)

    def _next(self) -> list[_Asked]:
        group: dict[Hashable, _Asked] = {}
        with self._lock:
            for asked in self._waiting:
                if len(group) < MAX_CHANGES and asked.change == self._waiting[0].change:
                    group.setdefault(asked.key, asked)
            self._waiting = [asked for asked in self._waiting if group.get(asked.key) is not asked]
        return list(group.values())

    def _make(self, group: Sequence[_Asked]) -> None:
        try:
            results = self._write(group[0].change, [asked.wanted for asked in group])
        except BaseException as exc:
            failed = isinstance(exc, OstrakaError) and exc.code in FAILED
            for asked in group:
                if failed or len(group) == 1:
                    asked.outcome.set_exception(exc)
                else:
                    self._make([asked])
            return
        for asked, result in zip(group, results, strict=True):
            asked.outcome.set_result(result)
