"""Tickets that are made while budgets are set and parties register."""

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from ostraka.common.clock import ManualClock
from ostraka.common.errors import ErrorCode
from ostraka.common.identity import Role
from ostraka.common.plan.signed_lists import read_ticket
from ostraka.guardian.ledger import BudgetTerms, Ledger, UnitKey, registrations
from ostraka.guardian.ledger.units import balances, budgets
from ostraka.guardian.policy import Policy
from ostraka.guardian.sessions import Coordinator
from ostraka.guardian.sessions.batch_opening import ATTEMPTS
from ostraka.guardian.sessions.cohorts import Attendance
from ostraka.protos.ostraka.v1 import common_pb2
from tests.chaos.guardians import CIPHER
from tests.chaos.members import DELTA, GROUPS, ORDER, PARTIES, START, CheapNoise, FixedPolicy, members, plan
from tests.guardian.ledger.support import SEAL, refused, sign
from tests.signed_lists import grant_of

QUERIER = members().credentials["q", Role.QUERY].identity
LABELS = [UnitKey(site, group, "label") for site in PARTIES for group in GROUPS[site]]


class Meanwhile:
    """A ledger to which something happens before each write of a session."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self.act: Callable[[], object] = lambda: None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ledger, name)

    def write_session(self, *asked: Any, **named: Any) -> Any:
        self.act()
        return self._ledger.write_session(*asked, **named)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    made = Ledger.open(
        tmp_path / "ledger.db", clock=ManualClock(START), cipher=CIPHER, sign_head=sign, seal=SEAL
    )
    for site, signed in members().manifests.items():
        made.write(registrations.register, site, signed.payload, signed.SerializeToString())
        for group in GROUPS[site]:
            promise(made, UnitKey(site, group, "record"))
    yield made
    made.close()


def promise(ledger: Ledger, unit: UnitKey) -> None:
    ledger.write(budgets.set_budget, unit, BudgetTerms(100.0, DELTA, ORDER, "worst_case"))


def opened(ledger: Ledger, act: Callable[[], object]) -> Callable[[], common_pb2.SignedList]:
    """Return what opens a batch while `act` happens, once its session is open."""
    meanwhile, noise, figures = Meanwhile(ledger), cast(Any, CheapNoise(0)), cast(Any, None)
    coordinator = Coordinator(
        cast(Ledger, meanwhile), members().guardian, FixedPolicy(Policy()), ManualClock(START), noise, figures
    )
    asked = plan(random.Random(1), "none", 2, 4)  # noqa: S311
    session = grant_of(coordinator.open_session(QUERIER, asked.serialize())).session_id
    meanwhile.act = act
    return lambda: coordinator.open_batch(QUERIER, session, 1, 4, [])


def reserved(ledger: Ledger, unit: UnitKey) -> int:
    return ledger.read(balances.budgets_of, [unit])[0].reserved


def test_labels_whose_budget_is_set_while_a_batch_is_opened_pay_for_it(ledger: Ledger) -> None:
    waiting = LABELS[:1]
    opened(ledger, lambda: promise(ledger, waiting.pop()) if waiting else None)()
    assert reserved(ledger, LABELS[0]) == reserved(ledger, LABELS[0]._replace(adjacency="record")) > 0


def test_a_batch_is_refused_whose_labels_get_a_budget_at_every_attempt(ledger: Ledger) -> None:
    waiting = LABELS[:ATTEMPTS]
    call = opened(ledger, lambda: promise(ledger, waiting.pop()))
    refused(ErrorCode.LEDGER_LOCKED, call)
    assert not any(budget.reserved for budget in ledger.read(balances.all_budgets))


def test_a_party_that_registers_while_a_batch_is_opened_is_left_out_of_it(ledger: Ledger) -> None:
    stored = members().manifests[PARTIES[0]]
    changed = common_pb2.Manifest.FromString(stored.payload)
    changed.training = "another"
    waiting = [changed.SerializeToString()]

    def register() -> None:
        if waiting:
            ledger.write(registrations.register, PARTIES[0], waiting.pop(), stored.SerializeToString())

    ticket = read_ticket(opened(ledger, register)().SerializeToString())
    assert [one.participant.site for one in ticket.schedule] == list(PARTIES[1:])


def test_who_votes_is_looked_up_once_a_ticket_and_not_for_each_unit(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For each of 5,000 units it took seconds."""
    looked: list[Attendance] = []

    def sites(attendance: Attendance) -> set[str]:
        looked.append(attendance)
        return {cohort.site for cohort in attendance.cohorts}

    monkeypatch.setattr(Attendance, "sites", property(sites))
    opened(ledger, lambda: None)()
    assert len(looked) <= 2 < len(LABELS)
