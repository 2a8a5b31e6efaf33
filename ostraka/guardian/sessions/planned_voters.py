"""Voters planned under a plan's variant for each query, before anybody is left out."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction

import numpy as np

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.plan.plan import Plan
from ostraka.common.planning.candidate import fits
from ostraka.common.privacy import Influence
from ostraka.guardian.ledger import Budget, UnitKey
from ostraka.guardian.sessions.batch_voters import Attendance
from ostraka.guardian.sessions.cohorts import Cohort
from ostraka.guardian.sessions.payers import most_answers, worst_cost
from ostraka.guardian.sessions.public_balances import is_unlimited, public_balance
from ostraka.guardian.sessions.vanishing import frequencies, timetable

MOST = 2**32 - 1
"""The largest number of queries that is told apart from more."""


def often(plan: Plan, cohorts: Sequence[Cohort], budgets: Mapping[UnitKey, Budget]) -> list[Fraction]:
    """How often each cohort votes: by what its tightest unit has left under vanishing, else on every query.

    Who abstains from all labels that the plan asks about never votes. A function of the plan, the manifests
    and what of budgets is public.
    """
    if plan.variant != "vanishing":
        return [Fraction(_takes_part(plan, cohort)) for cohort in cohorts]
    taking = [cohort for cohort in cohorts if _takes_part(plan, cohort)]
    found = iter(frequencies([_paid(plan, cohort, budgets) for cohort in taking]))
    return [next(found) if _takes_part(plan, cohort) else Fraction(0) for cohort in cohorts]


def planned(
    plan: Plan,
    plan_digest: bytes,
    cohorts: Sequence[Cohort],
    budgets: Mapping[UnitKey, Budget],
    *,
    batch_id: int,
    size: int,
) -> Attendance:
    """Who votes on which query of a batch if nobody is left out."""
    if plan.variant != "vanishing":
        taking = np.array([_takes_part(plan, cohort) for cohort in cohorts])
        return Attendance(tuple(cohorts), np.repeat(taking[:, None], size, axis=1))
    present = timetable(often(plan, cohorts, budgets), size, plan_digest, batch_id)
    return Attendance(tuple(cohorts), present)


def check_planned_quorum(plan: Plan, attendance: Attendance) -> None:
    """Raise `quorum.lost` where votes vanish from some query of a batch of which nobody is left out."""
    _check_quorum(
        plan, attendance, "name more parties, ask for a smaller quorum, or choose a variant without vanishing"
    )


def check_quorum(plan: Plan, attendance: Attendance) -> None:
    """Raise `quorum.lost` where some query of a batch is left to fewer parties than the quorum asks for."""
    _check_quorum(plan, attendance, "ask again when more of them can")


def _check_quorum(plan: Plan, attendance: Attendance, advice: str) -> None:
    fewest = attendance.fewest_parties()
    if fewest < plan.quorum:
        raise OstrakaError(
            ErrorCode.QUORUM_LOST,
            f"Only {fewest} parties can vote on some query or label of a batch and the quorum is"
            f" {plan.quorum}; {advice}.",
        )


def queries_paid(
    plan: Plan, budget: Budget, influence: Influence, available: int, abstains: Collection[int] = ()
) -> int:
    """How many queries like the plan's `available` amounts of a unit pay for, each of them answered.

    The labels that its cohort abstains from cost it nothing. A mechanism whose batch costs the same whatever
    its size fits whole or not at all.
    """
    cost = worst_cost(plan, budget.order, influence, abstains)
    found = fits(cost, most_answers(plan, abstains), available)
    return plan.queries if found is None else min(found, MOST)


def _paid(plan: Plan, cohort: Cohort, budgets: Mapping[UnitKey, Budget]) -> int | None:
    """Return how many queries a cohort's tightest unit pays for; None where no unit of it has a limit."""
    return min(
        (
            queries_paid(plan, budgets[key], influence, public_balance(budgets[key]), cohort.abstains)
            for key, influence in cohort.payers(plan.adjacency).items()
            if key in budgets and not is_unlimited(budgets[key])
        ),
        default=None,
    )


def _takes_part(plan: Plan, cohort: Cohort) -> bool:
    """Whether a cohort has a vote on any label that the plan asks about."""
    return len(cohort.abstains) < plan.classes
