"""A querying party made of the parts of common.crypto, which can be made to misbehave."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import grpc
import numpy as np
from numpy.typing import NDArray

from common.confidential import ballots_binding, cut, encrypted_queries
from common.crypto.ballot_circuits import ballot_circuit
from common.crypto.ckks.keys import QueryKeys
from common.crypto.ckks.parameters import LOGIT_BITS, Parameters, parameters_of
from common.crypto.ckks.wire import logits_bytes
from common.crypto.two_party import Evaluation
from common.encrypted_order import EncryptedTurn, encrypted_turns
from common.rpc import call_error
from common.rpc.steps import StepId, read_reply, request_messages
from common.schedules import scheduled as scheduled_of
from common.sharing.ring import Ring
from protos.ostraka.v1 import common_pb2, party_pb2, party_pb2_grpc
from tests.services.wire import Caller, participant, scheduled


def athens(head: str) -> common_pb2.Participant:
    """The party as a guardian knows it, all its teachers in one clique."""
    who = participant("athens")
    who.head = head
    return who


@dataclass
class Encrypted:
    """One encrypted batch as a querying party asks for it; `keys` and the random words are its own."""

    caller: Caller
    X: NDArray[np.float32]
    batch_id: int = 1
    who: common_pb2.Participant = field(default_factory=lambda: athens("linear"))
    bits: tuple[bytes, ...] = ()
    session_id: str = "session"

    def __post_init__(self) -> None:
        plan = self.caller.federation.plan
        self.schedule = scheduled(self.who, *self.bits)
        self.turns = encrypted_turns(self.who, scheduled_of(self.schedule, len(self.X)))
        self.ballots = [
            ballot_circuit(plan.mechanism, plan.classes, turn.weight, LOGIT_BITS) for turn in self.turns
        ]
        self.evaluations = [
            Evaluation(ballot.circuit, turn.instances, self._binding(turn))
            for ballot, turn in zip(self.ballots, self.turns, strict=True)
        ]
        self.keys = QueryKeys(self.parameters)
        self.queries = encrypted_queries(self.keys.public(), self.keys.encrypt(self.X))

    @property
    def parameters(self) -> Parameters:
        return parameters_of(self.who.head)  # type: ignore[arg-type]

    def request(self, **changes: Any) -> party_pb2.BeginRequest:
        plan = self.caller.federation.plan
        others = [participant(site) for site in plan.parties if site != "athens"]
        fields: dict[str, Any] = {
            "plan": plan.serialize(),
            "grant": self.caller.grant(participants=[self.who, *others], session_id=self.session_id),
            "ticket": self.caller.ticket(
                self.batch_id, len(self.X), schedule=[self.schedule], session_id=self.session_id
            ),
            "point": b"".join(evaluation.point() for evaluation in self.evaluations),
        }
        return party_pb2.BeginRequest(**(fields | changes))

    def begin(self, request: party_pb2.BeginRequest | None = None) -> bytes:
        """The extension to send next."""
        try:
            reply = self.stub.Begin(request or self.request(), timeout=60)
        except grpc.RpcError as exc:
            raise call_error(exc) from exc
        parts = cut(reply.points, [sizes.points for sizes in self._sizes])
        pairs = zip(self.evaluations, parts, strict=True)
        return b"".join(evaluation.extension(part) for evaluation, part in pairs)

    def garble(self, extension: bytes) -> bytes:
        return self.call("Garble", extension, sum(sizes.tables for sizes in self._sizes))

    def evaluate(self, queries: bytes | None = None) -> bytes:
        teachers = sum(turn.teachers for turn in self.turns)
        size = teachers * logits_bytes(self.parameters, self.caller.federation.plan.classes)
        return self.call("Evaluate", self.queries if queries is None else queries, size)

    def correction(self, logits: bytes) -> bytes:
        classes, size = self.caller.federation.plan.classes, len(self.X)
        heads = cut(
            logits, [logits_bytes(self.parameters, classes)] * sum(turn.teachers for turn in self.turns)
        )
        words = iter([self.keys.decrypt(head, size).T for head in heads])
        return b"".join(
            evaluation.correction(turn.words(np.stack([next(words) for _ in range(turn.teachers)])))
            for evaluation, turn in zip(self.evaluations, self.turns, strict=True)
        )

    def compare(self, correction: bytes) -> bytes:
        return self.call("Compare", correction, sum(sizes.labels for sizes in self._sizes))

    def share(self, tables: bytes, labels: bytes) -> NDArray[np.uint32]:
        """This side's share of the ballots."""
        shares = []
        by_clique = zip(
            self.turns,
            self.ballots,
            self.evaluations,
            cut(tables, [sizes.tables for sizes in self._sizes]),
            cut(labels, [sizes.labels for sizes in self._sizes]),
            strict=True,
        )
        for turn, ballot, evaluation, table, label in by_clique:
            evaluation.take(table)
            evaluation.evaluate(label)
            shares.append(turn.ballots(ballot.combine(evaluation.shares()), len(self.X)))
        total: NDArray[np.uint32] = np.sum(shares, axis=0, dtype=np.uint32)
        return total

    def run(self) -> NDArray[np.float64]:
        """All steps; what both shares add up to, in votes."""
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
            replies = getattr(self.stub, method)(iter(messages), timeout=120)
            return b"".join(read_reply(replies, self.step, size))
        except grpc.RpcError as exc:
            raise call_error(exc) from exc

    @property
    def _sizes(self) -> list[Any]:
        pairs = zip(self.ballots, self.turns, strict=True)
        return [ballot.circuit.sizes(turn.instances) for ballot, turn in pairs]

    def _binding(self, turn: EncryptedTurn) -> bytes:
        return ballots_binding(self.session_id, self.batch_id, self.who.site, turn.clique)
