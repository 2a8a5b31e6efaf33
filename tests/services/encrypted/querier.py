"""A querying party built from the parts of ostraka.common.crypto, which can be made to misbehave."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import grpc
import numpy as np
from numpy.typing import NDArray

from ostraka.common.crypto.ballot_computation import BallotComputation
from ostraka.common.crypto.computation import Sizes
from ostraka.common.crypto.inference import Scheme, scheme_of
from ostraka.common.crypto.transcripts import ballots_binding, frame_keys
from ostraka.common.crypto.two_party import CircuitEvaluation
from ostraka.common.plan.schedules import read_schedule
from ostraka.common.rpc import call_error
from ostraka.common.rpc.steps import StepId, read_reply, request_messages
from ostraka.common.sharing.ring import Ring
from ostraka.protos.ostraka.v1 import common_pb2, party_pb2, party_pb2_grpc
from tests.fair_clock import HANGS_S
from tests.services.wire import Caller, participant, scheduled


def athens(head: str) -> common_pb2.Participant:
    """Return the party as a guardian knows it, all its teachers in one cohort."""
    who = participant("athens")
    who.head = head
    return who


@dataclass
class Encrypted:
    """One encrypted batch of a querying party, with its own `keys` and random words."""

    caller: Caller
    X: NDArray[np.float32]
    batch_id: int = 1
    who: common_pb2.Participant = field(default_factory=lambda: athens("linear"))
    bits: tuple[bytes, ...] = ()
    session_id: str = "session"

    def __post_init__(self) -> None:
        plan = self.caller.federation.plan
        self.schedule = scheduled(self.who, *self.bits)
        self.votes = BallotComputation.of(plan, self.who, read_schedule(self.schedule, len(self.X)))
        binding = ballots_binding(self.session_id, self.batch_id, self.who.site)
        self.evaluation = CircuitEvaluation(self.votes.computation, binding)
        self.keys = self.scheme.keys()
        self.public = self.queries = b""

    @property
    def scheme(self) -> Scheme:
        return scheme_of(self.who.head)  # type: ignore[arg-type]

    def request(self, **changes: Any) -> party_pb2.BeginRequest:
        plan = self.caller.federation.plan
        others = [participant(site) for site in plan.parties if site != "athens"]
        fields: dict[str, Any] = {
            "plan": plan.serialize(),
            "grant": self.caller.grant(participants=[self.who, *others], session_id=self.session_id),
            "ticket": self.caller.ticket(
                self.batch_id, len(self.X), schedule=[self.schedule], session_id=self.session_id
            ),
            "point": self.evaluation.point(),
        }
        return party_pb2.BeginRequest(**(fields | changes))

    def begin(self, request: party_pb2.BeginRequest | None = None) -> bytes:
        """Return the extension to send next."""
        try:
            reply = self.stub.Begin(request or self.request(), timeout=HANGS_S)
        except grpc.RpcError as exc:
            raise call_error(exc) from exc
        self.public = frame_keys(self.keys.public(self.evaluation.context(reply.points)))
        self.queries = self.public + self.keys.encrypt(self.X)
        return self.evaluation.extension(reply.points)

    def garble(self, extension: bytes) -> bytes:
        return self.call("Garble", extension, self.sizes.tables)

    def evaluate(self, queries: bytes | None = None) -> bytes:
        size = self.votes.teachers * self.scheme.logits_bytes(
            self.caller.federation.plan.classes, len(self.X)
        )
        return self.call("Evaluate", self.queries if queries is None else queries, size)

    def correction(self, logits: bytes) -> bytes:
        words = self.keys.decrypt(logits, len(self.X))
        by_teacher = words.reshape(self.votes.teachers, -1, len(self.X))
        return self.evaluation.correction(self.votes.select(by_teacher.swapaxes(1, 2)))

    def compare(self, correction: bytes) -> bytes:
        return self.call("Compare", correction, self.sizes.labels)

    def share(self, tables: bytes, labels: bytes) -> NDArray[np.uint32]:
        """Return this side's share of the ballots."""
        self.evaluation.take(tables)
        self.evaluation.evaluate(labels)
        return self.votes.ballots(self.evaluation.shares())

    def run(self) -> NDArray[np.float64]:
        """Run all steps; return the sum of both shares, in votes."""
        tables = self.garble(self.begin())
        return self.total(self.share(tables, self.compare(self.correction(self.evaluate()))))

    def total(self, share: NDArray[np.uint32]) -> NDArray[np.float64]:
        ring = Ring(32)
        rows, width = share.shape
        theirs = self.caller.federation.guardian.share(self.batch_id, rows, width, ring)
        return ring.lift(share + theirs.astype(np.uint32)) / 2**16

    @property
    def stub(self) -> Any:
        return party_pb2_grpc.PartyStub(self.caller.channel)

    @property
    def step(self) -> StepId:
        return StepId(self.session_id, self.batch_id, common_pb2.STAGE_BALLOTS)

    def call(self, method: str, data: bytes, size: int) -> bytes:
        return self.send(method, request_messages(self.step, data), size)

    def send(
        self, method: str, messages: Iterator[common_pb2.Step] | Sequence[common_pb2.Step], size: int
    ) -> bytes:
        try:
            replies = getattr(self.stub, method)(iter(messages), timeout=HANGS_S)
            return b"".join(read_reply(replies, self.step, size))
        except grpc.RpcError as exc:
            raise call_error(exc) from exc

    @property
    def sizes(self) -> Sizes:
        return self.votes.computation.sizes
