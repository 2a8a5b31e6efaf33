"""Order in which a party's circuits compute an encrypted batch: cohort, teacher, query.

Querying and answering party both derive it from the ticket. A cohort that votes on no query of the batch is
left out. Of the others each has a circuit of its own, whose instances are its teachers' votes: teacher by
teacher, and for each teacher the queries that the cohort is scheduled for, in the order of the batch. The
encrypted logits come for all queries: cohort by cohort, teacher by teacher, class by class.
"""

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ostraka.protos.ostraka.v1 import common_pb2

T = TypeVar("T", bound=np.generic)


@dataclass(frozen=True)
class CohortVotes:
    """The votes of one cohort in a batch.

    Attributes:
        place: of the cohort in the ticket.
        teachers: how many vote.
        weight: of each of their votes, in steps of 2^-16 vote.
        queries: the places in the batch on which they vote, ascending, at least one.
    """

    place: int
    teachers: int
    weight: int
    queries: NDArray[np.intp]

    @property
    def instances(self) -> int:
        """How many votes: one instance of the circuit each."""
        return self.teachers * len(self.queries)

    def select(self, logits: NDArray[T]) -> NDArray[T]:
        """Select the scheduled ones of all logits (teachers, size, columns), as (instances, columns)."""
        return logits[:, self.queries].reshape(self.instances, logits.shape[-1])

    def ballots(self, shares: NDArray[np.uint32], size: int) -> NDArray[np.uint32]:
        """Shares of votes (instances, width) added up by query: (size, width), zero where nobody votes."""
        total = np.zeros((size, shares.shape[-1]), np.uint32)
        by_teacher = shares.reshape(self.teachers, len(self.queries), shares.shape[-1])
        total[self.queries] = by_teacher.sum(axis=0, dtype=np.uint32)
        return total


def cohort_votes(
    participant: common_pb2.Participant, scheduled: NDArray[np.bool_]
) -> tuple[CohortVotes, ...]:
    """Return the votes of a party's cohorts in a batch, in their order.

    `scheduled` says which cohort votes on which query, (cohorts, size), as `schedules.scheduled`
    returns it.
    """
    return tuple(
        CohortVotes(place, cohort.teachers, cohort.weight, np.flatnonzero(votes))
        for place, (cohort, votes) in enumerate(zip(participant.cohorts, scheduled, strict=True))
        if votes.any()
    )
