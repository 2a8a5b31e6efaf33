"""The protocols that a plan selects: how parties vote, and how votes are tallied."""

import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from ostraka.client.peers.guardian_peer import GuardianPeer, Sum
from ostraka.client.session.answers import Answer, read_answers
from ostraka.client.session.batch import Granted, Peers, Queries
from ostraka.client.session.batch_round import BatchTally, Voting
from ostraka.client.session.meter import Meter
from ostraka.client.session.votes import PlainVoting
from ostraka.common.errors import OstrakaError
from ostraka.common.sharing.modulus import RingArray


@dataclass(eq=False, repr=False, frozen=True)
class AggregateTally:
    """Sends sums to the guardian, which tallies them."""

    guardian: GuardianPeer
    session: Granted
    meter: Meter

    def answers(self, batch_id: int, total: RingArray, queries: Queries) -> list[Answer]:
        """Return the answers of a frozen batch; `total` is ring values (queries, width)."""
        plan = self.session.plan
        rows, width = total.shape
        sent = Sum(plan.modulus.to_bytes(total), rows, width, queries.scores)
        with self.meter.measure("guardian", "release") as traffic:
            traffic.sent += len(sent.data)
            answers = self.guardian.release(self.session.grant.session_id, batch_id, sent)
            traffic.received += sum(answer.ByteSize() for answer in answers)
        return read_answers(answers, rows, plan)


class PartyVoting(Voting[Queries], Protocol):
    """Collects the votes of a session's parties."""

    def unreachable(self, sites: Iterable[str]) -> Mapping[str, OstrakaError]:
        """Return the errors of the `sites` that cannot be reached."""


@dataclass(frozen=True)
class Switches:
    """Selects the voting and the tally of a session; `random(n)` returns n random bytes."""

    meter: Meter = field(default_factory=Meter)
    random: Callable[[int], bytes] = secrets.token_bytes

    def voting(self, peers: Peers, session: Granted) -> PartyVoting:
        """Return the voting that the session's plan selects."""
        if session.plan.encoding == "plain":
            return PlainVoting(peers, session, self.meter, self.random)
        from ostraka.client.session.encrypted_voting import EncryptedVoting

        return EncryptedVoting(peers, session, self.meter, self.random)

    def tally(self, peers: Peers, session: Granted) -> BatchTally[Queries, list[Answer]]:
        """Return the tally that the session's plan selects."""
        if session.plan.tally == "aggregate":
            return AggregateTally(peers.guardian, session, self.meter)
        from ostraka.client.session.blind_tally import BlindBatchTally

        return BlindBatchTally(peers.guardian, session, self.meter, self.random)
