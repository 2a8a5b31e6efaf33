"""What administrators do to budgets, policies and sessions, and how it is remembered."""

import json
from pathlib import Path

import pytest

from ostraka.common.clock import ManualClock
from ostraka.common.errors import ErrorCode
from ostraka.guardian.ledger import BudgetTerms, Charge, Ledger, UnitEvent, registrations
from ostraka.guardian.ledger.log import audit
from ostraka.guardian.ledger.members import parties, policies
from ostraka.guardian.ledger.sessions import batches, endings, recorded_charges, sessions
from ostraka.guardian.ledger.units import balances, budgets, history
from tests.guardian.ledger.places import Place
from tests.guardian.ledger.support import (
    ATHENS,
    BUDGET,
    CORINTH,
    DELTA,
    ORDER,
    START,
    amounts,
    budget_of,
    refused,
    release,
    with_budgets,
)

AT = int(START * 1000)


@pytest.fixture
def ledger(place: Place) -> Ledger:
    return with_budgets(place.open())


def set_level(ledger: Ledger, epsilon: float, level: str | None) -> str | None:
    return ledger.write(
        budgets.set_budget, ATHENS, BudgetTerms(epsilon, DELTA, ORDER, "worst_case", level=level)
    ).level


def test_a_budget_remembers_whose_consent_level_its_epsilon_is(ledger: Ledger) -> None:
    assert set_level(ledger, BUDGET, "high") == "high"
    assert set_level(ledger, BUDGET, None) == "high"
    assert set_level(ledger, BUDGET, "highest") == "highest"
    assert set_level(ledger, 2.0, None) is None


def test_a_refused_raise_says_who_can_raise_it(ledger: Ledger) -> None:
    message = refused(ErrorCode.BUDGET_RAISE_REFUSED, lambda: set_level(ledger, 2 * BUDGET, "high")).message
    assert "ostraka party sign-raise" in message
    assert "ostraka guardian budget grant" in message


def test_a_frozen_unit_takes_part_in_no_new_batch_until_it_is_thawed(ledger: Ledger) -> None:
    ledger.write_session("s", batches.open_batch, 1, 5, b"t", {ATHENS: 100})
    assert ledger.write(budgets.freeze, ATHENS, frozen=True, reason="an audit").state == "frozen"
    refused(
        ErrorCode.BATCH_DEAD, lambda: ledger.write_session("s", batches.open_batch, 2, 5, b"t", {ATHENS: 100})
    )
    release(ledger, 1, Charge(ATHENS, 60, 3))
    assert amounts(ledger) == (60, 0)
    assert ledger.write(budgets.freeze, ATHENS, frozen=False, reason="done").state == "active"
    ledger.write_session("s", batches.open_batch, 3, 5, b"t", {ATHENS: 100})


def test_what_is_done_twice_is_recorded_once(ledger: Ledger) -> None:
    for act in (
        lambda: ledger.write(budgets.freeze, ATHENS, frozen=True, reason="r"),
        lambda: ledger.write(budgets.withdraw, ATHENS, reason="r"),
        lambda: ledger.write(parties.set_party, "athens", "added", reason="r"),
        lambda: ledger.write(policies.apply, "delta = 1e-6", reason="r"),
        lambda: ledger.write(endings.cancel, "s", reason="r"),
    ):
        before = ledger.read(audit.head).sequence
        assert act() == act()
        assert ledger.read(audit.head).sequence == before + 1


def test_a_withdrawn_unit_stays_withdrawn_whatever_the_administrator_does(ledger: Ledger) -> None:
    ledger.write(budgets.freeze, ATHENS, frozen=True, reason="r")
    ledger.write(budgets.withdraw, ATHENS, reason="asked to")
    for frozen in (False, True):
        refused(
            ErrorCode.AGREEMENT_INVALID,
            lambda: ledger.write(budgets.freeze, ATHENS, frozen=frozen, reason="r"),  # noqa: B023
        )
    assert budget_of(ledger).state == "withdrawn"


def test_the_policy_applied_last_is_in_force(ledger: Ledger) -> None:
    assert ledger.read(policies.in_force) is None
    ledger.write(policies.apply, "delta = 1e-6", reason="first")
    ledger.write(policies.apply, "delta = 1e-7", reason="stricter")
    policy = ledger.read(policies.in_force)
    assert policy is not None
    assert (policy.version, policy.toml, policy.reason) == (2, "delta = 1e-7", "stricter")
    assert policy.applied_unix_ms == AT
    assert ledger.write(policies.apply, "delta = 1e-6", reason="back").version == 3


def test_a_cancelled_session_has_ended_and_holds_nothing(ledger: Ledger) -> None:
    ledger.write_session("s", batches.open_batch, 1, 5, b"t", {ATHENS: 100})
    ledger.write(endings.cancel, "s", reason="a mistake")
    assert ledger.read(sessions.find_session, "s").state == "ended"
    assert amounts(ledger) == (0, 0)
    refused(ErrorCode.SESSION_ENDED, lambda: release(ledger, 1, Charge(ATHENS, 60, 3)))
    assert json.loads(list(audit.audit_rows(ledger))[-1].payload)["reason"] == "a mistake"
    refused(ErrorCode.SESSION_UNKNOWN, lambda: ledger.write(endings.cancel, "x", reason="r"))


