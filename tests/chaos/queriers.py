"""Simulated querying parties: sessions of a few batches, repeated and settled if anything fails."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.plan.plan import Plan
from ostraka.common.sharing.ring import RingArray
from ostraka.protos.ostraka.v1 import common_pb2
from tests.chaos.guardians import Surroundings, Told
from tests.chaos.members import PARTIES, members
from tests.chaos.network import Network, UnreachableError
from tests.chaos.parties import insist
from tests.chaos.records import Record
from tests.chaos.turns import Task, Turns
from tests.signed_lists import grant_of, ticket_of

VOTE_ATTEMPTS = 3
POLLS = 12
IMPATIENT = 0.4
CHEATING = 0.08
OVER = {
    ErrorCode.SESSION_ENDED,
    ErrorCode.SESSION_CLOSED,
    ErrorCode.SESSION_UNKNOWN,
    ErrorCode.GRANT_EXPIRED,
}


class Querier:
    """One querying party, which remembers everything it was ever told."""

    def __init__(
        self,
        site: str,
        turns: Turns,
        network: Network,
        draws: random.Random,
        addresses: list[str],
        around: Surroundings,
    ) -> None:
        self.site = site
        self.records: list[Record] = []
        self.sessions: list[str] = []
        self.done = False
        self._identity = members().querier(site)
        self._turns = turns
        self._network = network
        self._draws = draws
        self._addresses = list(addresses)
        self._around = around

    def run(self, plans: list[Plan]) -> None:
        """Run one session after the other."""
        self._turns.sleep(self._draws.uniform(0, 3))
        for plan in plans:
            self._session(plan)
        self.done = True

    def settle(self, record: Record) -> None:
        """Ask for the outcome of a batch until a guardian answers. Its session may belong to a lost
        history."""
        try:
            told = self.ask("settle", record.session, record.batch)
        except OstrakaError as exc:
            if exc.code is ErrorCode.SESSION_UNKNOWN and self._around.generation:
                return
            raise
        self._hear(record, told)

    def ask(self, method: str, *args: Any, **patience: Any) -> Any:
        """Call guardians until one answers."""
        return insist(self._turns, self._network, self._addresses, method, self._identity, *args, **patience)

    def close(self, session: str) -> None:
        """Close a session, unless it belonged to a lost history."""
        try:
            self.ask("close_session", session)
        except OstrakaError as exc:
            if exc.code is not ErrorCode.SESSION_UNKNOWN or not self._around.generation:
                raise

    def _session(self, plan: Plan) -> None:
        session = self._open(plan)
        if session is None:
            return
        self.sessions.append(session)
        for _ in range(self._draws.randint(1, 3)):
            if not self._batch(session, plan):
                return
        if self._draws.random() < 0.8:
            self._attempt(lambda: self.ask("close_session", session))

    def _open(self, plan: Plan) -> str | None:
        for _ in range(4):
            signed = self._attempt(lambda: self.ask("open_session", plan.serialize()))
            if isinstance(signed, common_pb2.SignedList):
                return grant_of(signed).session_id
            self._turns.sleep(4.0)
        return None

    def _batch(self, session: str, plan: Plan) -> bool:
        """Ask for one batch, and return whether the session continues."""
        size = self._draws.randint(1, plan.batch_size)
        record = Record(self.site, session, self._draws.getrandbits(62), plan, size)
        self.records.append(record)
        refused = self._attempt(lambda: self._answered(record))
        if refused == ErrorCode.BATCH_DEAD and self._draws.random() < 0.3:
            refused = self._attempt(lambda: self._answered(record))
        if refused is not None:
            self._attempt(lambda: self.settle(record))
        return refused not in OVER

    def _answered(self, record: Record) -> None:
        unavailable = [site for site in PARTIES if self._draws.random() < 0.05]
        signed = self.ask("open_batch", record.session, record.batch, record.size, unavailable)
        record.tickets.add(signed.SerializeToString())
        shares = self._votes(signed, record)
        frozen = self._frozen(record, sorted(shares))
        if not set(frozen) <= set(shares):
            return
        total = record.plan.modulus.sum(shares[site] for site in frozen)
        self._hear(record, self.ask("release", record.session, record.batch, total, **self._patience()))
        if self._draws.random() < CHEATING:
            self._attempt(lambda: self._cheat(record, total))

    def _votes(self, signed: common_pb2.SignedList, record: Record) -> dict[str, RingArray]:
        """Return the shares of the parties that answer; they are all asked at the same time."""
        encrypted = record.plan.encoding == "ckks"
        ticket = ticket_of(signed)
        sites = [schedule.participant.site for schedule in ticket.schedule]
        shares: dict[str, RingArray] = {}

        def ask(site: str) -> None:
            for _ in range(VOTE_ATTEMPTS):
                try:
                    record.asked |= {site} if encrypted else set()
                    shares[site] = self._network.call(site, "vote", signed, record.plan, timeout=2.0)
                    record.evaluated |= {site} if encrypted else set()
                    return
                except UnreachableError:
                    continue
                except OstrakaError:
                    return

        tasks: list[Task] = [self._turns.start(lambda site=site: ask(site)) for site in sites]  # type: ignore[misc]
        while not all(task.done for task in tasks):
            self._turns.sleep(0.2)
        return shares

    def _frozen(self, record: Record, held: list[str]) -> tuple[str, ...]:
        for _ in range(POLLS):
            reply = self.ask("prepare", record.session, record.batch, held, **self._patience())
            if reply.frozen:
                record.frozen.add(tuple(reply.frozen))
                if self._draws.random() < CHEATING:
                    self._attempt(lambda: self._freeze_again(record, held[:-1]))
                return tuple(reply.frozen)
            self._turns.sleep(0.5)
        raise UnreachableError("prepare")

    def _freeze_again(self, record: Record, held: list[str]) -> None:
        """Name fewer parties for a frozen batch, which must change nothing."""
        record.frozen.add(tuple(self.ask("prepare", record.session, record.batch, held).frozen))

    def _patience(self) -> dict[str, Any]:
        """Return settings that make some callers give up while the guardian is still working, and settle."""
        if self._draws.random() < IMPATIENT:
            return {"attempts": self._draws.randint(1, 2), "timeout": self._draws.uniform(0.2, 2)}
        return {}

    def _cheat(self, record: Record, total: RingArray) -> None:
        """Send another sum for an answered batch, which must not get another answer."""
        self._hear(record, self.ask("release", record.session, record.batch, total + total.dtype.type(1)))

    def _hear(self, record: Record, told: Told) -> None:
        if told.answers is None:
            record.dead.add(told.generation)
        else:
            record.answers.setdefault(told.answers, told.generation)

    def _attempt(self, work: Callable[[], Any]) -> Any:
        """Return the result of `work`, or the code that it was refused with."""
        try:
            return work()
        except OstrakaError as exc:
            return exc.code
        except UnreachableError:
            return ErrorCode.SERVER_UNREACHABLE
