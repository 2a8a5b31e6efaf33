"""A federation under siege: a real guardian that is killed again and again while it is in use."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import grpc
import numpy as np

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Role
from ostraka.common.mechanism import GnMax
from ostraka.common.plan.plan import Plan
from ostraka.common.rpc import call_error
from ostraka.common.sharing.ring import RingArray
from ostraka.deploy.simulation.processes import ChildCommand, Process, Supervisor
from ostraka.guardian.ledger import LedgerReader, verify
from ostraka.guardian.ledger.sessions import recorded_charges
from ostraka.guardian.ledger.site import ledger_location
from ostraka.guardian.ledger.units import balances
from ostraka.protos.ostraka.v1 import common_pb2, guardian_pb2
from tests.guardian.federation import FEDERATION, PARTIES, Calls, Federation, plan

FIRST_BATCH_S = 0.4
ROUNDS_A_SESSION = 10
EPSILON = 5000.0
READY_S = 120.0
Answers = tuple[tuple[bool, int], ...]


@dataclass
class Batch:
    """One batch as its querying party saw it."""

    session: str
    batch: int
    plan: Plan
    size: int
    total: RingArray | None = None
    answers: set[Answers] = field(default_factory=set)
    dead: bool = False

    @property
    def settled(self) -> bool:
        return self.dead or bool(self.answers)


class Siege:
    """A federation whose guardian is killed again and again, each time within about three batches."""

    def __init__(self, federation: Federation, seed: int) -> None:
        self.draws = random.Random(seed)  # noqa: S311
        self.federation = federation
        self.batches: list[Batch] = []
        self.heads: list[common_pb2.AuditHead] = []
        self.kills = 0
        self.batch_s = FIRST_BATCH_S
        self._session: tuple[str, Plan] | None = None

    def round(self, home: Supervisor) -> None:
        """Start a guardian, use it, and kill it while it is used."""
        with self._served(home) as (process, calls):
            killer = threading.Timer(self.draws.uniform(0, 3 * self.batch_s), process.kill)
            killer.start()
            with suppress(_GoneError):
                while True:
                    self._act(calls)
            killer.join()
        self.kills += 1

    def prepare(self, home: Supervisor) -> None:
        """Register all parties and set their budgets."""
        with self._served(home) as (_, calls):
            calls.prepare_all(EPSILON)

    def finish(self, home: Supervisor) -> None:
        """Ask for the outcome of every batch, and close the session."""
        with self._served(home) as (_, calls):
            for batch in self.batches:
                self._settle(calls, batch)
            for session in {batch.session for batch in self.batches}:
                calls.query.CloseSession(guardian_pb2.CloseSessionRequest(session_id=session))

    @contextmanager
    def _served(self, home: Supervisor) -> Iterator[tuple[Process, Calls]]:
        site = self.federation.guardian_folder
        ready = site / "ready.json"
        ready.unlink(missing_ok=True)
        words = ["guardian", "serve", "--site", str(site), "--ready-file", str(ready)]
        child = home.start(ChildCommand("guardian", words))
        calls = Calls(self.federation, home.wait_ready(child, ready, READY_S))
        try:
            yield child.process, calls
        finally:
            calls.close()
            child.process.kill()
            child.process.wait()

    def _act(self, calls: Calls) -> None:
        """Ask for a batch, or again for an earlier one."""
        try:
            unsure = [batch for batch in self.batches if not batch.settled]
            if unsure:
                self._find_out(calls, unsure[0])
            elif self.batches and self.draws.random() < 0.2:
                self._find_out(calls, self.draws.choice(self.batches))
            else:
                self._ask(calls)
        except grpc.RpcError as exc:
            if call_error(exc).code != ErrorCode.SERVER_UNREACHABLE:
                raise
            raise _GoneError from exc

    def _find_out(self, calls: Calls, batch: Batch) -> None:
        if batch.total is None or self.draws.random() < 0.5:
            self._settle(calls, batch)
            return
        try:
            batch.answers.add(tuple(calls.release(batch.session, batch.batch, batch.total)))
        except grpc.RpcError as exc:
            if call_error(exc).code != ErrorCode.BATCH_DEAD:
                raise
            self._settle(calls, batch)

    def _settle(self, calls: Calls, batch: Batch) -> None:
        reply = calls.settle(batch.session, batch.batch)
        if reply.released:
            batch.answers.add(tuple((answer.answered, answer.label) for answer in reply.answers))
        else:
            batch.dead = True

    def _ask(self, calls: Calls) -> None:
        if self._session is None or self.draws.random() < 1 / ROUNDS_A_SESSION:
            asked = _plan(self.draws)
            self._session = calls.open(asked).session_id, asked
        session, asked = self._session
        began = time.monotonic()
        batch = Batch(session, self.draws.getrandbits(62), asked, self.draws.randint(1, asked.batch_size))
        self.batches.append(batch)
        calls.ticket(session, batch.batch, batch.size)
        votes = np.random.default_rng(self.draws.getrandbits(64)).multinomial(10, [0.25] * 4, (3, batch.size))
        batch.total = calls.vote(session, batch.batch, votes)
        batch.answers.add(tuple(calls.release(session, batch.batch, batch.total)))
        self.batch_s = time.monotonic() - began
        if self.draws.random() < 0.2:
            self.heads.append(calls.register(self.draws.choice(PARTIES)).audit_head)

    def problems(self) -> list[str]:
        """Return what does not hold in the ledger at the end."""
        where = ledger_location(self.federation.guardian_folder)
        certificate = self.federation.credentials["guardian", Role.GUARDIAN].ca_pem
        try:
            verify(where, ca_pem=certificate, federation=FEDERATION, heads=self.heads)
        except OstrakaError as exc:
            return [f"verify: {exc.message}"]
        with LedgerReader.open_read_only(where) as ledger:
            return [*self._of_batches(), *self._of_charges(ledger)]

    def _of_batches(self) -> Iterator[str]:
        for batch in self.batches:
            if len(batch.answers) > 1:
                yield f"batch {batch.batch} was answered with {len(batch.answers)} different answers"
            if batch.answers and batch.dead:
                yield f"batch {batch.batch} was answered and said to be dead"

    def _of_charges(self, ledger: LedgerReader) -> Iterator[str]:
        charged = {(c.batch_id, c.unit): c.worst_case for c in ledger.read(recorded_charges.charges)}
        for budget in ledger.read(balances.all_budgets):
            costs = {(b.batch, budget.key): _cost(b, budget.order) for b in self.batches if b.answers}
            rows = {key: amount for key, amount in charged.items() if key[1] == budget.key}
            if rows != costs:
                yield f"{budget.key}: {len(costs)} batches were answered, {len(rows)} charged, not all alike"
            if (budget.spent, budget.reserved) != (sum(costs.values()), 0):
                yield (
                    f"{budget.key} spent {budget.spent} and reserved {budget.reserved},"
                    f" not {sum(costs.values())} and 0"
                )


class _GoneError(Exception):
    """The guardian was killed."""


def _plan(draws: random.Random) -> Plan:
    mechanism = GnMax(sigma=draws.uniform(3, 9))
    return plan(nonce=draws.randbytes(16), mechanism=mechanism, queries=10_000, batch_size=8)


def _cost(batch: Batch, order: float) -> int:
    return batch.plan.mechanism.worst_case(order, classes=batch.plan.classes).reservation(batch.size, 1)
