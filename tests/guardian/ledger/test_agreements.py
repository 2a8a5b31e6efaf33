"""A budget grows, and a withdrawn unit comes back, by the owning party's agreement alone, each used once."""

import base64
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from ostraka.common.clock import ManualClock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.guardian.ledger import Budget, BudgetTerms, Charge, Ledger
from ostraka.guardian.ledger.log import audit
from ostraka.guardian.ledger.sessions import batches
from ostraka.guardian.ledger.units import budgets, history
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
SIGNED = b"an agreement, signed by athens"


@pytest.fixture
def ledger(place: Place) -> Ledger:
    return with_budgets(place.open())


def raised(
    ledger: Ledger, to: float, *, number: int = 0, before: float = BUDGET, reason: str = "agreed"
) -> Budget:
    return ledger.write(
        budgets.raise_budget,
        ATHENS,
        number=number,
        epsilon_before=before,
        epsilon=to,
        agreement=SIGNED,
        reason=reason,
    )


def consent(ledger: Ledger, number: int = 0) -> Budget:
    return ledger.write(budgets.consent_again, ATHENS, number=number, agreement=SIGNED, reason="signed again")


def test_a_raised_budget_is_what_it_would_be_if_it_were_set_so(ledger: Ledger) -> None:
    fresh = ledger.write(
        budgets.set_budget, CORINTH._replace(group="b"), BudgetTerms(12.0, DELTA, ORDER, "worst_case")
    )
    assert raised(ledger, 12.0).budget == fresh.budget
    assert budget_of(ledger) == raised_once(budget_of(ledger), fresh.budget)


def raised_once(budget: Budget, amount: int) -> Budget:
    return Budget(ATHENS, 12.0, DELTA, ORDER, "worst_case", amount, 0, 0, agreements=1, broken_unix_ms=AT)


def test_a_lifetime_guarantee_is_broken_from_the_first_raise_on(ledger: Ledger, time: ManualClock) -> None:
    raised(ledger, 11.0)
    time.advance(5.0)
    assert raised(ledger, 12.0, number=1, before=11.0).broken_unix_ms == AT
    assert [
        (event.kind, event.epsilon, event.reason) for event in ledger.read(history.events_of, ATHENS)[1:]
    ] == [
        ("raised", 11.0, "agreed"),
        ("raised", 12.0, "agreed"),
    ]


def test_a_raised_budget_is_no_consent_levels(ledger: Ledger) -> None:
    ledger.write(budgets.set_budget, ATHENS, BudgetTerms(BUDGET, DELTA, ORDER, "worst_case", level="high"))
    assert raised(ledger, 12.0).level is None


@pytest.mark.parametrize(
    "attempt",
    [
        lambda ledger: raised(ledger, 12.0, number=1),
        lambda ledger: raised(ledger, 12.0, before=9.0),
        lambda ledger: raised(ledger, BUDGET),
        lambda ledger: raised(ledger, 9.0),
        consent,
    ],
)
def test_an_agreement_on_something_else_changes_nothing(
    ledger: Ledger, attempt: Callable[[Ledger], Budget]
) -> None:
    before = budget_of(ledger), ledger.read(audit.head)
    refused(ErrorCode.AGREEMENT_INVALID, lambda: attempt(ledger))
    assert (budget_of(ledger), ledger.read(audit.head)) == before


def test_an_agreement_is_used_once(ledger: Ledger) -> None:
    raised(ledger, 12.0)
    ledger.write(budgets.set_budget, ATHENS, BudgetTerms(BUDGET, DELTA, ORDER, "worst_case"))
    refused(ErrorCode.AGREEMENT_INVALID, lambda: raised(ledger, 12.0))
    ledger.write(budgets.withdraw, ATHENS, reason="r")
    refused(ErrorCode.AGREEMENT_INVALID, lambda: consent(ledger))
    assert consent(ledger, 1).agreements == 2
    ledger.write(budgets.withdraw, ATHENS, reason="r")
    refused(ErrorCode.AGREEMENT_INVALID, lambda: consent(ledger, 1))


def test_an_agreement_needs_the_administrators_reason_and_a_budget(ledger: Ledger) -> None:
    refused(ErrorCode.MESSAGE_INVALID, lambda: raised(ledger, 12.0, reason=" "))
    assert budget_of(ledger).epsilon == BUDGET
    missing = ATHENS._replace(group="x")
    refused(
        ErrorCode.BUDGET_MISSING,
        lambda: ledger.write(budgets.consent_again, missing, number=0, agreement=SIGNED, reason="r"),
    )


def test_a_unit_whose_party_consents_again_takes_part_again(ledger: Ledger) -> None:
    ledger.write(budgets.withdraw, ATHENS, reason="asked to")
    refused(
        ErrorCode.BATCH_DEAD, lambda: ledger.write_session("s", batches.open_batch, 1, 5, b"t", {ATHENS: 1})
    )
    assert consent(ledger).state == "active"
    ledger.write_session("s", batches.open_batch, 2, 5, b"t", {ATHENS: 1})


def test_an_auditor_finds_the_whole_agreement(ledger: Ledger) -> None:
    raised(ledger, 12.0)
    row = json.loads(list(audit.audit_rows(ledger))[-1].payload)
    assert row["kind"] == "budget_raised"
    assert base64.b64decode(row["agreement"]) == SIGNED
    assert (row["epsilon_before"], row["epsilon"], row["reason"]) == (BUDGET, 12.0, "agreed")


@pytest.mark.parametrize(("to", "more"), [(2.5, False), (11.0, True)])
def test_an_overdrawn_budget_that_is_raised_has_what_is_above_its_spending(
    place: Place, to: float, more: bool
) -> None:
    ledger = with_budgets(place.open())
    half = budget_of(ledger).budget // 2
    ledger.write_session("s", batches.open_batch, 1, 10, b"t", {ATHENS: half})
    release(ledger, 1, Charge(ATHENS, half, 0))
    ledger.write(budgets.set_budget, ATHENS, BudgetTerms(2.0, DELTA, ORDER, "worst_case"))
    budget = raised(ledger, to, before=2.0)
    assert amounts(ledger) == (half, 0)
    assert (budget.available > 0) == more
    if more:
        ledger.write_session("s", batches.open_batch, 2, 1, b"t", {ATHENS: budget.available})
    refused(
        ErrorCode.BUDGET_TOO_SMALL,
        lambda: ledger.write_session("s", batches.open_batch, 3, 1, b"t", {ATHENS: 1}),
    )
    place.open()


def test_of_many_uses_at_once_of_one_agreement_one_counts(ledger: Ledger) -> None:
    def use(_: int) -> bool:
        try:
            raised(ledger, 12.0)
        except OstrakaError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(use, range(8))) == 1
    assert budget_of(ledger).agreements == 1
