"""Limit on consecutive dead batches before a run stops."""

from collections.abc import Hashable

MOST = 3
"""Batches in a row that may die with the same voters."""


class FailureLimit:
    """Counts batches that died since the last release.

    Under `vanish` a unit that is used up takes one batch with it and is left out of the next. A batch with
    other voters than the one that died before it therefore begins the count anew, once a cohort at most.
    """

    def __init__(self, cohorts: int) -> None:
        """Nothing died yet; `cohorts` may vote in the session."""
        self._cohorts = cohorts
        self.clear()

    def clear(self) -> None:
        """Begin the count anew, as a batch was released."""
        self._count = self._excused = 0
        self._died: Hashable = None

    def count(self, voters: Hashable) -> None:
        """Count a batch of these voters that died; None where it had no ticket, so that it excuses nobody."""
        voters = self._died if voters is None else voters
        if self._count and voters != self._died and self._excused < self._cohorts:
            self._count = 0
            self._excused += 1
        self._count += 1
        self._died = voters

    @property
    def any(self) -> bool:
        """Whether a batch died since the last release."""
        return self._count > 0

    @property
    def too_many(self) -> bool:
        """Whether to give up."""
        return self._count >= MOST

    @property
    def next_is_last(self) -> bool:
        """Whether one more death of the same voters is too many."""
        return self._count + 1 >= MOST
