"""Budgets with a Gaussian filter: kept by name, spent to the last amount, never taken for Renyi ones."""

import json
from collections.abc import Iterator

import pytest
from sqlalchemy import select

from ostraka.common.errors import ErrorCode
from ostraka.common.privacy import AMOUNT_UNIT, budget_amount, epsilon
from ostraka.common.privacy.gaussian import GAUSSIAN, gaussian_budget
from ostraka.guardian.ledger import BudgetTerms, Charge, Ledger, Owed, UnitKey, reconcile, registrations
from ostraka.guardian.ledger.log import audit
from ostraka.guardian.ledger.sessions import batches
from ostraka.guardian.ledger.store.schema import units
from ostraka.guardian.ledger.units import balances, budgets
from tests.guardian.ledger.places import LOST, Place
from tests.guardian.ledger.support import ATHENS, BUDGET, DELTA, ORDER, amounts, budget_of, refused, release
from tests.guardian.ledger.support import with_budgets as begun

LOW = ATHENS._replace(group="low")
LABELS = LOW._replace(adjacency="label")
WHOLE = budget_amount(gaussian_budget(BUDGET, DELTA))


def made(ledger: Ledger, unit: UnitKey, order: float, epsilon: float = BUDGET) -> None:
    ledger.write(budgets.set_budget, unit, BudgetTerms(epsilon, DELTA, order, "worst_case"))


def register(ledger: Ledger, *entering: str) -> None:
    ledger.write(registrations.register, "athens", repr(entering).encode(), b"signed", entering=entering)


def charged(ledger: Ledger, batch: int, unit: UnitKey, cost: int) -> None:
    ledger.write_session("s", batches.open_batch, batch, 5, b"t", {unit: cost})
    release(ledger, batch, Charge(unit, cost, cost))


@pytest.fixture
def ledger(place: Place) -> Iterator[Ledger]:
    """Return a ledger whose log and tables must agree in the end."""
    yield begun(place.open())
    place.open()


def test_it_is_written_by_name_and_kept_as_what_no_renyi_filter_has(ledger: Ledger) -> None:
    made(ledger, LOW, GAUSSIAN)
    rows = [json.loads(row.payload) for row in audit.audit_rows(ledger)]
    assert [row["order"] for row in rows if row["kind"] == "budget_set"] == [ORDER, ORDER, "gaussian"]
    assert (
        ledger.read(lambda view: view.connection.scalars(select(units.c.renyi_order)).all())[-1] == GAUSSIAN
    )
    assert budget_of(ledger, LOW).order == GAUSSIAN


def test_it_pays_to_the_last_amount_and_no_further(ledger: Ledger) -> None:
    made(ledger, LOW, GAUSSIAN)
    assert budget_of(ledger, LOW).available == WHOLE
    charged(ledger, 1, LOW, WHOLE)
    spent = budget_of(ledger, LOW)
    assert (spent.available, spent.spent) == (0, WHOLE)
    assert spent.epsilon_worst_case == epsilon(WHOLE * AMOUNT_UNIT, GAUSSIAN, DELTA)
    assert BUDGET * (1 - 1e-6) < spent.epsilon_worst_case <= BUDGET
    refused(ErrorCode.BUDGET_TOO_SMALL, lambda: charged(ledger, 2, LOW, 1))


@pytest.mark.parametrize(("unit", "other"), [(ATHENS, GAUSSIAN), (LOW, ORDER)])
def test_the_filter_of_a_budget_stays(ledger: Ledger, unit: UnitKey, other: float) -> None:
    made(ledger, LOW, GAUSSIAN)
    error = refused(ErrorCode.BUDGET_ALREADY_SET, lambda: made(ledger, unit, other, BUDGET / 2))
    assert ("filter gaussian" if unit == LOW else f"filter renyi {ORDER:g}") in error.message


@pytest.mark.parametrize(("first", "then"), [(ORDER, GAUSSIAN), (GAUSSIAN, ORDER), (GAUSSIAN, ORDER / 2)])
def test_nothing_follows_from_what_another_filter_added_up(place: Place, first: float, then: float) -> None:
    """The batch's plan cannot be read here, so nobody can cost it again."""
    ledger = begun(place.open())
    register(ledger, "other")
    unit, early, late = (ATHENS._replace(group=name) for name in ("other", "early", "late"))
    made(ledger, unit, first)
    made(ledger, early, then)
    charged(ledger, 1, unit, 60)
    assert budget_of(ledger, early).available > 0
    register(ledger, "early")
    assert budget_of(ledger, early).available == 0
    assert budget_of(ledger, early).broken_unix_ms is not None
    error = refused(ErrorCode.MESSAGE_INVALID, lambda: made(ledger, late, then))
    assert "nobody knows" in error.message
    assert late not in ledger.read(balances.find_budgets, [late])
    place.open()


def test_the_same_filter_takes_amounts_over_as_they_are(ledger: Ledger) -> None:
    made(ledger, LOW, GAUSSIAN)
    charged(ledger, 1, LOW, 60)
    made(ledger, LABELS, GAUSSIAN)
    assert amounts(ledger, LABELS) == (60, 0)
    assert budget_of(ledger, LABELS).broken_unix_ms is None


def test_a_receipt_says_nothing_of_another_filter(place: Place) -> None:
    ledger = begun(place.open())
    register(ledger, "all")
    made(ledger, LOW, GAUSSIAN)
    ledger.write(registrations.register, "athens", b"split", b"signed", kept_head=LOST, entering=["low"])
    ledger.write(reconcile.reconcile, "athens", [Owed("lost", 1, ATHENS, 70)], groups=["low"])
    assert budget_of(ledger, LOW).available == 0
    place.open()
