"""Votes on queries that the parties see: each answers with a seed whose expansion is this side's share."""

import secrets
from collections.abc import Callable
from dataclasses import replace

from ostraka.client.peers.party_peer import VoteBatch
from ostraka.client.session.batch import Granted, Peers, Queries, Ticketed
from ostraka.client.session.meter import Meter
from ostraka.client.session.verification import Verification
from ostraka.client.session.votes import CollectedShares, collect
from ostraka.common.schedules import scheduled
from ostraka.common.sharing.expansion import SEED_BYTES, expand
from ostraka.common.sharing.modulus import RingArray
from ostraka.common.sharing.row_sums import KEY_BYTES, RowSums
from ostraka.common.verified.parts import Part, context_of, joined, parts_of
from ostraka.common.verified.querier import count_shares


class PlainVoting:
    """Puts batches to the parties as they are."""

    def __init__(
        self,
        peers: Peers,
        session: Granted,
        meter: Meter,
        random: Callable[[int], bytes] = secrets.token_bytes,
    ) -> None:
        """Take an open session; `random` gives so many random bytes."""
        self._peers = peers
        self._session = session
        self._meter = meter
        self._random = random

    def collect(self, ticket: Ticketed, queries: Queries) -> CollectedShares:
        """Collect this side's shares of the ballots of every party of the ticket, or why it gave none."""
        session, plan = self._session, self._session.plan
        width, ring = plan.mechanism.width(plan.classes), plan.modulus
        asked = VoteBatch(
            session.plan_bytes, width, session.entries, ticket.entries, queries.features, queries.clusters
        )
        batch, parts = (ticket.read.session_id, ticket.read.batch_id), self._parts(ticket)
        seeds: dict[str, bytes] = {}

        def ask(site: str) -> RingArray:
            with self._meter.measure("party", "vote") as traffic:
                traffic.sent += len(asked.data)
                seed = self._peers.parties[site].vote(asked)
                traffic.received += len(seed)
            if not parts:
                return expand(seed, len(queries), width, ring)
            layouts = [part.layout for part in parts[site]]
            shares = count_shares(layouts, context_of(*batch, site), seed)
            seeds[site] = seed
            return joined(parts[site], shares, ring, (len(queries), width))

        collected = collect(ticket.sites, ask, self._peers.pool)
        if plan.checks_row_sums:
            sums = RowSums.of(self._random(KEY_BYTES), collected.shares, ring)
            return replace(collected, row_sums=sums)
        if not parts:
            return collected
        return replace(collected, verification=Verification.of(batch, self._random(SEED_BYTES), parts, seeds))

    def _parts(self, ticket: Ticketed) -> dict[str, tuple[Part, ...]]:
        """Return what each party proves of its ballots; nothing where they are not verified."""
        if self._session.plan.ballots == "unverified":
            return {}
        return {
            one.participant.site: parts_of(
                self._session.plan, one.participant, scheduled(one, ticket.read.size)
            )
            for one in ticket.read.schedule
        }
