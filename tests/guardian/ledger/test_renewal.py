"""A renewed budget starts anew; what was spent before is remembered."""

import pytest

from ostraka.common.clock import ManualClock
from ostraka.common.errors import ErrorCode
from ostraka.common.privacy import AMOUNT_UNIT, epsilon
from ostraka.guardian.ledger import BudgetTerms, Charge, Ledger
from ostraka.guardian.ledger.log import audit
from ostraka.guardian.ledger.sessions import batches, endings
from ostraka.guardian.ledger.units import balances, budgets
from tests.guardian.ledger.places import Place
from tests.guardian.ledger.support import (
    ATHENS,
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

PERIOD_MS = 1000


@pytest.fixture(params=["worst_case", "data_dependent"])
def ledger(place: Place, request: pytest.FixtureRequest) -> Ledger:
    return with_budgets(place.open(), request.param)


def charged(ledger: Ledger, batch_id: int, cost: int, reserved: int = 10**12) -> None:
    ledger.write_session("s", batches.open_batch, batch_id, 5, b"t", {ATHENS: reserved})
    release(ledger, batch_id, Charge(ATHENS, cost, cost // 2))


def test_a_period_that_is_over_begins_anew_and_its_spending_stays_on_record(
    ledger: Ledger, time: ManualClock, place: Place
) -> None:
    charged(ledger, 1, 10**12)
    time.advance(1.0)
    ledger.write(budgets.renew, [ATHENS], period_ms=PERIOD_MS)
    budget = budget_of(ledger)
    assert (budget.spent, budget.spent_before) == (0, 10**12)
    assert budget.broken_unix_ms == int(START * 1000) + 1000
    assert ledger.read(balances.data_dependent_totals)[ATHENS] == 0
    charged(ledger, 2, 8)
    assert ledger.read(balances.data_dependent_totals)[ATHENS] == 4
    assert budget_of(ledger).epsilon_lifetime == epsilon((10**12 + 8) * AMOUNT_UNIT, ORDER, DELTA)
    place.open()


def test_no_period_ends_early_or_twice(ledger: Ledger, time: ManualClock) -> None:
    charged(ledger, 1, 60)
    time.advance(0.999)
    before = ledger.read(audit.head)
    ledger.write(budgets.renew, [ATHENS, CORINTH], period_ms=PERIOD_MS)
    assert (amounts(ledger)[0], ledger.read(audit.head)) == (60, before)
    time.advance(5.001)
    for _ in range(2):
        ledger.write(budgets.renew, [ATHENS], period_ms=PERIOD_MS)
    assert (amounts(ledger)[0], ledger.read(audit.head).sequence) == (0, before.sequence + 1)
    assert budget_of(ledger, CORINTH).broken_unix_ms is None


def test_what_was_reserved_before_is_charged_to_the_new_period(place: Place, time: ManualClock) -> None:
    ledger = with_budgets(place.open())
    ledger.write_session("s", batches.open_batch, 1, 5, b"t", {ATHENS: 100})
    time.advance(1.0)
    ledger.write(budgets.renew, [ATHENS], period_ms=PERIOD_MS)
    assert amounts(ledger) == (0, 100)
    release(ledger, 1, Charge(ATHENS, 60, 3))
    assert amounts(ledger) == (60, 0)
    place.open()


def test_a_used_up_data_dependent_budget_is_whole_again(place: Place, time: ManualClock) -> None:
    ledger = with_budgets(place.open(), "data_dependent")
    ledger.write_session("s", batches.open_batch, 1, 5, b"t", {})
    too_much = Charge(ATHENS, 9, budget_of(ledger).budget + 1)
    refused(ErrorCode.SESSION_ENDED, lambda: release(ledger, 1, too_much))
    assert ledger.read(balances.units_without_budget, [ATHENS]) == {ATHENS}
    time.advance(1.0)
    ledger.write(budgets.renew, [ATHENS], period_ms=PERIOD_MS)
    assert ledger.read(balances.units_without_budget, [ATHENS]) == set()


def test_an_overdrawn_budget_is_whole_again_but_for_what_is_reserved(place: Place, time: ManualClock) -> None:
    ledger = with_budgets(place.open())
    whole = budget_of(ledger).budget
    charged(ledger, 1, whole // 2, reserved=whole // 2)
    ledger.write_session("s", batches.open_batch, 2, 5, b"t", {ATHENS: whole // 3})
    ledger.write(budgets.set_budget, ATHENS, BudgetTerms(2.0, DELTA, ORDER, "worst_case"))
    time.advance(1.0)
    ledger.write(budgets.renew, [ATHENS], period_ms=PERIOD_MS)
    assert budget_of(ledger).available == 0
    ledger.close()
    ledger = place.open()
    ledger.write_session("s", endings.settle, 2)
    budget = budget_of(ledger)
    assert budget.available == budget.budget
    refused(
        ErrorCode.BUDGET_TOO_SMALL,
        lambda: ledger.write_session("s", batches.open_batch, 3, 1, b"t", {ATHENS: whole // 3}),
    )
    place.open()


def test_a_unit_without_a_budget_has_no_period(ledger: Ledger) -> None:
    missing = ATHENS._replace(group="x")
    refused(ErrorCode.BUDGET_MISSING, lambda: ledger.write(budgets.renew, [missing], period_ms=PERIOD_MS))
