"""Availability of parties: parties that answer are scheduled, the rest are retried; dead batches are
counted."""

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass

from ostraka.common.errors import ErrorCode, OstrakaError, Retry

TRY_AGAIN_AFTER = 5
"""Batches for which a party that failed is left out before it is tried again: a try may cost a
batch the wait for one that is still away, and one that is back misses so many."""

MENDABLE = frozenset({ErrorCode.BATCH_ALTERED, ErrorCode.MESSAGE_INVALID, ErrorCode.PARTY_NOT_ENCRYPTED})
"""Refusals of one batch for good that do not tell what the party says to the next: its operator may have
another version or other teachers serve by then."""


@dataclass(frozen=True)
class _Failure:
    error: OstrakaError
    batch: int

    @property
    def lasting(self) -> bool:
        return self.error.code.retry is Retry.NEVER and self.error.code not in MENDABLE


class Availability:
    """Keeps who failed and why; `unreachable` says which of some parties cannot be reached, and why."""

    def __init__(
        self,
        sites: Iterable[str],
        quorum: int,
        unreachable: Callable[[Iterable[str]], Mapping[str, OstrakaError]],
    ) -> None:
        """Take the session's parties; nobody is asked before the first batch."""
        self._sites = frozenset(sites)
        self._quorum = quorum
        self._unreachable = unreachable
        self._failures: dict[str, _Failure] = {}
        self._batch = 0

    @property
    def failures(self) -> Mapping[str, OstrakaError]:
        """Why each party that is left out is left out, by site."""
        return {site: failure.error for site, failure in sorted(self._failures.items())}

    def leave_out(self, site: str, error: OstrakaError) -> None:
        """Leave a party out from now on."""
        self._failures[site] = _Failure(error, self._batch)

    def unavailable(self) -> list[str]:
        """Return the parties to leave out of the next batch; raise `quorum.lost` when too few are left.

        Every party is probed before the first batch, one that failed every few batches, and all that failed
        when the others are fewer than the quorum.
        """
        self._batch += 1
        if self._batch == 1:
            self._try(self._sites)
        self._try(site for site, failure in self._failures.items() if self._due(failure))
        if not self._enough():
            self._try(site for site, failure in self._failures.items() if not failure.lasting)
        if not self._enough():
            raise quorum_lost(len(self._sites) - len(self._failures), self._quorum, self.failures)
        return sorted(self._failures)

    def _due(self, failure: _Failure) -> bool:
        return not failure.lasting and self._batch - failure.batch > TRY_AGAIN_AFTER

    def _enough(self) -> bool:
        return len(self._sites) - len(self._failures) >= self._quorum

    def _try(self, sites: Iterable[str]) -> None:
        asked = sorted(sites)
        failed = self._unreachable(asked)
        for site in asked:
            if site in failed:
                self.leave_out(site, failed[site])
            else:
                self._failures.pop(site, None)


def quorum_lost(left: int, quorum: int, failures: Mapping[str, OstrakaError]) -> OstrakaError:
    """Return the error for too few parties, with the error of each missing party."""
    reasons = "; ".join(f"{site}: [{error.code}] {error.message}" for site, error in failures.items())
    return OstrakaError(
        ErrorCode.QUORUM_LOST,
        f"Only {left} of the {quorum} parties that the quorum requires take part. The answers so far are "
        "kept; have more parties serve and run the same command again to go on. Left out: "
        f"{reasons or 'none'}",
    )


MAX_DEATHS = 3
"""Batches in a row that may die with the same voters: a restart and a failover, which cost one each, may come
together, and what fails for good is not asked for long."""


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
        """Reset the count, because a batch was released."""
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
        return self._count >= MAX_DEATHS

    @property
    def next_is_last(self) -> bool:
        """Whether one more death of the same voters is too many."""
        return self._count + 1 >= MAX_DEATHS
