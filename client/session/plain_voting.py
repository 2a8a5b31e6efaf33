"""Votes on queries that the parties see: each answers with a seed whose expansion is this side's share."""

from ostraka.client.peers.party_peer import VoteBatch
from ostraka.client.session.batch import Granted, Peers, Queries, Ticketed
from ostraka.client.session.meter import Meter
from ostraka.client.session.votes import CollectedShares, collect
from ostraka.common.sharing.expansion import expand
from ostraka.common.sharing.ring import Ring, RingArray


class PlainVoting:
    """Puts batches to the parties as they are."""

    def __init__(self, peers: Peers, session: Granted, meter: Meter) -> None:
        """Take an open session."""
        self._peers = peers
        self._session = session
        self._meter = meter

    def collect(self, ticket: Ticketed, queries: Queries) -> CollectedShares:
        """Collect this side's shares of the ballots of every party of the ticket, or why it gave none."""
        session, plan = self._session, self._session.plan
        width, ring = plan.mechanism.width(plan.classes), Ring(plan.ring_bits)
        asked = VoteBatch(
            session.plan_bytes, width, session.signed, ticket.signed, queries.features, queries.clusters
        )

        def ask(site: str) -> RingArray:
            with self._meter.measure("party", "vote") as traffic:
                traffic.sent += len(asked.data)
                seed = self._peers.parties[site].vote(asked)
                traffic.received += len(seed)
            return expand(seed, len(queries), width, ring)

        return collect(ticket.sites, ask, self._peers.pool)
