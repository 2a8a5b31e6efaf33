"""The protocols that a plan selects: how parties vote, and how votes are tallied."""

import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from ostraka.client.session.aggregate_tally import AggregateTally
from ostraka.client.session.answers import Answer
from ostraka.client.session.batch import Granted, Peers, Queries
from ostraka.client.session.batch_round import BatchTally, Voting
from ostraka.client.session.meter import Meter
from ostraka.client.session.plain_voting import PlainVoting
from ostraka.common.errors import OstrakaError


class PartyVoting(Voting[Queries], Protocol):
    """Has the parties of a session vote."""

    def unreachable(self, sites: Iterable[str]) -> Mapping[str, OstrakaError]:
        """Say which of the `sites` cannot be reached, and why."""


@dataclass(frozen=True)
class Switches:
    """Makes both for a session; `random` gives so many random bytes."""

    meter: Meter = field(default_factory=Meter)
    random: Callable[[int], bytes] = secrets.token_bytes

    def voting(self, peers: Peers, session: Granted) -> PartyVoting:
        """How the parties of a session vote."""
        if session.plan.encoding == "plain":
            return PlainVoting(peers, session, self.meter, self.random)
        from ostraka.client.session.encrypted.encrypted_voting import EncryptedVoting

        return EncryptedVoting(peers, session, self.meter, self.random)

    def tally(self, peers: Peers, session: Granted) -> BatchTally[Queries, list[Answer]]:
        """How the votes of a session are tallied."""
        if session.plan.tally == "aggregate":
            return AggregateTally(peers.guardian, session, self.meter)
        from ostraka.client.session.blind.blind_tally import BlindBatchTally

        return BlindBatchTally(peers.guardian, session, self.meter, self.random)
