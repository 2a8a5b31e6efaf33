"""Encrypted votes as the party of a test gives them, by the protocol, with teachers that are linear."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse

from common.confidential import ballots_binding, cut, read_encrypted_queries
from common.crypto.ballot_circuits import BallotCircuit, ballot_circuit
from common.crypto.ckks.evaluation import Evaluator
from common.crypto.ckks.heads import Affine, EncryptedHead
from common.crypto.ckks.parameters import LOGIT_BITS, parameters_of
from common.crypto.two_party import Garbling
from common.encrypted_order import EncryptedTurn, encrypted_turns
from common.plan import Plan
from common.rpc.steps import StepId, read_header, read_request, reply_messages
from common.schedules import scheduled
from protos.ostraka.v1 import common_pb2, party_pb2
from protos.ostraka.v1.party_pb2_grpc import PartyServicer

Key = tuple[str, int]
SEED = b"m" * 32


def head(*, multi_label: bool, dissents: bool) -> EncryptedHead:
    """Votes the class that is twice the first feature, or yes to the labels up to it."""
    slopes, offsets = ([0, 1, 1], [0.9, -0.25, -0.75]) if multi_label else ([0, 1, 2], [0, -0.25, -1])
    if dissents:
        offsets[2] = -0.4 if multi_label else -0.7
    weights = np.stack([slopes, np.zeros(3)], axis=1)
    return EncryptedHead((Affine(scipy.sparse.csr_array(weights), np.array(offsets, dtype=np.float64)),))


@dataclass
class Clique:
    turn: EncryptedTurn
    ballot: BallotCircuit
    garbling: Garbling

    @property
    def sizes(self) -> Any:
        return self.ballot.circuit.sizes(self.turn.instances)


@dataclass
class Slot:
    """One batch: its circuits, and by clique its shares of logits (teachers, size, classes)."""

    plan: Plan
    size: int
    cliques: list[Clique]
    shares: list[Any] = field(default_factory=list)
    reply: bytes = b""


@dataclass(kw_only=True)
class Answering(PartyServicer):
    """Hooks: `on_step(call)` raises what is to be refused, `alter_step(call, bytes)` changes replies."""

    site: str
    on_step: Callable[[str], None] = lambda _: None
    alter_step: Callable[[str, bytes], bytes] = lambda _, data: data
    slots: dict[Key, Slot] = field(default_factory=dict)
    received: list[tuple[str, Key, bytes]] = field(default_factory=list)

    def errs(self) -> bool:
        """Whether this party's teachers take one class for another."""
        raise NotImplementedError

    def share(self, key: Key, values: Any) -> None:
        """Hand this party's share of its ballots to the guardian."""
        raise NotImplementedError

    def Begin(self, request: party_pb2.BeginRequest, context: Any) -> Any:  # noqa: N802
        ticket = common_pb2.Ticket.FromString(request.ticket.payload)
        key = (ticket.session_id, ticket.batch_id)
        self._called("Begin", key, request.point)
        slot = self.slots.setdefault(key, self._slot(Plan.parse(request.plan), ticket))
        points = cut(request.point, [32] * len(slot.cliques))
        made = [own.garbling.points(point) for own, point in zip(slot.cliques, points, strict=True)]
        return party_pb2.BeginReply(points=self.alter_step("Begin", b"".join(made)))

    def Garble(self, request_iterator: Iterator[Any], context: Any) -> Iterator[Any]:  # noqa: N802
        step, slot, data = self._read("Garble", request_iterator)
        parts = cut(data, [own.sizes.extension for own in slot.cliques])
        for own, part in zip(slot.cliques, parts, strict=True):
            own.garbling.accept(part)
        tables = b"".join(part for own in slot.cliques for part in own.garbling.tables())
        for message in self._reply("Garble", step, tables):
            yield message
            self.on_step("tables")

    def Evaluate(self, request_iterator: Iterator[Any], context: Any) -> Iterator[Any]:  # noqa: N802
        step, slot, data = self._read("Evaluate", request_iterator)
        if not slot.reply:
            public, queries = read_encrypted_queries(data)
            teachers = [own.turn.teachers for own in slot.cliques]
            heads = [head(multi_label=slot.plan.multi_label, dissents=self.errs())] * sum(teachers)
            evaluator = Evaluator(parameters_of("linear"), public)
            logits = list(evaluator.logits(heads, queries, SEED, slot.size))
            slot.reply = b"".join(one.ciphertexts for one in logits)
            shares = np.stack([one.shares.T for one in logits])
            slot.shares = np.split(shares, np.cumsum(teachers)[:-1])
        yield from self._reply("Evaluate", step, slot.reply)

    def Compare(self, request_iterator: Iterator[Any], context: Any) -> Iterator[Any]:  # noqa: N802
        step, slot, data = self._read("Compare", request_iterator)
        parts = cut(data, [own.sizes.correction for own in slot.cliques])
        total = [
            own.turn.ballots(own.ballot.combine(own.garbling.shares()), slot.size) for own in slot.cliques
        ]
        self.share((step.session_id, step.batch_id), np.sum(total, axis=0, dtype=np.uint32))
        labels = [
            own.garbling.labels(part, own.turn.words(share))
            for own, part, share in zip(slot.cliques, parts, slot.shares, strict=True)
        ]
        yield from self._reply("Compare", step, b"".join(labels))

    def _slot(self, plan: Plan, ticket: common_pb2.Ticket) -> Slot:
        (schedule,) = (one for one in ticket.schedule if one.participant.site == self.site)
        cliques = []
        for turn in encrypted_turns(schedule.participant, scheduled(schedule, ticket.size)):
            ballot = ballot_circuit(plan.mechanism, plan.classes, turn.weight, LOGIT_BITS)
            bound = ballots_binding(ticket.session_id, ticket.batch_id, self.site, turn.clique)
            cliques.append(Clique(turn, ballot, Garbling(ballot.circuit, turn.instances, SEED, bound)))
        return Slot(plan, ticket.size, cliques)

    def _read(self, call: str, messages: Iterator[Any]) -> tuple[StepId, Slot, bytes]:
        header = read_header(messages)
        data = read_request(header, messages, most=1 << 30)
        step = StepId.of(header)
        self._called(call, (step.session_id, step.batch_id), data)
        return step, self.slots[step.session_id, step.batch_id], data

    def _called(self, call: str, key: Key, data: bytes) -> None:
        self.received.append((call, key, data))
        self.on_step(call)

    def _reply(self, call: str, step: StepId, data: bytes) -> Iterator[Any]:
        sent = self.alter_step(call, data)
        half = len(sent) // 2
        yield from reply_messages(step, len(sent), [sent[:half], sent[half:]])
