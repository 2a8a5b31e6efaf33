"""What every record really took part in, and what that costs it, whatever the ledger says."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostraka.common.mechanism import Mechanism
from ostraka.common.plan.plan import Plan
from ostraka.common.plan.schedules import read_schedule
from ostraka.common.privacy import InputError, WorstCase
from ostraka.common.sharing import FRACTION_BITS
from ostraka.guardian.accounting.smooth_noise import SmoothNoise
from ostraka.guardian.ledger import UnitKey
from ostraka.protos.ostraka.v1 import common_pb2

Flags = NDArray[np.bool_]


class Record(NamedTuple):
    """One record of a party; its group may change."""

    party: str
    number: int


class Vote(NamedTuple):
    """How a group votes: each record `copies` times, each with `weight` steps of 2^-16 vote, on `queries`."""

    copies: int
    weight: int
    queries: Flags


@dataclass(eq=False)
class Batch:
    """A batch that got a ticket.

    Attributes:
        session: its session.
        number: its id in the session; unique in the history.
        plan: plan of the session.
        ticket: who votes.
        groups: groups of the records of all parties when the ticket was signed.
        votes: votes of one person in a query, by party, as known now; `declared` when the ticket was signed.
        voted: parties whose votes are in the release.
        evaluated: parties that answered its encrypted queries.
        answered: the answers given, bool (queries, answers); None until it is released.
        state: "ticketed", "released" or "dead".
    """

    session: str
    number: int
    plan: Plan
    ticket: common_pb2.Ticket
    groups: Mapping[Record, str]
    votes: dict[str, int] = field(default_factory=dict)
    declared: Mapping[str, int] = field(default_factory=dict)
    voted: frozenset[str] = frozenset()
    evaluated: set[str] = field(default_factory=set)
    answered: Flags | None = None
    state: str = "ticketed"

    def __post_init__(self) -> None:
        self._votes = dict(_votes(self.ticket))
        self.declared = {
            schedule.participant.site: schedule.participant.max_votes_per_person
            for schedule in self.ticket.schedule
        }
        self.votes = dict(self.declared)
        self._costs: dict[tuple[int, int, float], int] = {}

    @property
    def parties(self) -> set[str]:
        """Parties that vote by its ticket."""
        return set(self.votes)

    def vote(self, party: str, group: str) -> Vote | None:
        """Return how a group of a party votes by the ticket; None if it does not vote."""
        return self._votes.get((party, group))

    def of(self, record: Record) -> Vote | None:
        """Return how a record's group voted in the release or evaluation; None if it took part in neither."""
        if record not in self.groups or record.party not in self.voted | self.evaluated:
            return None
        return self.vote(record.party, self.groups[record])

    def influence(self, record: Record, votes: Mapping[str, int]) -> float:
        """Return how many votes a record changes in one query if a person of its party has this many
        votes."""
        vote = self.vote(record.party, self.groups[record])
        return 0.0 if vote is None else self.sensitivity(vote, votes[record.party])

    def sensitivity(self, vote: Vote, votes: int) -> float:
        """Return how many votes of one query `votes` of a person change."""
        copies = 1 if self.plan.mechanism.by_record else vote.copies
        return math.ldexp(votes * copies * vote.weight, -FRACTION_BITS)

    @property
    def moved(self) -> float:
        """The largest change by a voting record in one query, as assumed at the release."""
        voted = [record for record in self.groups if record.party in self.voted]
        return max(self.influence(record, self.declared) for record in voted)

    def cost(self, record: Record, order: float) -> int:
        """Return what the batch cost a record as known now, in amounts at `order`."""
        vote = self.of(record)
        if vote is None or self.state == "ticketed":
            return 0
        alike = id(vote), self.votes[record.party], order
        if alike not in self._costs:
            self._costs[alike] = self._cost(vote, record.party, order)
        return self._costs[alike]

    def _cost(self, vote: Vote, party: str, order: float) -> int:
        sensitivity = self.sensitivity(vote, self.votes[party])
        worst = _worst_case(self.plan.mechanism, order, sensitivity, self.plan.classes)
        if party in self.voted and self.answered is not None:
            return worst.amount(self.answered[vote.queries])
        return worst.reservation(int(vote.queries.sum()), self.plan.mechanism.answers(self.plan.classes))


@dataclass(frozen=True, eq=False)
class Publication:
    """A published epsilon of a unit by smooth sensitivity, from the votes in some batches.

    Two equal statements reveal no more than one: they are equal here because nothing is drawn.
    """

    unit: UnitKey
    noise: SmoothNoise
    batches: tuple[Batch, ...]
    statement: bytes

    def holds(self, record: Record, adjacency: str) -> list[Batch]:
        """Return the batches in the total with a vote of a record, where `adjacency` protects it."""
        return [
            batch
            for batch in self.batches
            if (adjacency == "label" or batch.plan.adjacency == "record") and self.has_vote(batch, record)
        ]

    def cost(self, record: Record, adjacency: str, order: float) -> int | None:
        """Return what it cost a record; None if its noise gives no bound."""
        held = self.holds(record, adjacency)
        if not held:
            return 0
        if any(batch.influence(record, batch.votes) > batch.moved for batch in held):
            return None
        return _price(self.noise, order)

    def has_vote(self, batch: Batch, record: Record) -> bool:
        """Whether a record voted in a batch on a query that is in the total."""
        own, vote = batch.vote(self.unit.party, self.unit.group), batch.of(record)
        return own is not None and vote is not None and bool((own.queries & vote.queries).any())


@dataclass
class Truth:
    """Everything that a federation released."""

    batches: list[Batch] = field(default_factory=list)
    publications: list[Publication] = field(default_factory=list)

    def raise_votes(self, party: str, votes: int) -> None:
        """Note that a person of a party had `votes` in a query all along."""
        for batch in self.batches:
            if party in batch.votes:
                batch.votes[party] = max(batch.votes[party], votes)

    def spent(self, record: Record, adjacency: str, order: float) -> int | None:
        """Return what a record has spent, in amounts at `order`; None if it is unknown."""
        costs = [
            batch.cost(record, order)
            for batch in self.batches
            if adjacency == "label" or batch.plan.adjacency == "record"
        ]
        for publication in self.publications:
            cost = publication.cost(record, adjacency, order)
            if cost is None:
                return None
            costs.append(cost)
        return sum(costs)


@lru_cache(maxsize=4096)
def _worst_case(mechanism: Mechanism, order: float, influence: float, classes: int) -> WorstCase:
    """Return the worst-case cost of a query; histories use only a few mechanisms."""
    return mechanism.worst_case(order, influence, classes=classes)


@lru_cache(maxsize=4096)
def _price(noise: SmoothNoise, order: float) -> int | None:
    try:
        return noise.cost(order)
    except InputError:
        return None


def _votes(ticket: common_pb2.Ticket) -> Iterator[tuple[tuple[str, str], Vote]]:
    for schedule in ticket.schedule:
        cohorts: Iterable[common_pb2.Cohort] = schedule.participant.cohorts
        for cohort, queries in zip(cohorts, read_schedule(schedule, ticket.size), strict=True):
            if queries.any():
                for group, copies in zip(cohort.groups, cohort.copies, strict=True):
                    yield (schedule.participant.site, group), Vote(copies, cohort.weight, queries)
