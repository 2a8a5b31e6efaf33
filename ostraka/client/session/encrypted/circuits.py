"""The circuits of one party in one batch: this side's half of the computation of its ballots."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ostraka.common.crypto.ballot_computation import BallotComputation
from ostraka.common.crypto.computation import Sizes
from ostraka.common.crypto.confidential import ballots_binding
from ostraka.common.crypto.two_party import CircuitEvaluation
from ostraka.common.plan.plan import Plan
from ostraka.common.plan.schedules import scheduled
from ostraka.protos.ostraka.v1 import common_pb2


class PartyCircuits:
    """This side of a party's circuits, message by message."""

    def __init__(
        self,
        plan: Plan,
        ticket: common_pb2.Ticket,
        schedule: common_pb2.Schedule,
        random: Callable[[int], bytes],
    ) -> None:
        """Take a batch's ticket and the party's part of it; `random` gives so many random bytes."""
        participant = schedule.participant
        self._votes = BallotComputation.of(plan, participant, scheduled(schedule, ticket.size))
        computation = self._votes.computation
        self.sizes: Sizes = computation.sizes
        binding = ballots_binding(ticket.session_id, ticket.batch_id, participant.site)
        self._evaluation = CircuitEvaluation(computation, binding, random)

    @property
    def teachers(self) -> int:
        """How many teachers vote, each with a logit for every class."""
        return self._votes.teachers

    def context(self, points: bytes) -> bytes:
        """Return what this batch and the party that answered these points agree on (`Garbling.context`)."""
        return self._evaluation.context(points)

    def point(self) -> bytes:
        """Return this side's message of the base transfers."""
        return self._evaluation.point()

    def extension(self, points: bytes) -> bytes:
        """Return the extension of what the party answered; raise `message.invalid` or `crypto.refused`."""
        return self._evaluation.extension(points)

    def take(self, part: bytes) -> None:
        """Take the next bytes of the tables, as they arrive; they are held until the labels come."""
        self._evaluation.take(part)

    def correction(self, logits: NDArray[np.uint64]) -> bytes:
        """Return what hides this side's shares of logits (teachers, queries of the batch, classes)."""
        return self._evaluation.correction(self._votes.select(logits))

    def ballots(self, labels: bytes) -> NDArray[np.uint32]:
        """Return this side's share of the party's ballots (queries, width), from its words' labels."""
        self._evaluation.evaluate(labels)
        return self._votes.ballots(self._evaluation.shares())
