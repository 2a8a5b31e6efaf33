"""Whatever is done in whatever order, no unit spends more than its budget and nothing is paid for twice."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from ostraka.common.errors import OstrakaError
from ostraka.guardian.ledger import BudgetTerms, Charge, Ledger, UnitKey
from ostraka.guardian.ledger.sessions import batches, endings, releases
from ostraka.guardian.ledger.units import balances, budgets
from tests.guardian.ledger.support import (
    ATHENS,
    CORINTH,
    DELTA,
    ORDER,
    SEAL,
    budget_of,
    cipher,
    clock,
    open_session,
    sign,
    with_budgets,
)

T = TypeVar("T")
SESSIONS = st.sampled_from(["s", "t"])
BATCHES = st.integers(0, 19)
DIGESTS = st.sampled_from([b"a", b"b"])
COSTS = st.integers(0, 5 * 10**12)
UNITS = st.sampled_from([(ATHENS,), (CORINTH,), (ATHENS, CORINTH)])


class Guardian(RuleBasedStateMachine):
    """A guardian that does anything at any time, and remembers which answers it was told to send."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.ledger = self.open()
        with_budgets(self.ledger)
        open_session(self.ledger, "t")
        self.sent: dict[tuple[str, int], bytes] = {}
        self.paid: dict[tuple[str, int], tuple[int, int]] = {}
        self.tickets: dict[tuple[str, int], tuple[tuple[UnitKey, ...], int]] = {}
        self.number = 0

    def open(self) -> Ledger:
        return Ledger.open(
            Path(self.folder.name) / "ledger.db", clock=clock(), cipher=cipher(), sign_head=sign, seal=SEAL
        )

    def teardown(self) -> None:
        self.restart()
        self.ledger.close()
        self.folder.cleanup()

    @rule(session=SESSIONS, batch=BATCHES, cost=COSTS, units=UNITS)
    def ticket(self, session: str, batch: int, cost: int, units: tuple[UnitKey, ...]) -> None:
        reservations = dict.fromkeys(units, cost)
        if attempt(
            lambda: self.ledger.write_session(session, batches.open_batch, batch, 5, b"t", reservations)
        ):
            self.tickets.setdefault((session, batch), (units, cost))

    @precondition(lambda self: self.tickets)
    @rule(pick=st.integers(0, 99), digest=DIGESTS, cost=COSTS)
    def check(self, pick: int, digest: bytes, cost: int) -> None:
        key = session, batch = sorted(self.tickets)[pick % len(self.tickets)]
        units, _ = self.tickets[key]
        charges = [Charge(unit, cost, cost) for unit in units]
        before = self.spent()
        attempt(lambda: self.ledger.write_session(session, releases.check, batch, digest, charges))
        if self.spent() != before:
            assert key not in self.paid
            self.paid[key] = (cost * (ATHENS in units), cost * (CORINTH in units))

    @precondition(lambda self: self.tickets)
    @rule(pick=st.integers(0, 99), digest=DIGESTS, saved=st.integers(-1, 10**12))
    def release_ticketed(self, pick: int, digest: bytes, saved: int) -> None:
        key = sorted(self.tickets)[pick % len(self.tickets)]
        units, cost = self.tickets[key]
        self.release(*key, max(0, cost - saved), units, digest)

    @rule(session=SESSIONS, batch=BATCHES, cost=COSTS, units=UNITS, digest=DIGESTS)
    def ask(self, session: str, batch: int, cost: int, units: tuple[UnitKey, ...], digest: bytes) -> None:
        self.ticket(session, batch, cost, units)
        self.release(session, batch, cost, units, digest)

    @rule(session=SESSIONS, batch=BATCHES, cost=COSTS, units=UNITS, digest=DIGESTS)
    def release(self, session: str, batch: int, cost: int, units: tuple[UnitKey, ...], digest: bytes) -> None:
        self.number += 1
        answers = b"%d" % self.number
        charges = [Charge(unit, cost, cost) for unit in units]
        before = self.spent()
        sent = attempt(
            lambda: self.ledger.write_session(
                session, releases.release, batch, digest, answers, charges, answered=3
            )
        )
        key = (session, batch)
        if sent == answers:
            assert key not in self.sent
            self.sent[key] = sent
            self.paid[key] = (cost * (ATHENS in units), cost * (CORINTH in units))
        else:
            assert sent is None or sent == self.sent[key]
            assert self.spent() == before

    @rule(session=SESSIONS, batch=BATCHES)
    def settle(self, session: str, batch: int) -> None:
        assert self.ledger.write_session(session, endings.settle, batch) == self.sent.get((session, batch))

    @rule(epsilon=st.floats(1.0, 10.0))
    def lower(self, epsilon: float) -> None:
        attempt(
            lambda: self.ledger.write(
                budgets.set_budget, ATHENS, BudgetTerms(epsilon, DELTA, ORDER, "worst_case")
            )
        )

    @rule()
    def restart(self) -> None:
        self.ledger.close()
        self.ledger = self.open()

    @rule()
    def close(self) -> None:
        self.ledger.write_session("t", endings.close)

    @invariant()
    def nothing_is_overspent(self) -> None:
        first = self.ledger.read(balances.all_budgets)
        assert self.spent() == tuple(sum(cost[i] for cost in self.paid.values()) for i in (0, 1))
        assert first[1].spent + first[1].reserved <= first[1].budget
        assert [self.ledger.read(balances.data_dependent_totals)[b.key] for b in first] == list(self.spent())

    def spent(self) -> tuple[int, int]:
        return budget_of(self.ledger, ATHENS).spent, budget_of(self.ledger, CORINTH).spent


def attempt(call: Callable[[], T]) -> T | None:
    """Return the result of `call`, or None where the ledger refused."""
    try:
        return call()
    except (OstrakaError, ValueError):
        return None


TestInvariants = pytest.mark.heavy(Guardian.TestCase)
TestInvariants.settings = settings(max_examples=30, stateful_step_count=30, deadline=None, database=None)
