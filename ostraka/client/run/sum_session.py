"""A session of sums, opened from a site folder for the run in a folder."""

import secrets
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from ostraka.client.peers.guardian_peer import GuardianPeer
from ostraka.client.peers.retry import Retry
from ostraka.client.run.site import connect_parties, guardian_of, threads
from ostraka.client.session.permissions import Permissions
from ostraka.client.sums.peer import SumPeer
from ostraka.client.sums.sum_store import SumStore
from ostraka.client.sums.summing import SummingSession
from ostraka.common.clock import Clock, SystemClock
from ostraka.common.config import SiteConfig
from ostraka.common.identity import Credentials


@dataclass(frozen=True)
class SumRun:
    """Settings of asking for sums that do not change the plan.

    Attributes:
        on_progress: called with the number of released sums, and their total.
        retry: how often an unreachable server is called again.
        clock: the clock.
        random: `random(n)` returns n random bytes, for nonces.
    """

    on_progress: Callable[[int, int], None] = lambda done, total: None
    retry: Retry = field(default_factory=Retry)
    clock: Clock = field(default_factory=SystemClock)
    random: Callable[[int], bytes] = secrets.token_bytes


@contextmanager
def open_sums(
    site: SiteConfig, guardian: GuardianPeer, store: SumStore, run: SumRun
) -> Iterator[SummingSession]:
    """Open the session of a run's plan with the plan's parties."""
    parties = store.plan.parties
    with ExitStack() as stack:
        pool = stack.enter_context(threads(len(parties)))
        peers = stack.enter_context(connect_parties(site, parties, SumPeer, run.clock, run.retry, pool))
        permissions = Permissions(Credentials.of(site), guardian_of(site), run.clock)
        yield SummingSession(guardian, peers, permissions, store, run.on_progress)
