"""Encrypted votes from a test's party, by the protocol, with linear teachers."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse

from ostraka.common.crypto.ballot_computation import BallotComputation
from ostraka.common.crypto.heads import Affine, EncryptedHead
from ostraka.common.crypto.inference import scheme_of
from ostraka.common.crypto.transcripts import ballots_binding, read_encrypted_queries
from ostraka.common.crypto.two_party import Garbling
from ostraka.common.plan.plan import Plan
from ostraka.common.plan.schedules import read_schedule
from ostraka.common.rpc.steps import StepId, read_header, read_request, reply_messages
from ostraka.protos.ostraka.v1 import common_pb2, party_pb2
from ostraka.protos.ostraka.v1.party_pb2_grpc import PartyServicer
from tests.signed_lists import own_ticket

Key = tuple[str, int]
SEED = b"m" * 32


def head(*, multi_label: bool, dissents: bool) -> EncryptedHead:
    """Votes for the class that is twice the first feature, or yes to the labels up to it."""
    slopes, offsets = ([0, 1, 1], [0.9, -0.25, -0.75]) if multi_label else ([0, 1, 2], [0, -0.25, -1])
    if dissents:
        offsets[2] = -0.4 if multi_label else -0.7
    weights = np.stack([slopes, np.zeros(3)], axis=1)
    return EncryptedHead((Affine(scipy.sparse.csr_array(weights), np.array(offsets, dtype=np.float64)),))


@dataclass
class Slot:
    """One batch: its circuits, and its shares of logits (teachers, size, classes)."""

    plan: Plan
    votes: BallotComputation
    garbling: Garbling
    shares: Any = None
    reply: bytes = b""


@dataclass(kw_only=True)
class Answering(PartyServicer):
    """Hooks: `on_step(call)` raises the refusal for a call, `alter_step(call, bytes)` changes replies."""

    site: str
    on_step: Callable[[str], None] = lambda _: None
    alter_step: Callable[[str, bytes], bytes] = lambda _, data: data
    slots: dict[Key, Slot] = field(default_factory=dict)
    received: list[tuple[str, Key, bytes]] = field(default_factory=list)

    def errs(self) -> bool:
        """Whether this party's teachers confuse two classes."""
        raise NotImplementedError

    def share(self, key: Key, values: Any) -> None:
        """Hand this party's share of its ballots to the guardian."""
        raise NotImplementedError

    def Begin(self, request: party_pb2.BeginRequest, context: Any) -> Any:  # noqa: N802
        ticket = own_ticket(request.ticket)
        key = (ticket.session_id, ticket.batch_id)
        self._called("Begin", key, request.point)
        slot = self.slots.setdefault(key, self._slot(Plan.parse(request.plan), ticket))
        return party_pb2.BeginReply(points=self.alter_step("Begin", slot.garbling.points(request.point)))

    def Garble(self, request_iterator: Iterator[Any], context: Any) -> Iterator[Any]:  # noqa: N802
        step, slot, data = self._read("Garble", request_iterator)
        slot.garbling.accept(data)
        for message in self._reply("Garble", step, b"".join(slot.garbling.tables())):
            yield message
            self.on_step("tables")

    def Evaluate(self, request_iterator: Iterator[Any], context: Any) -> Iterator[Any]:  # noqa: N802
        step, slot, data = self._read("Evaluate", request_iterator)
        if not slot.reply:
            public, queries = read_encrypted_queries(data)
            one, labels = head(multi_label=slot.plan.multi_label, dissents=self.errs()), slot.plan.labels
            heads = [one.select(labels) if labels else one] * slot.votes.teachers
            evaluator = scheme_of("linear").evaluator(public, slot.garbling.context)
            logits = list(evaluator.logits(heads, queries, SEED, slot.votes.size))
            slot.reply = b"".join(one.ciphertexts for one in logits)
            slot.shares = np.stack([one.shares.T for one in logits])
        yield from self._reply("Evaluate", step, slot.reply)

    def Compare(self, request_iterator: Iterator[Any], context: Any) -> Iterator[Any]:  # noqa: N802
        step, slot, data = self._read("Compare", request_iterator)
        self.share((step.session_id, step.batch_id), slot.votes.ballots(slot.garbling.shares()))
        yield from self._reply("Compare", step, slot.garbling.labels(data, slot.votes.select(slot.shares)))

    def _slot(self, plan: Plan, ticket: common_pb2.Ticket) -> Slot:
        (schedule,) = ticket.schedule
        votes = BallotComputation.of(plan, schedule.participant, read_schedule(schedule, ticket.size))
        bound = ballots_binding(ticket.session_id, ticket.batch_id, self.site)
        return Slot(plan, votes, Garbling(votes.computation, SEED, bound))

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
