"""Simulated guardian processes: the real coordinator over the real ledger, with faults around every call."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, cast

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Identity
from ostraka.common.sharing.ring import RingArray
from ostraka.common.sharing.shares import RowSums
from ostraka.common.wire.contexts import AUDIT_CONTEXT
from ostraka.guardian.ledger import Charge, Cipher, Ledger, UnitKey
from ostraka.guardian.ledger.log import audit
from ostraka.guardian.ledger.sessions import charging
from ostraka.guardian.ledger.site import seal_of
from ostraka.guardian.members.registration import Registrar
from ostraka.guardian.noise import NoisePrefetcher
from ostraka.guardian.policy import Policy
from ostraka.guardian.sessions import Coordinator
from ostraka.guardian.sessions.batch import Batch, Share
from ostraka.guardian.sessions.data_dependent import DataDependentCosts
from ostraka.guardian.sessions.registry import OpenBatches
from ostraka.protos.ostraka.v1 import common_pb2, guardian_pb2
from tests.chaos.dying import dying
from tests.chaos.faults import Faults
from tests.chaos.members import CheapNoise, FixedPolicy, as_clock, members
from tests.chaos.turns import Killed, TurnLock, Turns

CIPHER = Cipher(bytes(range(32)))
HEARTBEAT_S = 5.0
MOST_STATEMENTS = 25
Where = Path | str


@dataclass
class Surroundings:
    """What guardian processes run in, and every audit head that they gave to parties."""

    turns: Turns
    draws: random.Random
    faults: Faults
    policy: Policy
    log: Callable[[str], None]
    died: Callable[[Guardian], None] = field(default=lambda _: None)
    heads: list[common_pb2.AuditHead] = field(default_factory=list)
    figures: dict[tuple[str, int], dict[UnitKey, int]] = field(default_factory=dict)
    generation: int = 0


@dataclass(frozen=True)
class Told:
    """Answers of a batch (None if it failed for good), and the generation of the ledger that answered."""

    generation: int
    answers: bytes | None


def open_ledger(around: Surroundings, where: Where, address: str = "", ahead_s: float = 0.0) -> Ledger:
    """Open the real ledger with a simulated clock."""
    return Ledger.open(
        where,
        clock=as_clock(around.turns, ahead_s),
        cipher=CIPHER,
        sign_head=lambda payload: members().guardian.sign(AUDIT_CONTEXT, payload),
        seal=seal_of(members().guardian, as_clock(around.turns)),
        address=address,
    )


class Guardian:
    """One guardian process, from its start until it dies; its memory is then lost."""

    def __init__(self, around: Surroundings, where: Where, address: str) -> None:
        self.address = address
        self.alive = True
        self.asleep_until = 0.0
        self._around = around
        self._generation = around.generation
        ahead_s = around.draws.choice([0.0, 0.0, around.draws.uniform(-3, 3)])
        with dying(around.draws.choice([1, 10, 20, 40, *[10**9] * 8]), self.crash):
            self.ledger = open_ledger(around, where, address, ahead_s)
        policies, clock = FixedPolicy(around.policy), as_clock(around.turns, ahead_s)
        self.faulty = cast(Ledger, _FaultyLedger(self))
        self._coordinator = Coordinator(
            self.faulty,
            members().guardian,
            policies,
            clock,
            cast(NoisePrefetcher, CheapNoise(around.draws.getrandbits(64))),
            _TurnFigures(self, around),
        )
        self._coordinator._batches = self._coordinator.ballots._batches = _TurnBatches(around.turns)
        self._registrar = Registrar(self.faulty, members().guardian, policies, clock)
        around.turns.start(self._beat, self)

    # What the guardian's service does with each message

    def open_session(self, querier: Identity, plan: bytes) -> common_pb2.SignedList:
        return self._coordinator.open_session(querier, plan)

    def open_batch(
        self, querier: Identity, session: str, batch: int, size: int, unavailable: Sequence[str]
    ) -> common_pb2.SignedList:
        return self._coordinator.open_batch(querier, session, batch, size, unavailable)

    def record_evaluation(self, party: Identity, session: str, batch: int) -> common_pb2.AuditHead:
        self._coordinator.ballots.record_evaluation(party, session, batch)
        return self._given(self.faulty.read(audit.head))

    def submit(self, party: Identity, session: str, batch: int, values: RingArray) -> common_pb2.AuditHead:
        ticketed = self._coordinator.ballots.batch_to_submit(party, session, batch)
        self._coordinator.ballots.submit(party, ticketed, Share.of(values))
        return self._given(self.faulty.read(audit.head))

    def prepare(
        self, querier: Identity, session: str, batch: int, held: Sequence[str]
    ) -> guardian_pb2.PrepareReply:
        return self._coordinator.prepare(querier, session, batch, held, RowSums(b"", {}))

    def release(self, querier: Identity, session: str, batch: int, total: RingArray) -> Told:
        ticketed = self._coordinator.batch_to_release(querier, session, batch)
        return self._told(self._coordinator.release(ticketed, Share.of(total)))

    def settle(self, querier: Identity, session: str, batch: int) -> Told:
        return self._told(self._coordinator.settle(querier, session, batch))

    def close_session(self, querier: Identity, session: str) -> None:
        self._coordinator.close_session(querier, session)

    def register(self, party: Identity, request: guardian_pb2.RegisterRequest) -> Any:
        registered = self._registrar.register(party, request)
        self._given(registered.head)
        return registered

    def reconcile(
        self, party: Identity, requests: Sequence[guardian_pb2.ReconcileRequest]
    ) -> guardian_pb2.ReconcileReply:
        reply = self._registrar.reconcile(party, requests)
        self._given(reply.audit_head)
        return reply

    def _given(self, head: common_pb2.AuditHead) -> common_pb2.AuditHead:
        """Keep a head for verification; late heads from before a restore belong to the lost history."""
        if self._generation == self._around.generation:
            self._around.heads.append(head)
        return head

    def _told(self, answers: bytes | None) -> Told:
        return Told(self._generation, answers)

    # Life and death

    def crash(self) -> None:
        """Die now: the guardian does nothing more and tells nobody."""
        if not self.alive:
            return
        self.alive = False
        self._around.log(f"guardian {self.address} dies")
        if hasattr(self, "ledger"):
            self._around.turns.at(self._around.turns.now, self.ledger._storage.close)
        self._around.died(self)

    def sleep(self, seconds: float) -> None:
        """Stop, like a suspended machine, and then continue as if nothing had happened."""
        self._around.log(f"guardian {self.address} sleeps for {seconds:.0f} s")
        self.asleep_until = self._around.turns.now + seconds

    def through(self, call: Callable[..., Any], *args: Any, **named: Any) -> Any:
        """Make a ledger call; this process may die or be slow before, during and after it."""
        around = self._around
        around.turns.running().check()
        self._pause()
        moment = around.draws.choice(["before", "within", "after"])
        fatal = around.draws.random() < around.faults.crash
        if fatal and moment == "before":
            self.crash()
            raise Killed
        with dying(
            around.draws.randint(1, MOST_STATEMENTS) if fatal and moment == "within" else -1, self.crash
        ):
            result = call(*args, **named)
        if fatal and moment == "after":
            self.crash()
            raise Killed
        self._pause()
        return result

    def _pause(self) -> None:
        slow = self._around.draws.random() < 0.03
        self._around.turns.sleep(self._around.draws.uniform(0, 4.0 if slow else 0.02))

    def _beat(self) -> None:
        while True:
            self._around.turns.sleep(HEARTBEAT_S)
            try:
                self.faulty.renew_lease()
            except OstrakaError as exc:
                if exc.code is not ErrorCode.LEDGER_FENCED:
                    raise
                self.crash()


class _FaultyLedger:
    """The methods of a guardian's ledger, each with the guardian's faults around it."""

    def __init__(self, guardian: Guardian) -> None:
        self._guardian = guardian

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._guardian.ledger, name)

        def call(*args: Any, **named: Any) -> Any:
            return self._guardian.through(method, *args, **named)

        return call


class _TurnFigures:
    """Computes a batch's data-dependent cost at once; stores it later if the guardian is still alive."""

    def __init__(self, guardian: Guardian, around: Surroundings) -> None:
        self._guardian = guardian
        self._around = around

    def add(
        self, session_id: str, batch_id: int, charges: Sequence[Charge], costs: DataDependentCosts
    ) -> None:
        known = {charge.unit: charge.data_dependent for charge in costs.charges()}
        self._around.figures[session_id, batch_id] = known
        delay = self._around.draws.uniform(0, 60)
        store = partial(self._store, session_id, batch_id, known)
        self._around.turns.start(store, self._guardian, delay)

    def _store(self, session_id: str, batch_id: int, known: dict[UnitKey, int]) -> None:
        with suppress(OstrakaError):
            self._guardian.faulty.write_session(session_id, charging.store_figures, batch_id, known)


class _TurnBatches(OpenBatches):
    """Open batches whose locks make other tasks wait instead of threads."""

    def __init__(self, turns: Turns) -> None:
        super().__init__()
        self._turns = turns

    def add(self, session_id: str, batch_id: int, batch: Batch) -> bool:
        batch._lock = cast(Any, TurnLock(self._turns))
        return super().add(session_id, batch_id, batch)
