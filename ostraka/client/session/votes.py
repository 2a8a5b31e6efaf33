"""Votes of all scheduled parties on a batch of plain queries: collected concurrently, and summed."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace

from ostraka.client.peers.event_loop import run_async
from ostraka.client.peers.party_peer import VoteBatch
from ostraka.client.peers.verification import Verification
from ostraka.client.session.asking import ask_all, ask_each, failures, unreachable
from ostraka.client.session.batch import Granted, Peers, Queries, Ticketed
from ostraka.client.session.meter import Meter
from ostraka.client.session.stragglers import Patience, Waiting
from ostraka.common.errors import OstrakaError
from ostraka.common.identity import Credentials
from ostraka.common.plan.schedules import read_schedule
from ostraka.common.sharing.modulus import Modulus, RingArray
from ostraka.common.sharing.shares import KEY_BYTES, SEED_BYTES, RowSums, expand
from ostraka.common.verified.parts import context_of, join_ballots, parts_of
from ostraka.common.verified.querier import count_shares


@dataclass(frozen=True)
class CollectedShares:
    """The outcome of a vote: this side's shares of ballots by site, and the errors of the other parties.

    `verification` is what the guardian needs from this side to verify ballots, and `row_sums` to check their
    row sums, if the plan says so. `last` are the slowest parties.

    Shares are ring values (queries, width) and never leave memory.
    """

    shares: Mapping[str, RingArray] = field(repr=False)
    failures: Mapping[str, OstrakaError]
    verification: Verification | None = field(default=None, repr=False)
    row_sums: RowSums | None = field(default=None, repr=False)
    last: tuple[str, ...] = ()

    def without(self, refused: Mapping[str, OstrakaError]) -> CollectedShares:
        """Move these parties from the shares to the failures."""
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
    """Ask the `sites` for their shares, as `ask_each` does; return each share or the party's error."""
    came = ask_each(sites, ask, pool, waiting, cut)
    return CollectedShares(
        shares={site: share for site, share in came.items() if not isinstance(share, OstrakaError)},
        failures=failures(came),
        last=waiting.last,
    )


@dataclass(eq=False, repr=False, frozen=True)
class PlainVoting:
    """Collects votes on plain queries in an open session; `random(n)` returns n random bytes."""

    peers: Peers
    session: Granted
    meter: Meter
    random: Callable[[int], bytes] = secrets.token_bytes

    def unreachable(self, sites: Iterable[str]) -> dict[str, OstrakaError]:
        """Return the errors of the `sites` that cannot be reached."""
        return unreachable(self.peers.voters, sites)

    def collect(self, ticket: Ticketed, queries: Queries) -> CollectedShares:
        """Collect this side's shares of the ballots of every party in the ticket, or the party's error."""
        session = self.session
        plan = self.session.plan
        width = plan.mechanism.width(plan.classes)
        ring = plan.modulus
        asked = VoteBatch(
            session.plan_bytes, width, session.entries, ticket.entries, queries.features, queries.clusters
        )
        waiting = Waiting(Patience.of(ticket, session, self.peers.permissions.clock))
        came = run_async(self._seeds(ticket, asked, waiting))
        seeds = {site: seed for site, seed in came.items() if not isinstance(seed, OstrakaError)}
        if plan.ballots == "verified":
            credentials = self.peers.permissions.credentials
            verified = share_verified(session, ticket, seeds, credentials, self.random)
            return replace(verified, failures=failures(came), last=waiting.last)
        shares = {site: expand(seed, len(queries), width, ring) for site, seed in seeds.items()}
        votes = CollectedShares(shares, failures(came), last=waiting.last)
        if plan.checks_row_sums:
            return replace(votes, row_sums=RowSums.of(self.random(KEY_BYTES), votes.shares, ring))
        return votes

    async def _seeds(
        self, ticket: Ticketed, asked: VoteBatch, waiting: Waiting
    ) -> Mapping[str, bytes | OstrakaError]:
        """Ask every party; stragglers are cut off."""
        self.meter.begin("vote", len(ticket.sites))

        async def ask(site: str) -> bytes:
            with self.meter.measure("party", "vote") as traffic:
                traffic.sent += len(asked.data)
                seed = await self.peers.voters[site].vote(asked)
                traffic.received += len(seed)
            self.meter.advance("vote")
            return seed

        return await ask_all(ticket.sites, ask, waiting)


def share_verified(
    session: Granted,
    ticket: Ticketed,
    seeds: Mapping[str, bytes],
    credentials: Credentials,
    random: Callable[[int], bytes],
) -> CollectedShares:
    """Return this side's shares of verified ballots, and what the guardian needs to verify them.

    Args:
        session: a session whose plan has verified ballots.
        ticket: of the batch.
        seeds: by site, of the parties that answered.
        credentials: this side's credentials, which sign the evaluation point.
        random: `random(n)` returns n random bytes.
    """
    plan = session.plan
    size = ticket.read.size
    shape = size, plan.mechanism.width(plan.classes)
    batch = ticket.read.session_id, ticket.read.batch_id
    schedules = {one.participant.site: one for one in ticket.read.schedule}
    parts = {
        site: parts_of(plan, schedules[site].participant, read_schedule(schedules[site], size))
        for site in seeds
    }
    shares = {}
    for site, seed in seeds.items():
        layouts = [part.layout for part in parts[site]]
        counts = count_shares(layouts, context_of(*batch, site), seed)
        shares[site] = join_ballots(parts[site], counts, plan.modulus, shape)
    verification = Verification.of(batch, random(SEED_BYTES), parts, seeds)
    return CollectedShares(shares, {}, verification.sign(credentials))
