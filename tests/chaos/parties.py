"""Simulated answering parties: they vote once per batch, keep receipts and heads, and reconcile."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.plan.plan import Plan
from ostraka.common.plan.schedules import read_schedule
from ostraka.common.sharing.fixed_point import encode
from ostraka.common.sharing.ring import Ring, RingArray
from ostraka.common.sharing.shares import split
from ostraka.common.wire.contexts import RECEIPTS_CONTEXT
from ostraka.protos.ostraka.v1 import common_pb2, guardian_pb2
from tests.chaos.faults import CALL_TIMEOUT_S
from tests.chaos.members import CLASSES, members
from tests.chaos.network import Network, UnreachableError
from tests.chaos.records import receipts
from tests.chaos.turns import Turns
from tests.signed_lists import ticket_of

ATTEMPTS = 6
AGAIN = {
    ErrorCode.SESSION_ELSEWHERE,
    ErrorCode.LEDGER_FENCED,
    ErrorCode.LEDGER_LOCKED,
    ErrorCode.LEDGER_UNREACHABLE,
}
"""Refusals after which a caller continues with another guardian, or later."""


def insist(
    turns: Turns,
    network: Network,
    addresses: list[str],
    method: str,
    *args: Any,
    attempts: int = ATTEMPTS,
    timeout: float = CALL_TIMEOUT_S,
) -> Any:
    """Call guardians until one answers; the one that did moves to the front of `addresses`."""
    for attempt in range(attempts):
        address = addresses[0]
        try:
            return network.call(address, method, *args, timeout=timeout)
        except UnreachableError:
            _pass_over(addresses, address)
        except OstrakaError as exc:
            if exc.code not in AGAIN:
                raise
            holder = exc.details.get("address")
            if holder in addresses:
                addresses.remove(holder)
                addresses.insert(0, holder)
            else:
                _pass_over(addresses, address)
        turns.sleep(0.5 * 2**attempt)
    raise UnreachableError(method)


def _pass_over(addresses: list[str], address: str) -> None:
    """Move an address to the end, unless another call of the same caller has done so meanwhile.

    Otherwise two concurrent calls would undo each other's move and call the same address forever.
    """
    if addresses[0] == address:
        addresses.append(addresses.pop(0))


class Party:
    """One answering party. Its data on disk survive a restart; its replies to retries do not."""

    def __init__(
        self, site: str, turns: Turns, network: Network, draws: random.Random, addresses: list[str]
    ) -> None:
        self.site = site
        self.alive = True
        self.asleep_until = 0.0
        self.receipts: list[common_pb2.Receipt] = []
        self._turns = turns
        self._network = network
        self._draws = draws
        self._addresses = list(addresses)
        self._replies: dict[tuple[str, int], tuple[bytes, RingArray]] = {}
        self._unacknowledged: dict[tuple[str, int], RingArray] = {}
        self._answered: set[tuple[str, int]] = set()
        self._recorded: set[tuple[str, int]] = set()
        self._kept: tuple[int, int, common_pb2.AuditHead] | None = None
        self._epoch = 0

    def vote(self, signed: common_pb2.SignedList, plan: Plan) -> RingArray:
        """Return the querying party's share of the ballots; the guardian gets the other share."""
        ticket = ticket_of(signed)
        key = (ticket.session_id, ticket.batch_id)
        told, _ = self._replies.get(key, (b"", None))
        if told != signed.signed.payload:
            self._make(key, signed, ticket, plan)
        _, share = self._replies[key]
        if plan.encoding == "ckks":
            self._record_evaluation(*key)
        if key not in self._replies:
            raise OstrakaError(ErrorCode.BATCH_RESTARTED, "restarted meanwhile")
        if key in self._unacknowledged:
            self._submit_later(key)
        return share

    def _make(
        self, key: tuple[str, int], signed: common_pb2.SignedList, ticket: common_pb2.Ticket, plan: Plan
    ) -> None:
        if key in self._answered:
            raise OstrakaError(ErrorCode.BATCH_RESTARTED, "answered before")
        (schedule,) = (s for s in ticket.schedule if s.participant.site == self.site)
        ballots = self._ballots(plan, schedule, ticket.size)
        self._answered.add(key)
        self.receipts += receipts(plan, ticket, schedule)
        ring = Ring(plan.ring_bits)
        others = split(ballots, self._draws.randbytes(32), ring)
        self._replies[key] = signed.signed.payload, encode(ballots, ring) - others
        self._unacknowledged[key] = others

    def _record_evaluation(self, session: str, batch: int) -> None:
        """Tell a guardian before any evaluation is sent; if no guardian is reachable, none is sent."""
        if (session, batch) in self._recorded:
            return
        identity, addresses = members().party(self.site).identity, list(self._addresses)
        try:
            insist(self._turns, self._network, addresses, "record_evaluation", identity, session, batch)
        except UnreachableError:
            raise OstrakaError(ErrorCode.SERVER_UNREACHABLE, "no guardian is there") from None
        self._recorded.add((session, batch))

    def restart(self) -> None:
        """Forget what is kept in memory."""
        self._replies.clear()
        self._unacknowledged.clear()

    def register(self) -> None:
        """Register until a guardian accepts, and send everything to a restored guardian."""
        identity = members().party(self.site).identity
        kept = None if self._kept is None else self._kept[2]
        request = guardian_pb2.RegisterRequest(manifest=members().manifests[self.site], kept_head=kept)
        registered = self._until_done("register", identity, request)
        head, epoch = registered.head, registered.epoch
        if registered.reconcile:
            told = common_pb2.Receipts(site=self.site, receipts=self.receipts)
            signed = members().party(self.site).sign(RECEIPTS_CONTEXT, told.SerializeToString())
            parts = [guardian_pb2.ReconcileRequest(receipts=signed)]
            reply = self._until_done("reconcile", identity, parts)
            head, epoch = reply.audit_head, reply.epoch
        self._keep(head, epoch)

    def _until_done(self, method: str, *args: Any) -> Any:
        while True:
            try:
                return insist(self._turns, self._network, self._addresses, method, *args)
            except UnreachableError:
                self._turns.sleep(1.0)

    def _submit_later(self, key: tuple[str, int]) -> None:
        share = self._unacknowledged[key]
        self._turns.start(lambda: self._submit(*key, share), self)

    def _submit(self, session: str, batch: int, share: RingArray) -> None:
        self._turns.sleep(self._draws.choice([0, 0, 0, self._draws.uniform(0, 4)]))
        epoch = self._epoch
        identity = members().party(self.site).identity
        addresses = list(self._addresses)
        try:
            head = insist(self._turns, self._network, addresses, "submit", identity, session, batch, share)
        except (UnreachableError, OstrakaError):
            return
        self._unacknowledged.pop((session, batch), None)
        self._keep(head, epoch)

    def _keep(self, head: common_pb2.AuditHead, epoch: int) -> None:
        self._epoch = max(self._epoch, epoch)
        if self._kept is None or (epoch, head.sequence) > self._kept[:2]:
            self._kept = epoch, head.sequence, head

    def _ballots(self, plan: Plan, schedule: common_pb2.Schedule, size: int) -> np.ndarray:
        random_votes = np.random.default_rng(self._draws.getrandbits(64))
        if plan.releases_sums:
            return random_votes.normal(size=(size, plan.mechanism.width(plan.classes)))
        present = read_schedule(schedule, size)
        ballots = np.zeros((size, CLASSES))
        for cohort, queries in zip(schedule.participant.cohorts, present, strict=True):
            votes = random_votes.multinomial(cohort.teachers, [1 / CLASSES] * CLASSES, size)
            ballots += votes * queries[:, None] * cohort.weight / 2**16
        return ballots
