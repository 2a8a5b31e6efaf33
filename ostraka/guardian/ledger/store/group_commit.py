"""Changes of one kind that threads ask for at the same time, made in one transaction."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from ostraka.common.errors import ErrorCode, OstrakaError

MAX_CHANGES = 64
"""Changes made in one transaction; others wait for its locks."""
COMMIT_DELAY_S = 0.01
"""For how long more changes are waited for, where the transaction before had several: each costs less so."""
FAILED = (ErrorCode.LEDGER_FENCED, ErrorCode.LEDGER_UNREACHABLE, ErrorCode.STORAGE_FULL)
"""What no change is refused with, but every transaction ends with, whatever a caller does then: none of the
group is tried alone."""
Change = Callable[..., Sequence[Any]]
"""Takes a transaction and a sequence of what is wanted, and returns as many results, or changes nothing."""


@dataclass(frozen=True, eq=False)
class _Asked:
    """What one thread wants, and waits for."""

    change: Change
    key: Hashable
    wanted: Any
    outcome: Future[Any] = field(default_factory=Future)


class GroupCommit:
    """Collects what is asked for while a transaction is under way, for the next one.

    So a disk, and each statement, are waited for once for all of them and not once each.
    """

    def __init__(
        self,
        write: Callable[[Change, Sequence[Any]], Sequence[Any]],
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self._write = write
        self._sleep = sleep
        self._several = False
        # Guards what waits: threads add to it while the writer takes from it.
        self._lock = threading.Lock()
        self._waiting: list[_Asked] = []
        self._writer = ThreadPoolExecutor(1, "group-commit")

    def make(self, change: Change, key: Hashable, wanted: Any) -> Any:
        """Return the result of `wanted`, durable; no two of one `key` are in one transaction.

        Where one of several is refused each is tried alone, so that none suffers for another. Where the
        ledger fails all are told so at once.
        """
        asked = _Asked(change, key, wanted)
        # Before the writer is called: whichever call of it runs next then finds this, or another took it.
        with self._lock:
            self._waiting.append(asked)
        self._writer.submit(self._make_next)
        return asked.outcome.result()

    def close(self) -> None:
        """Make what was asked for, and end the thread that does."""
        self._writer.shutdown()

    def _make_next(self) -> None:
        """Make what waits; nothing where an earlier transaction took it."""
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
