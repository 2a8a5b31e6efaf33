"""Weights of votes under which different budgets end together, from what all parties may know of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ostraka.common.plan.plan import Plan
from ostraka.common.privacy import NO_LIMIT, Influence, budget_amount, budget_rdp
from ostraka.guardian.ledger import Budget, UnitKey
from ostraka.guardian.sessions.cohorts import ONE_VOTE_STEPS, Cohort
from ostraka.guardian.sessions.payers import most_answers, worst_cost

PARTS = 100
"""Parts of a budget that are distinguished: an exact balance would reveal how many queries were answered."""


def public_balance(budget: Budget) -> int:
    """Return the rest of a budget, in amounts, rounded up to whole hundredths of it.

    The rest of a data-dependent budget reveals votes, so the whole budget counts, whatever was spent.
    """
    if budget.enforce != "worst_case":
        return whole_budget(budget)
    return -(-budget.available * PARTS // max(1, budget.budget)) * budget.budget // PARTS


def whole_budget(budget: Budget) -> int:
    """Return a whole budget in amounts, before any spending."""
    return budget_amount(budget_rdp(budget.epsilon, budget.delta, budget.order))


def is_unlimited(budget: Budget) -> bool:
    """Whether a budget is so large that its records count as public."""
    return budget.epsilon >= NO_LIMIT


STEPS = 3
"""How often weights are corrected: the first correction is exact if costs grow with their square, else
nearly.
"""


def weights(plan: Plan, cohorts: Sequence[Cohort], budgets: Mapping[UnitKey, Budget]) -> list[int]:
    """Return each cohort's weight of a vote, such that all cohorts pay for the same number of queries.

    Weights are in steps of 2^-16 vote, at least one step, rounded down so that all votes together weigh no
    more than the number of teachers. Own derivation: a query costs about the square of its weight, so weights
    in proportion to the square root of the number of queries paid at weight 1 use up budgets together; the
    real cost corrects them (docs/budgets.md). Cohorts without a limit weigh as much as the heaviest cohort
    with one. The result depends only on the plan, the manifests and the public part of budgets.
    """
    found = [1.0] * len(cohorts)
    for _ in range(STEPS):
        paid = [
            _count_paid(plan, cohort, weight, budgets) for cohort, weight in zip(cohorts, found, strict=True)
        ]
        balanced = [weight * math.sqrt(queries) for weight, queries in zip(found, paid, strict=True)]
        heaviest = max((weight for weight in balanced if weight < math.inf), default=1.0)
        found = _of_mean_one(cohorts, [min(weight, heaviest) for weight in balanced])
    return [max(1, int(weight * ONE_VOTE_STEPS)) for weight in found]


def _of_mean_one(cohorts: Sequence[Cohort], proportions: Sequence[float]) -> list[float]:
    """Scale to a mean of 1 over teachers, and at least one step; all 1 if nobody pays for anything."""
    total = math.fsum(cohort.voters * each for cohort, each in zip(cohorts, proportions, strict=True))
    teachers = sum(cohort.voters for cohort in cohorts)
    if not total:
        return [1.0] * len(cohorts)
    return [max(1 / ONE_VOTE_STEPS, each * teachers / total) for each in proportions]


def _count_paid(plan: Plan, cohort: Cohort, weight: float, budgets: Mapping[UnitKey, Budget]) -> float:
    """Return how many queries a cohort's tightest unit pays for at this weight; possibly infinity."""
    return min(
        _unit_paid(plan, budgets[key], Influence(influence.votes, weight), cohort.abstains)
        for key, influence in cohort.payers(plan.adjacency).items()
        if key in budgets
    )


def _unit_paid(plan: Plan, budget: Budget, influence: Influence, abstains: tuple[int, ...]) -> float:
    each = worst_cost(plan, budget.order, influence, abstains).reservation(1, most_answers(plan, abstains))
    return math.inf if is_unlimited(budget) or not each else public_balance(budget) / each
