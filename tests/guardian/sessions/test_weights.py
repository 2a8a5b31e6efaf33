"""Weights under which budgets that differ end together, whoever has which, and what they tell."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostraka.common.mechanism import Binary, Confident, GnMax, Mechanism
from ostraka.common.privacy import NO_LIMIT, Influence, budget_amount, budget_rdp, propose_order
from ostraka.guardian.ledger import Budget, UnitKey
from ostraka.guardian.sessions.cohorts import ONE_VOTE_STEPS, Cohort
from ostraka.guardian.sessions.planned_voters import queries_paid
from ostraka.guardian.sessions.weights import weights
from tests.guardian.federation import plan
from tests.guardian.sessions.people import budget, cohort

DELTA = 1e-5
NOISY = Confident(sigma1=10, sigma2=5, threshold=25)
Budgets = dict[UnitKey, Budget]
EPSILONS = st.sampled_from([2.0, 5.0, 10.0, 20.0, 60.0])
proposed = cache(propose_order)


def given_to(cohorts: Sequence[Cohort], epsilons: Sequence[float], **changes: Any) -> Budgets:
    """Return a budget of these epsilons for each cohort, at the order that the guardian proposes."""
    found = {}
    for one, epsilon in zip(cohorts, epsilons, strict=True):
        order = proposed(epsilon, DELTA)
        amount = budget_amount(budget_rdp(epsilon, DELTA, order))
        made = budget(one.site, epsilon=epsilon, delta=DELTA, order=order, budget=amount, **changes)
        found[made.key] = made
    return found


def people(*voters: int) -> list[Cohort]:
    return [cohort(f"p{i}", voters=each) for i, each in enumerate(voters)]


def paid(mechanism: Mechanism, budgets: Budgets, steps: Sequence[int]) -> list[int]:
    """How many answered queries what is left of each budget pays for at these weights."""
    asked = plan(mechanism=mechanism)
    return [
        queries_paid(asked, one, Influence(weight=each / ONE_VOTE_STEPS), one.available)
        for one, each in zip(budgets.values(), steps, strict=True)
    ]


def by_epsilons(cohorts: Sequence[Cohort], budgets: Budgets) -> list[int]:
    """Weigh by epsilons, as Mühl and Boenisch 2022 do (Appendix B)."""
    epsilons = [one.epsilon for one in budgets.values()]
    total = sum(one.voters * each for one, each in zip(cohorts, epsilons, strict=True))
    teachers = sum(one.voters for one in cohorts)
    return [int(each * teachers / total * ONE_VOTE_STEPS) for each in epsilons]


def test_budgets_of_10_20_and_40_end_together() -> None:
    """The least answered 95 by epsilons and 126 by square roots when an argmax cost a u^2/s^2."""
    cohorts = people(3, 5, 2)
    budgets = given_to(cohorts, (10, 20, 40))
    assert paid(NOISY, budgets, [ONE_VOTE_STEPS] * 3) == [60, 184, 512]
    assert paid(NOISY, budgets, by_epsilons(cohorts, budgets)) == [268, 203, 140]
    assert paid(NOISY, budgets, weights(plan(mechanism=NOISY), cohorts, budgets)) == [186, 186, 186]


@given(
    epsilons=st.lists(EPSILONS, min_size=2, max_size=5),
    sigma=st.sampled_from([20.0, 40.0, 100.0]),
    voters=st.integers(1, 50),
)
def test_no_budget_is_used_up_before_another(epsilons: list[float], sigma: float, voters: int) -> None:
    cohorts = people(*(voters + i for i in range(len(epsilons))))
    budgets = given_to(cohorts, epsilons)
    found = paid(GnMax(sigma=sigma), budgets, weights(plan(mechanism=GnMax(sigma=sigma)), cohorts, budgets))
    assert max(found) - min(found) <= 1 + 0.05 * min(found)


@given(epsilons=st.lists(EPSILONS | st.just(NO_LIMIT), min_size=1, max_size=9), voters=st.integers(1, 200))
def test_all_votes_together_weigh_what_the_teachers_are(epsilons: list[float], voters: int) -> None:
    cohorts = people(*(voters + i for i in range(len(epsilons))))
    steps = weights(plan(mechanism=NOISY), cohorts, given_to(cohorts, epsilons))
    total = sum(one.voters * each for one, each in zip(cohorts, steps, strict=True))
    teachers = sum(one.voters for one in cohorts)
    assert teachers * (ONE_VOTE_STEPS - 1) - 1 <= total <= teachers * (ONE_VOTE_STEPS + 1)
    assert min(steps) >= 1


def spending(budgets: Budgets, site: str, spent: int, **changes: Any) -> Budgets:
    """Return the budgets after a party spent of its own."""
    key = UnitKey(site, "g", "record")
    return budgets | {key: replace(budgets[key], spent=spent, **changes)}


def test_what_is_left_counts_and_not_what_was_set() -> None:
    cohorts = people(10, 10)
    fresh = given_to(cohorts, (20, 20))
    whole = fresh[UnitKey("p0", "g", "record")].budget
    used = spending(fresh, "p0", whole // 2, reserved=whole // 4)
    assert weights(plan(mechanism=NOISY), cohorts, fresh) == [ONE_VOTE_STEPS] * 2
    steps = weights(plan(mechanism=NOISY), cohorts, used)
    assert steps[0] / steps[1] == pytest.approx(0.5, rel=0.03)
    first, other = paid(NOISY, used, steps)
    assert abs(first - other) <= 2


def test_what_depends_on_votes_decides_nothing() -> None:
    """What is left of a data-dependent budget is not public, so that all of it counts."""
    cohorts = people(10, 10)
    fresh = given_to(cohorts, (10, 20), enforce="data_dependent")
    used = spending(fresh, "p1", 10 * fresh[UnitKey("p1", "g", "record")].budget)
    asked = plan(mechanism=NOISY)
    assert weights(asked, cohorts, used) == weights(asked, cohorts, fresh)


def test_weights_tell_hundredths_of_a_budget_and_no_single_answer() -> None:
    cohorts = people(10, 10)
    fresh = given_to(cohorts, (20, 20))
    whole = fresh[UnitKey("p0", "g", "record")].budget
    asked = plan(mechanism=NOISY)
    told = [
        tuple(weights(asked, cohorts, spending(fresh, "p0", whole * spent // 10_000)))
        for spent in (5001, 5002, 5050, 5099, 5102)
    ]
    assert len(set(told[:4])) == 1
    assert told[4] != told[0]


def test_records_without_a_limit_do_not_take_all_weight() -> None:
    """Public records count as the largest budget that has a limit (Mühl and Boenisch 2022, section 7.3)."""
    cohorts = people(10, 10, 10)
    asked = plan(mechanism=NOISY)
    small, large, public = weights(asked, cohorts, given_to(cohorts, (10, 20, NO_LIMIT)))
    assert small < large == public
    assert weights(asked, cohorts, given_to(cohorts, (10, 20, 20))) == [small, large, large]
    assert weights(asked, cohorts, given_to(cohorts, (NO_LIMIT, 1e6, 1e6))) == [ONE_VOTE_STEPS] * 3


def test_who_has_nothing_left_weighs_nothing_and_the_others_share_the_rest() -> None:
    cohorts = people(10, 10, 10)
    budgets = given_to(cohorts, (20, 20, 20))
    whole = budgets[UnitKey("p0", "g", "record")].budget
    asked = plan(mechanism=NOISY)
    nothing, *others = weights(asked, cohorts, spending(budgets, "p0", whole))
    assert nothing == 1
    assert others == [pytest.approx(1.5 * ONE_VOTE_STEPS, rel=1e-4)] * 2
    for site in ("p0", "p1", "p2"):
        budgets = spending(budgets, site, whole)
    assert weights(asked, cohorts, budgets) == [ONE_VOTE_STEPS] * 3


def test_the_tightest_unit_speaks_for_its_cohort() -> None:
    """Copies, a person's votes and a label budget count as they are charged."""
    plain, twice = cohort("p0"), cohort("p1", votes=2)
    asked = plan(mechanism=GnMax(sigma=40))
    budgets = given_to([plain, twice], (20, 20))
    once, doubled = weights(asked, [plain, twice], budgets)
    assert once / doubled == pytest.approx(2, rel=1e-3)
    tight = given_to([plain], (5,))[UnitKey("p0", "g", "record")]
    label = replace(tight, key=UnitKey("p0", "g", "label"))
    smaller = weights(asked, [plain, cohort("p1")], budgets | {label.key: label})
    assert smaller == weights(asked, people(10, 10), given_to(people(10, 10), (5, 20)))
    unlimited = replace(label, epsilon=NO_LIMIT)
    assert weights(asked, [plain, twice], budgets | {label.key: unlimited}) == [once, doubled]


def test_who_abstains_from_all_that_is_asked_pays_nothing_and_decides_nothing() -> None:
    voter, silent = cohort("p0"), replace(cohort("p1"), abstains=(0, 1, 2, 3))
    asked = plan(mechanism=Binary(sigma=20), multi_label=True)
    assert weights(asked, [voter, silent], given_to([voter, silent], (10, 20))) == [ONE_VOTE_STEPS] * 2