def test_a_history_has_events_and_charges_in_order(ledger: Ledger, time: ManualClock) -> None:
    for batch_id, cost in ((1, 60), (2, 0), (3, 5)):
        time.advance(1.0)
        ledger.write_session("s", batches.open_batch, batch_id, 5, b"t", {ATHENS: 100, CORINTH: 100})
        release(ledger, batch_id, Charge(ATHENS, cost, 0), Charge(CORINTH, 7, 0))
    ledger.write(budgets.set_budget, ATHENS, BudgetTerms(2.0, DELTA, ORDER, "worst_case"))
    ledger.write(budgets.renew, [ATHENS], period_ms=1000)
    time.advance(1.0)
    ledger.write_session("s", batches.open_batch, 4, 5, b"t", {ATHENS: 100})
    release(ledger, 4, Charge(ATHENS, 9, 0))
    ledger.write(budgets.withdraw, ATHENS, reason="asked to")
    assert ledger.read(history.events_of, ATHENS) == [
        UnitEvent(AT, "set", BUDGET, 0),
        UnitEvent(AT + 1000, "charged", BUDGET, 60, "", "s", 1),
        UnitEvent(AT + 3000, "charged", BUDGET, 65, "", "s", 3),
        UnitEvent(AT + 3000, "lowered", 2.0, 65),
        UnitEvent(AT + 3000, "renewed", 2.0, 0),
        UnitEvent(AT + 4000, "charged", 2.0, 9, "", "s", 4),
        UnitEvent(AT + 4000, "withdrawn", 2.0, 9, "asked to"),
    ]
    refused(ErrorCode.BUDGET_MISSING, lambda: ledger.read(history.events_of, ATHENS._replace(group="x")))


def test_charges_of_a_party_and_a_time(ledger: Ledger, time: ManualClock) -> None:
    for batch_id in (1, 2, 3):
        ledger.write_session("s", batches.open_batch, batch_id, 5, b"t", {ATHENS: 100, CORINTH: 100})
        release(ledger, batch_id, Charge(ATHENS, batch_id, 0), Charge(CORINTH, 7, 0))
        time.advance(1.0)
    found = ledger.read(recorded_charges.charges, party="athens", from_ms=AT + 1000, to_ms=AT + 2000)
    assert [(charge.unit, charge.worst_case) for charge in found] == [(ATHENS, 2)]
    assert len(ledger.read(recorded_charges.charges, "s", from_ms=AT + 1)) == 4


def test_budgets_that_exist_and_those_used_up(place: Place) -> None:
    ledger = with_budgets(place.open(), "data_dependent")
    missing = ATHENS._replace(adjacency="label")
    assert list(ledger.read(balances.find_budgets, [CORINTH, missing, ATHENS])) == [ATHENS, CORINTH]
    budget = budget_of(ledger).budget
    ledger.write_session("s", batches.open_batch, 1, 5, b"t", {})
    release(ledger, 1, Charge(ATHENS, 1, budget), Charge(CORINTH, 1, budget - 1))
    assert ledger.read(balances.units_without_budget, [ATHENS, CORINTH, missing]) == {ATHENS}


def test_the_log_is_read_from_any_row_on(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ostraka.guardian.ledger.log.audit._ROWS_AT_ONCE", 2)
    rows = list(audit.audit_rows(ledger))
    assert [row.sequence for row in rows] == list(range(1, ledger.read(audit.head).sequence + 1))
    assert list(audit.audit_rows(ledger, 3)) == rows[2:]
    assert rows[-1].hash == ledger.read(audit.head).hash


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("UPDATE units SET state = 'active'", "unit athens/all/record"),
        ("UPDATE units SET level = 'high'", "unit athens/all/record"),
        ("UPDATE units SET agreements = 0", "unit athens/all/record"),
        ("UPDATE units SET spent_before = 1", "unit athens/all/record"),
        ("UPDATE units SET overdrawn_to = 1", "unit athens/all/record"),
        ("UPDATE units SET broken_unix_ms = NULL", "unit athens/all/record"),
        ("UPDATE units SET period_started_unix_ms = 1", "unit athens/all/record"),
        ("UPDATE unit_events SET reason = ''", "unit athens/all/record"),
        ("DELETE FROM unit_events WHERE kind = 'withdrawn'", "unit athens/all/record"),
        ("UPDATE parties SET state = 'suspended'", "party athens"),
        ("UPDATE parties SET reconciled_epoch = 9", "party athens"),
        ("DELETE FROM parties", "party athens"),
        ("UPDATE policies SET toml = ''", "policy 1"),
        ("UPDATE policies SET reason = ''", "policy 1"),
        (
            "UPDATE charges SET worst_case = 1 WHERE entry IN (SELECT id FROM receipts)",
            "reconciled charge lost/1/athens/all/record",
        ),
        ("UPDATE meta SET epoch = 9", "row of meta"),
    ],
)
def test_a_changed_row_is_found_at_the_next_opening(tmp_path: Path, statement: str, named: str) -> None:
    place = Place(tmp_path / "ledger.db")
    ledger = with_budgets(place.open())
    ledger.write(budgets.set_budget, ATHENS, BudgetTerms(BUDGET, DELTA, ORDER, "worst_case", level="low"))
    ledger.write(
        budgets.raise_budget,
        ATHENS,
        number=0,
        epsilon_before=BUDGET,
        epsilon=11.0,
        agreement=b"signed",
        reason="agreed",
    )
    ledger.write(registrations.register, "athens", b"m", b"signed")
    place.forget(ledger, {"athens": [("lost", 1, ATHENS, 5)]})
    ledger.write(budgets.withdraw, ATHENS, reason="asked to")
    ledger.write(policies.apply, "delta = 1e-6", reason="first")
    place.open()
    place.execute(statement)
    assert named in refused(ErrorCode.LEDGER_TAMPERED, place.open).message
    place.close()
