"""What was read of a ledger and still holds, because nobody has committed a change since."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import TypeVar, cast

T = TypeVar("T")
MOST = 32
"""Answers that are kept at a time; one of a session with thousands of parties takes a megabyte."""


class Recall:
    """Answers of one version of a ledger; threads may share it.

    An answer that is given was true at some moment after the question: as if it had been read then.
    """

    def __init__(self, version: Callable[[], object]) -> None:
        """Take what tells versions apart, as `Storage.version`."""
        self._version = version
        self._lock = threading.Lock()
        self._kept_of: object = None
        self._kept: dict[Hashable, object] = {}

    def answer(self, question: Hashable, read: Callable[[], T]) -> T:
        """Return what `read` returns, or returned to the same question in this version; raises as `read`."""
        version = self._version()
        with self._lock:
            if version != self._kept_of:
                self._kept_of, self._kept = version, {}
            kept = self._kept
            if question in kept:
                return cast(T, kept[question])
        found = read()
        with self._lock:
            if len(kept) >= MOST:
                kept.clear()
            kept[question] = found
        return found
