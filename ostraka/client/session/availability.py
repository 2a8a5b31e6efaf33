"""Availability of parties: parties that answer are scheduled, others are retried; dead batches are
counted."""

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass

from ostraka.common.errors import ErrorCode, OstrakaError, Retry

TRY_AGAIN_AFTER = 5
"""Number of batches for which a failed party is left out before it is tried again. A retry may delay a batch
if the party is still down; a party that has recovered misses this many batches."""

MENDABLE = frozenset({ErrorCode.BATCH_ALTERED, ErrorCode.MESSAGE_INVALID, ErrorCode.PARTY_NOT_ENCRYPTED})
"""Permanent refusals of one batch that do not predict the party's reply to the next one: its operator may
have deployed another version or other teachers by then."""


@dataclass(frozen=True)
class _Failure:
    error: OstrakaError
    batch: int

    @property
    def lasting(self) -> bool:
        return self.error.code.retry is Retry.NEVER and self.error.code not in MENDABLE


class Availability:
    """Records which parties failed and why; `unreachable` probes parties and returns their errors."""

    def __init__(
        self,
        sites: Iterable[str],
        quorum: int,
        unreachable: Callable[[Iterable[str]], Mapping[str, OstrakaError]],
    ) -> None:
        """Take the session's parties; none is probed before the first batch."""
        self._sites = frozenset(sites)
        self._quorum = quorum
        self._unreachable = unreachable
        self._failures: dict[str, _Failure] = {}
        self._restarts: dict[str, int] = {}
        self._batch = 0

    @property
    def failures(self) -> Mapping[str, OstrakaError]:
        """The reason why each party is left out, by site."""
        return {site: failure.error for site, failure in sorted(self._failures.items())}

    def leave_out(self, site: str, error: OstrakaError) -> None:
        """Leave a party out from now on."""
        self._failures[site] = _Failure(error, self._batch)

    def excuses_restart(self, site: str) -> bool:
        """Whether a party's restart may end the batches that are open now: only once in a session.

        A party that says in every batch that it restarted would else end most of them, and other parties pay
        for encrypted queries that they evaluated in vain.
        """
        return self._restarts.setdefault(site, self._batch) == self._batch

    def unavailable(self) -> list[str]:
        """Return the parties to leave out of the next batch; raise `quorum.lost` if too few are left.

        Every party is probed before the first batch, and a failed party again every few batches. If fewer
        parties than the quorum are left, all failed parties are probed again.
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
    """Return the error for too few parties; it contains the error of each missing party."""
    reasons = "; ".join(f"{site}: [{error.code}] {error.message}" for site, error in failures.items())
    return OstrakaError(
        ErrorCode.QUORUM_LOST,
        f"Only {left} of the {quorum} parties that the quorum requires take part. The answers so far are "
        "kept; have more parties serve and run the same command again to go on. Left out: "
        f"{reasons or 'none'}",
    )


MAX_DEATHS = 3
"""Consecutive batches with the same voters that may die: a restart and a failover cost one batch each and may
coincide, and a permanent failure is not retried for long."""


class FailureLimit:
    """Counts batches that died since the last release.

    Under `vanish`, a unit with an exhausted budget costs one batch and is left out of the next. So the count
    restarts when a batch dies whose voters differ from the last dead batch, at most as often as there are
    cohorts.
    """

    def __init__(self, cohorts: int) -> None:
        """Start at zero; `cohorts` may vote in the session."""
        self._cohorts = cohorts
        self.clear()

    def clear(self) -> None:
        """Reset the count, because a batch was released."""
        self._count = self._excused = 0
        self._died: Hashable = None

    def count(self, voters: Hashable) -> None:
        """Count a dead batch of these voters; None if it had no ticket, which does not restart the count."""
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
        """Whether one more dead batch with the same voters is too many."""
        return self._count + 1 >= MAX_DEATHS
