"""A party's part of an encrypted batch as one two-party computation, the same for both sides.

Both sides derive its order from the ticket: cohort, teacher, query. A cohort that votes on no query of the
batch is left out. Each of the others has a circuit of its own, whose instances are its teachers' votes:
teacher by teacher, and for each teacher the cohort's scheduled queries, in the order of the batch. The
encrypted logits come for all queries: cohort by cohort, teacher by teacher, class by class.
"""

from dataclasses import dataclass
from itertools import accumulate
from typing import Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from ostraka.common.crypto.ballot_circuits import BallotCircuit, ballot_circuit
from ostraka.common.crypto.computation import Computation
from ostraka.common.crypto.logits import LOGIT_BITS
from ostraka.common.plan.choices import BASE_TRANSFERS
from ostraka.common.plan.plan import Plan
from ostraka.protos.ostraka.v1 import common_pb2

T = TypeVar("T", bound=np.generic)


@dataclass(frozen=True)
class CohortVotes:
    """The votes of one cohort in a batch.

    Attributes:
        place: the cohort's position in the ticket.
        teachers: number of voters.
        weight: weight of each of their votes, in steps of 2^-16 vote.
        queries: positions in the batch of the queries on which they vote, ascending, at least one.
    """

    place: int
    teachers: int
    weight: int
    queries: NDArray[np.intp]

    @property
    def instances(self) -> int:
        """Number of votes: one instance of the circuit each."""
        return self.teachers * len(self.queries)

    def select(self, logits: NDArray[T]) -> NDArray[T]:
        """Select the scheduled ones of all logits (teachers, size, columns), as (instances, columns)."""
        return logits[:, self.queries].reshape(self.instances, logits.shape[-1])

    def ballots(self, shares: NDArray[np.uint32], size: int) -> NDArray[np.uint32]:
        """Return shares of votes (instances, width) summed by query: (size, width), zero without a vote."""
        total = np.zeros((size, shares.shape[-1]), np.uint32)
        by_teacher = shares.reshape(self.teachers, len(self.queries), shares.shape[-1])
        total[self.queries] = by_teacher.sum(axis=0, dtype=np.uint32)
        return total


def cohort_votes(
    participant: common_pb2.Participant, scheduled: NDArray[np.bool_]
) -> tuple[CohortVotes, ...]:
    """Return the votes of a party's cohorts in a batch, in order.

    `scheduled` says which cohort votes on which query, (cohorts, size), as returned by `read_schedule`.
    """
    return tuple(
        CohortVotes(place, cohort.teachers, cohort.weight, np.flatnonzero(votes))
        for place, (cohort, votes) in enumerate(zip(participant.cohorts, scheduled, strict=True))
        if votes.any()
    )


@dataclass(frozen=True)
class BallotComputation:
    """Votes of all cohorts of a party: a circuit for each, because their votes may weigh differently.

    Attributes:
        cohorts: the voting cohorts, in the order of computation.
        circuits: how the votes of each cohort are counted.
        size: number of queries in the batch.
        base_transfers: kind of the base transfers of all circuits.
    """

    cohorts: tuple[CohortVotes, ...]
    circuits: tuple[BallotCircuit, ...]
    size: int
    base_transfers: BASE_TRANSFERS

    @classmethod
    def of(cls, plan: Plan, participant: common_pb2.Participant, scheduled: NDArray[np.bool_]) -> Self:
        """Return a ticket participant's votes; `scheduled` says which cohort votes on which query."""
        cohorts = cohort_votes(participant, scheduled)
        ballot = plan.mechanism.ballot
        circuits = (ballot_circuit(ballot, plan.classes, cohort.weight, LOGIT_BITS) for cohort in cohorts)
        return cls(cohorts, tuple(circuits), scheduled.shape[1], plan.base_transfers)

    @property
    def computation(self) -> Computation:
        """What is garbled and evaluated."""
        pairs = zip(self.circuits, self.cohorts, strict=True)
        runs = tuple((ballot.circuit, cohort.instances) for ballot, cohort in pairs)
        return Computation(runs, self.base_transfers)

    @property
    def teachers(self) -> int:
        """Number of voting teachers, each with a logit for every class."""
        return sum(cohort.teachers for cohort in self.cohorts)

    def select(self, logits: NDArray[T]) -> NDArray[T]:
        """Select the scheduled (instances, classes) of one side's logit shares (teachers, size, classes)."""
        ends = list(accumulate(cohort.teachers for cohort in self.cohorts))
        parts = zip(self.cohorts, np.split(logits, ends[:-1]), strict=True)
        return np.concatenate([cohort.select(part) for cohort, part in parts])

    def ballots(self, shares: list[NDArray[np.uint32]]) -> NDArray[np.uint32]:
        """Return one side's shares of the party's ballots (size, width) in Z_2^32, in steps of 2^-16 vote.

        Args:
            shares: shares of each circuit's outputs (instances, outputs).
        """
        parts = zip(self.cohorts, self.circuits, shares, strict=True)
        ballots = [cohort.ballots(circuit.combine(part), self.size) for cohort, circuit, part in parts]
        total: NDArray[np.uint32] = np.sum(ballots, axis=0, dtype=np.uint32)
        return total
