"""What a plan's two switches choose: how parties vote, and how their votes are tallied."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field

from client.answers import Answer
from client.batch import Granted, Peers, Queries
from client.batch_round import Tally, Voting
from client.meter import Meter
from client.tally import AggregateTally
from client.voting import PlainVoting


@dataclass(frozen=True)
class Switches:
    """Makes both for a session; `random` gives so many random bytes."""

    meter: Meter = field(default_factory=Meter)
    random: Callable[[int], bytes] = secrets.token_bytes

    def voting(self, peers: Peers, session: Granted) -> Voting[Queries]:
        """How the parties of a session vote."""
        if session.plan.encoding == "plain":
            return PlainVoting(peers, session, self.meter)
        from client.encrypted.voting import EncryptedVoting

        return EncryptedVoting(peers, session, self.meter, self.random)

    def tally(self, peers: Peers, session: Granted) -> Tally[Queries, list[Answer]]:
        """How the votes of a session are tallied."""
        if session.plan.tally == "aggregate":
            return AggregateTally(peers.guardian, session, self.meter)
        from client.blind.tally import BlindTally

        return BlindTally(peers.guardian, session, self.meter, self.random)
