"""Records have spent what they have spent, whatever their group is called."""

from collections.abc import Iterator

import pytest

from ostraka.common.clock import ManualClock
from ostraka.common.errors import ErrorCode
from ostraka.common.privacy.filters import GAUSSIAN
from ostraka.guardian.ledger import BudgetTerms, Charge, Ledger, Owed, UnitKey, reconcile, registrations
from ostraka.guardian.ledger.log import audit
from ostraka.guardian.ledger.sessions import batches
from ostraka.guardian.ledger.units import balances, budgets, carry_over, history
from tests.guardian.ledger.places import LOST, Place
from tests.guardian.ledger.support import ATHENS, CORINTH, DELTA, ORDER, amounts, budget_of, refused, release
from tests.guardian.ledger.support import with_budgets as begun

LOW, HIGH = (ATHENS._replace(group=name) for name in ("low", "high"))
LABELS = ATHENS._replace(adjacency="label")


@pytest.fixture(params=["worst_case", "data_dependent"])
def enforce(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def ledger(place: Place, enforce: str) -> Iterator[Ledger]:
    """Athens registered with one group, which was charged 60; its log and tables agree in the end."""
    ledger = begun(place.open(), enforce)
    register(ledger, "all")
    charged(ledger, 1, 60)
    yield ledger
    place.open()


def register(ledger: Ledger, *entering: str) -> None:
    """Register a manifest in which these groups are new."""
    ledger.write(registrations.register, "athens", repr(entering).encode(), b"signed", entering=entering)


def charged(ledger: Ledger, batch_id: int, cost: int, unit: UnitKey = ATHENS) -> None:
    ledger.write_session("s", batches.open_batch, batch_id, 5, b"t", {unit: 100})
    release(ledger, batch_id, Charge(unit, cost, cost // 2))


def made(ledger: Ledger, unit: UnitKey, epsilon: float = 5.0, order: float = ORDER) -> int:
    """Set a budget at the enforcement of the ledger's others; what is spent of it."""
    budget = ledger.write(
        budgets.set_budget, unit, BudgetTerms(epsilon, DELTA, order, budget_of(ledger).enforce)
    )
    assert budget == budget_of(ledger, unit)
    return budget.spent


def test_a_group_under_another_name_has_spent_what_its_records_have(ledger: Ledger) -> None:
    assert (made(ledger, LOW), made(ledger, HIGH, 20.0)) == (60, 60)
    assert ledger.read(balances.data_dependent_totals)[LOW] == 30
    assert [event.kind for event in ledger.read(history.events_of, LOW)] == ["set", "inherited"]
    assert [budget_of(ledger, unit).broken_unix_ms is None for unit in (LOW, HIGH)] == [True, False]
    assert made(ledger, CORINTH._replace(group="low")) == 0


def test_a_group_whose_budget_was_made_before_takes_over_where_it_enters(ledger: Ledger) -> None:
    other = CORINTH._replace(group="low")
    for unit in (LOW, other):
        made(ledger, unit)
    charged(ledger, 2, 40)
    register(ledger, "low")
    assert amounts(ledger, LOW) == (100, 0)
    charged(ledger, 3, 9, LOW)
    register(ledger, "all")
    assert amounts(ledger, ATHENS) == (109, 0)
    assert ledger.read(balances.data_dependent_totals)[ATHENS] == 54
    assert amounts(ledger, other) == (0, 0)
    before = ledger.read(audit.head)
    register(ledger, "all")
    assert ledger.read(audit.head) == before


def test_batches_under_way_are_taken_over_too(place: Place) -> None:
    ledger = begun(place.open())
    ledger.write_session("s", batches.open_batch, 1, 5, b"t", {ATHENS: 100})
    assert made(ledger, LOW) == 100
    release(ledger, 1, Charge(ATHENS, 60, 3))
    assert amounts(ledger, LOW) == (100, 0)
    place.open()


@pytest.mark.parametrize("order", [ORDER, ORDER - 0.5, ORDER + 0.5, GAUSSIAN])
def test_the_first_batch_under_way_is_taken_over_at_any_order(
    place: Place, order: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A unit that reserves nothing has spent nothing yet when its first batch is under way."""
    monkeypatch.setattr(carry_over, "under_way_at", lambda *_: 100)
    monkeypatch.setattr(carry_over, "spent_at", lambda *_: 100)
    ledger = begun(place.open(), "data_dependent")
    ledger.write_session("s", batches.open_batch, 1, 5, b"t", {})
    assert made(ledger, LOW, order=order) == 100
    assert ledger.read(balances.data_dependent_totals)[LOW] == 100
    place.open()


def test_what_nobody_knows_of_a_batch_under_way_leaves_nothing(place: Place) -> None:
    """Its plan cannot be read here, so that its most is unknown at any order."""
    ledger = begun(place.open(), "data_dependent")
    ledger.write_session("s", batches.open_batch, 1, 5, b"t", {})
    refused(ErrorCode.MESSAGE_INVALID, lambda: made(ledger, LOW, order=ORDER + 0.5))
    made(ledger, LOW)
    low = budget_of(ledger, LOW)
    assert (low.available, low.broken_unix_ms is None) == (0, False)
    assert ledger.read(balances.units_without_budget, [LOW]) == {LOW}
    place.open()


def test_more_than_a_budget_leaves_nothing_of_it(place: Place) -> None:
    ledger = begun(place.open())
    ledger.write_session("s", batches.open_batch, 1, 5, b"t", {ATHENS: 10**12})
    release(ledger, 1, Charge(ATHENS, 10**12, 3))
    made(ledger, LOW, 1.5)
    assert budget_of(ledger, LOW).spent > budget_of(ledger, LOW).budget
    refused(
        ErrorCode.BUDGET_TOO_SMALL,
        lambda: ledger.write_session("s", batches.open_batch, 2, 1, b"t", {LOW: 1}),
    )
    place.open()


def test_a_budget_that_votes_used_up_stays_so_and_the_log_does_not_tell(place: Place) -> None:
    ledger = begun(place.open(), "data_dependent")
    ledger.write_session("s", batches.open_batch, 1, 5, b"t", {})
    too_much = Charge(ATHENS, 9, budget_of(ledger).budget + 1)
    refused(ErrorCode.SESSION_ENDED, lambda: release(ledger, 1, too_much))
    made(ledger, LOW)
    assert ledger.read(balances.units_without_budget, [LOW]) == {LOW}
    assert [event.kind for event in ledger.read(history.events_of, LOW)] == ["set"]
    place.open()


def test_earlier_periods_are_taken_over_as_such(ledger: Ledger, time: ManualClock) -> None:
    time.advance(1.0)
    ledger.write(budgets.renew, [ATHENS], period_ms=1000)
    charged(ledger, 2, 7)
    made(ledger, LOW)
    low = budget_of(ledger, LOW)
    assert (low.spent, low.spent_before) == (7, 60)
    assert low.broken_unix_ms is not None


def test_no_larger_order_than_one_that_was_spent_at(ledger: Ledger) -> None:
    refused(ErrorCode.MESSAGE_INVALID, lambda: made(ledger, LOW, order=ORDER + 0.5))
    assert ledger.read(balances.find_budgets, [LOW]) == {}
    assert made(ledger, LOW, order=ORDER - 0.5) == 60
    assert made(ledger, CORINTH._replace(group="low"), order=ORDER + 0.5) == 0


def test_where_orders_do_not_compare_nothing_is_left(place: Place, enforce: str) -> None:
    ledger = begun(place.open(), enforce)
    made(ledger, LOW, order=ORDER + 1)
    charged(ledger, 1, 60)
    register(ledger, "low")
    low = budget_of(ledger, LOW)
    assert (low.available, low.broken_unix_ms is None) == (0, False)
    assert ledger.read(balances.data_dependent_totals)[LOW] == low.budget
    place.open()


def test_a_receipt_charged_at_a_smaller_order_says_nothing_of_a_larger_one(place: Place) -> None:
    ledger = begun(place.open())
    register(ledger, "all")
    made(ledger, HIGH, order=ORDER + 1)
    ledger.write(registrations.register, "athens", b"split", b"signed", kept_head=LOST, entering=["high"])
    ledger.write(reconcile.reconcile, "athens", [Owed("lost", 1, ATHENS, 70)], groups=["high"])
    high = budget_of(ledger, HIGH)
    assert (high.spent, high.available) == (high.budget, 0)
    refused(ErrorCode.MESSAGE_INVALID, lambda: made(ledger, LOW, order=ORDER + 0.5))
    place.open()


def test_a_label_budget_counts_what_its_records_have_spent(ledger: Ledger) -> None:
    made(ledger, HIGH)
    charged(ledger, 2, 40)
    assert made(ledger, LABELS) == 100
    assert made(ledger, HIGH._replace(adjacency="label")) == 100
    charged(ledger, 3, 5, LABELS)
    assert made(ledger, LOW) == 100
    assert made(ledger, LOW._replace(adjacency="label")) == 105


def test_what_a_restored_ledger_forgot_of_a_group_that_is_gone_is_taken_over(place: Place) -> None:
    ledger = begun(place.open())
    register(ledger, "all")
    ledger.write(
        registrations.register, "athens", b"split", b"signed", kept_head=LOST, entering=["low", "high"]
    )
    for unit in (LOW, HIGH):
        made(ledger, unit)
    ledger.write(reconcile.reconcile, "athens", [Owed("lost", 1, ATHENS, 70)], groups=["low"])
    assert [amounts(ledger, unit)[0] for unit in (ATHENS, LOW, HIGH)] == [70, 70, 0]
    ledger.write(reconcile.reconcile, "athens", [Owed("lost", 2, LOW, 5)], groups=["low", "high"])
    assert [amounts(ledger, unit)[0] for unit in (LOW, HIGH)] == [75, 0]
    place.open()


def test_a_group_that_entered_since_the_backup_takes_over_what_receipts_add(place: Place) -> None:
    ledger = begun(place.open())
    register(ledger, "all")
    made(ledger, HIGH)
    place.time.advance(1)
    ledger.write(registrations.register, "athens", b"grown", b"signed", kept_head=LOST, entering=["high"])
    assert ledger.read(reconcile.manifests_before_loss, "athens") == [repr(("all",)).encode()]
    receipts, groups = [Owed("lost", 1, ATHENS, 70)], ["all", "high"]
    ledger.write(reconcile.reconcile, "athens", receipts, groups=groups, entered=["high"])
    assert [amounts(ledger, unit)[0] for unit in (ATHENS, HIGH)] == [70, 70]
    assert ledger.read(reconcile.manifests_before_loss, "athens") == []
    place.open()


def test_receipts_of_fewer_votes_than_a_person_has_break_the_promise(place: Place) -> None:
    """A receipt says what a batch cost then, and nobody what it costs a person with more votes."""
    ledger = begun(place.open())
    register(ledger, "all")
    ledger.write(registrations.register, "athens", b"more votes", b"signed", kept_head=LOST)
    receipts = [Owed("lost", 1, ATHENS, 70)]
    ledger.write(reconcile.reconcile, "athens", receipts, groups=["all"], votes_raised_to=2)
    assert budget_of(ledger, ATHENS).broken_unix_ms is not None
    place.open()
