"""The circuits of one party in one batch: a computation for each of its cliques that votes."""

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from common.confidential import ballots_binding, cut
from common.crypto.ballot_circuits import BallotCircuit, ballot_circuit
from common.crypto.circuit import Sizes
from common.crypto.ckks.parameters import LOGIT_BITS
from common.crypto.two_party import Evaluation
from common.encrypted_order import EncryptedTurn, encrypted_turns
from common.plan import Plan
from common.schedules import scheduled
from protos.ostraka.v1 import common_pb2


@dataclass(frozen=True)
class _Clique:
    """One clique's votes: which, how they are counted, and this side of the computation."""

    turn: EncryptedTurn
    ballot: BallotCircuit
    evaluation: Evaluation
    sizes: Sizes

    def ballots(self, labels: bytes, size: int) -> NDArray[np.uint32]:
        """This side's share (size, width), of the labels of the party's words."""
        self.evaluation.evaluate(labels)
        return self.turn.ballots(self.ballot.combine(self.evaluation.shares()), size)


class PartyCircuits:
    """This side of a party's circuits; every message is those of the cliques joined in their order."""

    def __init__(
        self,
        plan: Plan,
        ticket: common_pb2.Ticket,
        schedule: common_pb2.Schedule,
        random: Callable[[int], bytes],
    ) -> None:
        """Take a batch's ticket and the party's part of it; `random` gives so many random bytes."""

        def clique(turn: EncryptedTurn) -> _Clique:
            ballot = ballot_circuit(plan.mechanism, plan.classes, turn.weight, LOGIT_BITS)
            site = schedule.participant.site
            binding = ballots_binding(ticket.session_id, ticket.batch_id, site, turn.clique)
            evaluation = Evaluation(ballot.circuit, turn.instances, binding, random)
            return _Clique(turn, ballot, evaluation, ballot.circuit.sizes(turn.instances))

        turns = encrypted_turns(schedule.participant, scheduled(schedule, ticket.size))
        self._cliques = [clique(turn) for turn in turns]
        self._size = ticket.size
        self._taken = 0

    @property
    def tables_bytes(self) -> int:
        """Size of the garbled tables, which are held until the labels come."""
        return sum(own.sizes.tables for own in self._cliques)

    @property
    def labels_bytes(self) -> int:
        """Size of the labels."""
        return sum(own.sizes.labels for own in self._cliques)

    @property
    def teachers(self) -> int:
        """How many teachers vote, each with a logit for every class."""
        return sum(own.turn.teachers for own in self._cliques)

    def point(self) -> bytes:
        """This side's message of the base transfers."""
        return b"".join(own.evaluation.point() for own in self._cliques)

    def extension(self, points: bytes) -> bytes:
        """The extension of what the party answered; raises `message.invalid` or `crypto.refused`."""
        parts = cut(points, [own.sizes.points for own in self._cliques])
        return b"".join(
            own.evaluation.extension(part) for own, part in zip(self._cliques, parts, strict=True)
        )

    def take(self, part: bytes) -> None:
        """The next bytes of the tables, as they arrive, no more than there are."""
        ends = list(accumulate(own.sizes.tables for own in self._cliques))
        while part:
            place = bisect_right(ends, self._taken)
            now, part = part[: ends[place] - self._taken], part[ends[place] - self._taken :]
            self._cliques[place].evaluation.take(now)
            self._taken += len(now)

    def correction(self, logits: NDArray[np.uint64]) -> bytes:
        """What hides this side's shares of logits (teachers, queries of the batch, classes)."""
        ends = list(accumulate(own.turn.teachers for own in self._cliques))
        parts = np.split(logits, ends[:-1])
        return b"".join(
            own.evaluation.correction(own.turn.words(part))
            for own, part in zip(self._cliques, parts, strict=True)
        )

    def ballots(self, labels: bytes) -> NDArray[np.uint32]:
        """This side's share of the party's ballots (queries, width), of the labels of the party's words."""
        parts = cut(labels, [own.sizes.labels for own in self._cliques])
        shares = [own.ballots(part, self._size) for own, part in zip(self._cliques, parts, strict=True)]
        total: NDArray[np.uint32] = np.sum(shares, axis=0, dtype=np.uint32)
        return total
