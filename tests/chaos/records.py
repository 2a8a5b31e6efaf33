"""What querying parties asked and got, from which an oracle computes what every unit must have spent."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from ostraka.common.mechanism.message import mechanism_message
from ostraka.common.plan.plan import Plan
from ostraka.common.plan.schedules import read_schedule
from ostraka.common.plan.signed_lists import read_ticket
from ostraka.guardian.ledger import UnitKey
from ostraka.protos.ostraka.v1 import common_pb2
from tests.chaos.members import ORDER

BatchKey = tuple[str, int]


@dataclass
class Record:
    """One batch as its querying party saw it.

    Attributes:
        querier: who asked.
        session: its session.
        batch: its id.
        plan: plan of the session.
        size: number of queries.
        tickets: every ticket that was received for it.
        frozen: every party set that was received for it.
        answers: all bytes received as its answers, and the generations of the ledger they came from.
        dead: generations of the ledger that reported it dead for good.
        asked: parties that were asked to evaluate it, if queries are encrypted.
        evaluated: parties that did.
    """

    querier: str
    session: str
    batch: int
    plan: Plan
    size: int
    tickets: set[bytes] = field(default_factory=set)
    frozen: set[tuple[str, ...]] = field(default_factory=set)
    answers: dict[bytes, int] = field(default_factory=dict)
    dead: set[int] = field(default_factory=set)
    asked: set[str] = field(default_factory=set)
    evaluated: set[str] = field(default_factory=set)

    @property
    def key(self) -> BatchKey:
        return self.session, self.batch

    def costs(self, evaluated: Collection[str]) -> dict[UnitKey, int]:
        """Return the cost to the units of all parties that `evaluated` it and of all parties in a release.

        Label units are included. Every query of a release is answered, which costs the worst case.
        """
        paying = set(evaluated).union(*(self.frozen if self.answers else ()))
        if not paying:
            return {}
        (payload,) = self.tickets
        ticket = read_ticket(payload)
        costs: dict[UnitKey, int] = {}
        for schedule in ticket.schedule:
            if schedule.participant.site not in paying:
                continue
            for receipt in receipts(self.plan, ticket, schedule):
                for adjacency in ("record", "label"):
                    costs[UnitKey(schedule.participant.site, receipt.group, adjacency)] = _cost(
                        self.plan, receipt
                    )
        return costs


def receipts(
    plan: Plan, ticket: common_pb2.Ticket, schedule: common_pb2.Schedule
) -> list[common_pb2.Receipt]:
    """Return what a party keeps of a batch: one receipt for each cohort that votes on some query."""
    party = schedule.participant
    votes = [int(queries.sum()) for queries in read_schedule(schedule, ticket.size)]
    return [
        common_pb2.Receipt(
            session_id=ticket.session_id,
            batch_id=ticket.batch_id,
            group=cohort.groups[0],
            mechanism=mechanism_message(plan.mechanism),
            classes=plan.classes,
            adjacency="record",
            queries=queries,
            sensitivity=party.max_votes_per_person * cohort.weight / 2**16,
        )
        for cohort, queries in zip(party.cohorts, votes, strict=True)
        if queries
    ]


def _cost(plan: Plan, receipt: common_pb2.Receipt) -> int:
    cost = plan.mechanism.worst_case(ORDER, receipt.sensitivity, classes=plan.classes)
    return cost.reservation(receipt.queries, 1)
