"""Votes of all scheduled parties on a batch, collected concurrently and summed in memory."""

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field

from ostraka.common.errors import OstrakaError
from ostraka.common.sharing.ring import RingArray
from ostraka.common.sharing.shares import add
from ostraka.common.telemetry.context import carrying


@dataclass(frozen=True)
class CollectedShares:
    """What came of a batch: this side's shares of ballots by site, and why the other parties gave none.

    Shares are ring values (queries, width) and never leave memory.
    """

    shares: Mapping[str, RingArray] = field(repr=False)
    failures: Mapping[str, OstrakaError]

    def total(self, frozen: Iterable[str]) -> RingArray:
        """Return the sum of the shares of exactly the frozen parties."""
        return add([self.shares[site] for site in frozen])


def collect(sites: Iterable[str], ask: Callable[[str], RingArray], pool: Executor) -> CollectedShares:
    """Ask the `sites` for their share, all at once, and wait for every one's share or failure."""

    def try_asking(site: str) -> RingArray | OstrakaError:
        try:
            return ask(site)
        except OstrakaError as error:
            return error

    asked = list(sites)
    waiting = [carrying(try_asking) for _ in asked]
    came = dict(zip(asked, pool.map(lambda ask_it, site: ask_it(site), waiting, asked), strict=True))
    return CollectedShares(
        shares={site: share for site, share in came.items() if not isinstance(share, OstrakaError)},
        failures={site: error for site, error in came.items() if isinstance(error, OstrakaError)},
    )
