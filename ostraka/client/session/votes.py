"""Votes of all scheduled parties on a batch, collected concurrently and summed in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field

from ostraka.client.peers.verification import Verification
from ostraka.client.session.asking import ask_each, failures
from ostraka.client.session.stragglers import Waiting
from ostraka.common.errors import OstrakaError
from ostraka.common.sharing.modulus import Modulus, RingArray
from ostraka.common.sharing.row_sums import RowSums


@dataclass(frozen=True)
class CollectedShares:
    """What came of a batch: this side's shares of ballots by site, and why the other parties gave none.

    Where ballots are verified, `verification` is what the guardian needs of this side for that, and where
    their row sums are checked, `row_sums`. `last` are the parties that the others waited for.

    Shares are ring values (queries, width) and never leave memory.
    """

    shares: Mapping[str, RingArray] = field(repr=False)
    failures: Mapping[str, OstrakaError]
    verification: Verification | None = field(default=None, repr=False)
    row_sums: RowSums | None = field(default=None, repr=False)
    last: tuple[str, ...] = ()

    def without(self, refused: Mapping[str, OstrakaError]) -> CollectedShares:
        """Return the same without these parties' shares, and why."""
        kept = {site: share for site, share in self.shares.items() if site not in refused}
        return CollectedShares(kept, {**self.failures, **refused})

    def total(self, frozen: Iterable[str], ring: Modulus) -> RingArray:
        """Return the sum in `ring` of the shares of exactly the frozen parties."""
        return ring.sum(self.shares[site] for site in frozen)


def collect(
    sites: Iterable[str],
    ask: Callable[[str], RingArray],
    pool: Executor,
    waiting: Waiting,
    cut: Callable[[str], None],
) -> CollectedShares:
    """Ask the `sites` for their share as `ask_each` does; return every one's share, or why it gave none."""
    came = ask_each(sites, ask, pool, waiting, cut)
    return CollectedShares(
        shares={site: share for site, share in came.items() if not isinstance(share, OstrakaError)},
        failures=failures(came),
        last=waiting.last,
    )
