"""A tally by the guardian, which sees the histogram: it is sent this side's one sum."""

from ostraka.client.peers.guardian_peer import GuardianPeer, Sum
from ostraka.client.session.answers import Answer, read_answers
from ostraka.client.session.batch import Granted, Queries
from ostraka.client.session.meter import Meter
from ostraka.common.sharing.modulus import RingArray


class AggregateTally:
    """Sends sums to the guardian."""

    def __init__(self, guardian: GuardianPeer, session: Granted, meter: Meter) -> None:
        """Take an open session."""
        self._guardian = guardian
        self._session = session
        self._meter = meter

    def answers(self, batch_id: int, total: RingArray, queries: Queries) -> list[Answer]:
        """Return the answers to a frozen batch; total is ring values (queries, width)."""
        plan, (rows, width) = self._session.plan, total.shape
        sent = Sum(plan.modulus.to_bytes(total), rows, width, queries.scores)
        with self._meter.measure("guardian", "release") as traffic:
            traffic.sent += len(sent.data)
            answers = self._guardian.release(self._session.grant.session_id, batch_id, sent)
            traffic.received += sum(answer.ByteSize() for answer in answers)
        return read_answers(answers, rows, plan)
