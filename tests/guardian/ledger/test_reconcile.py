"""What a ledger forgot is charged from receipts: never too little, and once."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from ostraka.common.errors import ErrorCode
from ostraka.guardian.ledger import BudgetTerms, Charge, Ledger, Owed, UnitKey, reconcile, registrations
from ostraka.guardian.ledger.log import audit
from ostraka.guardian.ledger.members import parties
from ostraka.guardian.ledger.sessions import batches, endings, recorded_charges
from ostraka.guardian.ledger.units import balances, budgets, history
from tests.guardian.ledger.places import LOST, Place
from tests.guardian.ledger.support import (
    ATHENS,
    CORINTH,
    DELTA,
    ORDER,
    amounts,
    budget_of,
    open_session,
    refused,
    release,
    with_budgets,
)

LABELS = ATHENS._replace(adjacency="label")


@pytest.fixture
def ledger(place: Place) -> Ledger:
    """Return a ledger: batch 1 released, batch 2 dead, batch 3 open, and a batch 4 that never was."""
    ledger = with_budgets(place.open())
    ledger.write(registrations.register, "athens", b"m", b"signed")
    for batch_id in (1, 2, 3):
        ledger.write_session("s", batches.open_batch, batch_id, 5, b"t", {ATHENS: 100})
    release(ledger, 1, Charge(ATHENS, 60, 3))
    ledger.write_session("s", endings.settle, 2)
    ledger.write_session("s", endings.settle, 4)
    return ledger


def owed(batch_id: int, amount: int, unit: UnitKey = ATHENS, session: str = "s") -> Owed:
    return Owed(session, batch_id, unit, amount)


def lose(ledger: Ledger) -> None:
    ledger.write(registrations.register, "athens", b"m", b"signed", kept_head=LOST)


def test_what_may_have_been_released_in_a_lost_history_is_charged(ledger: Ledger, place: Place) -> None:
    lose(ledger)
    receipts = [owed(batch_id, 10**batch_id) for batch_id in (1, 2, 3, 4)]
    assert ledger.write(reconcile.reconcile, "athens", [*receipts, owed(1, 5, session="lost")]) == 4
    assert amounts(ledger) == (60 + 10**2 + 10**3 + 10**4 + 5, 0)
    assert ledger.read(balances.data_dependent_totals)[ATHENS] == amounts(ledger)[0] - 60 + 3
    assert ledger.read(parties.all_parties, "athens")[0].reconciled
    place.open()


def test_receipts_for_one_vote_of_a_person_are_not_known_for_more(place: Place) -> None:
    ledger = with_budgets(place.open())
    place.forget(ledger, {"athens": [("lost", 1, ATHENS, 70)]})
    assert (amounts(ledger), budget_of(ledger).broken_unix_ms) == ((70, 0), None)
    ledger.write(registrations.register, "athens", b"more votes", b"signed", votes_raised_to=2)
    assert budget_of(ledger).broken_unix_ms is not None
    place.open()


def test_where_nothing_was_lost_a_batch_that_died_costs_nothing(ledger: Ledger) -> None:
    assert ledger.write(reconcile.reconcile, "athens", [owed(1, 100), owed(2, 100), owed(3, 100)]) == 0
    assert amounts(ledger) == (60, 100)


def test_the_same_receipts_again_are_charged_once(ledger: Ledger) -> None:
    lose(ledger)
    receipts = [owed(1, 7, session="lost"), owed(2, 8, session="lost")]
    assert ledger.write(reconcile.reconcile, "athens", receipts) == 2
    head = ledger.read(audit.head)
    assert ledger.write(reconcile.reconcile, "athens", receipts) == 0
    assert ledger.read(audit.head) == head
    assert ledger.write(reconcile.reconcile, "athens", [*receipts, owed(3, 9, session="lost")]) == 1
    assert amounts(ledger)[0] == 60 + 7 + 8 + 9


def test_the_largest_receipt_of_a_batch_and_unit_counts(ledger: Ledger) -> None:
    ledger.write(budgets.set_budget, LABELS, BudgetTerms(5.0, DELTA, ORDER, "worst_case"))
    receipts = [owed(9, amount, unit) for unit in (ATHENS, LABELS) for amount in (4, 7, 5)]
    assert ledger.write(reconcile.reconcile, "athens", receipts) == 2
    assert amounts(ledger) == (67, 100)
    assert amounts(ledger, LABELS) == (60 + 100 + 7, 0)


def test_more_than_the_budget_is_charged_and_leaves_nothing(ledger: Ledger, place: Place) -> None:
    lose(ledger)
    beyond = budget_of(ledger).budget
    ledger.write(reconcile.reconcile, "athens", [owed(1, beyond, session="lost")])
    budget = budget_of(ledger)
    assert (budget.spent, budget.available) == (60 + beyond, 0)
    open_session(ledger, "after")
    refused(
        ErrorCode.BUDGET_TOO_SMALL,
        lambda: ledger.write_session("after", batches.open_batch, 1, 1, b"t", {ATHENS: 1}),
    )
    ledger.write(reconcile.reconcile, "athens", [owed(2, 2**70, session="lost")])
    assert amounts(ledger) == (2**62, 0)
    place.open()


def test_a_unit_that_owes_needs_a_budget_before_its_party_is_reconciled(ledger: Ledger) -> None:
    lose(ledger)
    receipts = [owed(1, 7, LABELS, "lost"), owed(1, 7, session="lost")]
    refused(ErrorCode.BUDGET_MISSING, lambda: ledger.write(reconcile.reconcile, "athens", receipts))
    assert amounts(ledger)[0] == 60
    assert not ledger.read(parties.all_parties, "athens")[0].reconciled
    ledger.write(budgets.set_budget, LABELS, BudgetTerms(5.0, DELTA, ORDER, "worst_case"))
    assert ledger.write(reconcile.reconcile, "athens", receipts) == 2


def test_a_party_pays_for_itself_alone(ledger: Ledger) -> None:
    with pytest.raises(ValueError, match="corinth"):
        ledger.write(reconcile.reconcile, "athens", [owed(1, 7, CORINTH, "lost")])
    with pytest.raises(ValueError, match="worst_case"):
        ledger.write(reconcile.reconcile, "athens", [owed(1, -7, session="lost")])
    refused(ErrorCode.PARTY_UNKNOWN, lambda: ledger.write(reconcile.reconcile, "sparta", []))


def test_what_was_reconciled_is_on_record(ledger: Ledger) -> None:
    lose(ledger)
    ledger.write(reconcile.reconcile, "athens", [owed(1, 7, session="lost"), owed(2, 8, session="lost")])
    (event,) = [event for event in ledger.read(history.events_of, ATHENS) if event.kind == "reconciled"]
    assert event.spent == 75
    found = ledger.read(recorded_charges.charges, party="athens", kind="receipt")
    assert [(charge.session_id, charge.batch_id, charge.worst_case) for charge in found] == [
        ("lost", 1, 7),
        ("lost", 2, 8),
    ]
    assert ledger.read(recorded_charges.charges, party="corinth", kind="receipt") == []


def test_receipts_of_many_batches_are_taken_in_parts(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ostraka.guardian.ledger.reconcile._RECEIPTS_AT_ONCE", 3)
    lose(ledger)
    receipts = [owed(batch_id, 1, session="lost") for batch_id in range(10)]
    ledger.write(reconcile.reconcile, "athens", receipts[:5])
    assert ledger.write(reconcile.reconcile, "athens", [*receipts, owed(1, 9)]) == 5
    assert amounts(ledger)[0] == 70


def test_receipts_that_arrive_many_times_at_once_are_charged_once(ledger: Ledger, place: Place) -> None:
    lose(ledger)
    receipts = [owed(batch_id, 7, session="lost") for batch_id in range(5)]
    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(lambda _: ledger.write(reconcile.reconcile, "athens", receipts), range(8))) == 5
    assert amounts(ledger) == (60 + 5 * 7, 0)
    place.open()
