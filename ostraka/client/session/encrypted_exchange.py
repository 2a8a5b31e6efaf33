"""One encrypted batch with one party: requests, replies, and this side's share of the party's ballots."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ostraka.client.peers.party_peer import PartyPeer
from ostraka.client.peers.retry import StepCall
from ostraka.client.session.batch import Granted, Ticketed
from ostraka.client.session.meter import Meter
from ostraka.common.crypto.ballot_computation import BallotComputation
from ostraka.common.crypto.computation import Sizes
from ostraka.common.crypto.inference import QueryKeys
from ostraka.common.crypto.transcripts import ballots_binding, frame_keys
from ostraka.common.crypto.two_party import CircuitEvaluation
from ostraka.common.plan.plan import Plan
from ostraka.common.plan.schedules import read_schedule
from ostraka.common.rpc.steps import StepId
from ostraka.common.telemetry.context import carrying
from ostraka.protos.ostraka.v1 import common_pb2, party_pb2


class PartyCircuits:
    """This side of a party's garbled circuits, message by message."""

    def __init__(
        self,
        plan: Plan,
        ticket: common_pb2.Ticket,
        schedule: common_pb2.Schedule,
        random: Callable[[int], bytes],
    ) -> None:
        """Take a batch's ticket and the party's schedule; `random(n)` returns n random bytes."""
        participant = schedule.participant
        self._votes = BallotComputation.of(plan, participant, read_schedule(schedule, ticket.size))
        computation = self._votes.computation
        self.sizes: Sizes = computation.sizes
        binding = ballots_binding(ticket.session_id, ticket.batch_id, participant.site)
        self._evaluation = CircuitEvaluation(computation, binding, random)

    @property
    def teachers(self) -> int:
        """The number of teachers that vote, each with a logit for every class."""
        return self._votes.teachers

    def context(self, points: bytes) -> bytes:
        """Return the context that this batch and the points of the party determine (`Garbling.context`)."""
        return self._evaluation.context(points)

    def point(self) -> bytes:
        """Return this side's message of the base oblivious transfers."""
        return self._evaluation.point()

    def extension(self, points: bytes) -> bytes:
        """Return the extension for the party's points; raise `message.invalid` or `crypto.refused`."""
        return self._evaluation.extension(points)

    def take(self, part: bytes) -> None:
        """Take the next bytes of the garbled tables; they stay in memory until the labels come."""
        self._evaluation.take(part)

    def correction(self, logits: NDArray[np.uint64]) -> bytes:
        """Return this side's shares of logits (teachers, queries of the batch, classes), masked."""
        return self._evaluation.correction(self._votes.select(logits))

    def ballots(self, labels: bytes) -> NDArray[np.uint32]:
        """Return this side's share of the party's ballots (queries, width), from the labels of its words."""
        self._evaluation.evaluate(labels)
        return self._votes.ballots(self._evaluation.shares())


@dataclass(eq=False, repr=False, frozen=True)
class Exchange:
    """Takes one party through the steps of the protocol in order.

    Nothing is sent after Compare, so a party never learns whether its messages made sense.

    Attributes:
        site: the party's name.
        peer: the connection to the party.
        session: the open session.
        ticket: the batch's ticket.
        circuits: this side of the party's circuits.
        meter: measures every step.
    """

    site: str
    peer: PartyPeer
    session: Granted
    ticket: Ticketed
    circuits: PartyCircuits
    meter: Meter

    @cached_property
    def _step(self) -> StepId:
        read = self.ticket.read
        return StepId(read.session_id, read.batch_id, common_pb2.STAGE_BALLOTS)

    def ballots(self, keys: QueryKeys, queries: Future[bytes]) -> NDArray[np.uint32]:
        """Return this side's share of the party's ballots (queries, width), for the encrypted queries.

        The party garbles while the queries are still being encrypted and evaluated. Raises OstrakaError with
        the party's code, or `message.invalid` or `crypto.refused` for invalid replies.
        """
        points = self._begin()
        with ThreadPoolExecutor(1, thread_name_prefix="garble") as beside:
            garbled = beside.submit(carrying(self._garble), points)
            public = keys.public(self.circuits.context(points))
            logits = self._logits(keys, frame_keys(public), queries.result())
            garbled.result()
        self.meter.advance("evaluate")
        labels = self._compare(logits)
        with self.meter.measure("none", "compare"):
            ballots = self.circuits.ballots(labels)
        self.meter.advance("compare")
        return ballots

    def _begin(self) -> bytes:
        session = self.session
        request = party_pb2.BeginRequest(
            plan=session.plan_bytes,
            grant=session.entries.of(self.site),
            ticket=self.ticket.entries.of(self.site),
            point=self.circuits.point(),
        )
        with self.meter.measure("party", "begin") as traffic:
            points = self.peer.begin(request)
            traffic.sent += request.ByteSize()
            traffic.received += len(points)
        return points

    def _garble(self, points: bytes) -> None:
        circuits = self.circuits
        with self.meter.measure("none", "transfer"):
            extension = circuits.extension(points)
        with self.meter.measure("party", "garble") as traffic:
            self.peer.garble(StepCall(self._step, extension, circuits.sizes.tables, circuits.take))
            traffic.sent += len(extension)
            traffic.received += circuits.sizes.tables

    def _logits(self, keys: QueryKeys, public: bytes, queries: bytes) -> NDArray[np.uint64]:
        """Return this side's shares of the logits, (teachers, queries, classes)."""
        teachers = self.circuits.teachers
        classes = self.session.plan.classes
        size = keys.reply_bytes(teachers * classes, self.ticket.read.size)
        reply = bytearray()
        with self.meter.measure("party", "evaluate") as traffic:
            self.peer.evaluate(StepCall(self._step, public, size, reply.extend, queries))
            traffic.sent += len(public) + len(queries)
            traffic.received += size
        with self.meter.measure("none", "decrypt"):
            shares = keys.decrypt(bytes(reply), self.ticket.read.size)
        return shares.reshape(teachers, classes, -1).swapaxes(1, 2)

    def _compare(self, logits: NDArray[np.uint64]) -> bytes:
        labels = bytearray()
        correction = self.circuits.correction(logits)
        call = StepCall(self._step, correction, self.circuits.sizes.labels, labels.extend)
        with self.meter.measure("party", "compare") as traffic:
            self.peer.compare(call)
            traffic.sent += len(correction)
            traffic.received += call.size
        return bytes(labels)
