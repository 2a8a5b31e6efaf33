"""What a plan would cost each party at worst: plans, manifests and worst-case charges alone, read only."""

from collections.abc import Mapping, Sequence

from common.plan import Plan
from common.planning.candidate import fits
from common.privacy import AMOUNT_UNIT, budget_amount, budget_rdp, epsilon
from guardian.ledger import Budget
from guardian.policy import Policy
from guardian.sessions.outcome import worst_cost
from protos.ostraka.v1 import common_pb2, guardian_pb2

MOST = 2**32 - 1
"""The largest number of queries that a reply can name."""


def plan_reply(
    plan: Plan,
    participants: Mapping[str, common_pb2.Participant],
    budgets: Sequence[Budget],
    policy: Policy,
) -> guardian_pb2.PlanReply:
    """The cost of an admitted plan to each party, by site.

    Args:
        plan: what a querying party thinks of asking.
        participants: the parties with what their manifests declare.
        budgets: every budget that the plan's releases would be charged to.
        policy: under `worst_case` enforcement the reply says what fits; under `data_dependent` the remainder
            depends on votes, and nothing here depends on it.
    """
    costs = [
        _cost(plan, participants[site], [b for b in budgets if b.key.party == site], policy)
        for site in sorted(participants)
    ]
    return guardian_pb2.PlanReply(enforce=policy.enforce, bound=policy.bound, parties=costs)


def _cost(
    plan: Plan, party: common_pb2.Participant, budgets: Sequence[Budget], policy: Policy
) -> guardian_pb2.PartyCost:
    """The cost to the unit of a party that pays for the fewest queries."""
    shown = policy.enforce == "worst_case"
    votes = party.max_votes_per_person
    fitting = {b: _fits(plan, b, votes, b.available if shown else _whole(b)) for b in budgets}
    tightest = min(budgets, key=lambda b: fitting[b])
    return guardian_pb2.PartyCost(
        site=party.site,
        teachers=party.teachers,
        order=tightest.order,
        delta=tightest.delta,
        epsilon=_epsilon(plan, tightest, votes),
        budget_epsilon=tightest.epsilon,
        fits=fitting[tightest] if shown else None,
    )


def _fits(plan: Plan, budget: Budget, votes: int, available: int) -> int:
    """How many queries like the plan's `available` amounts pay for, each of them answered.

    A mechanism whose batch costs the same whatever its size fits whole or not at all.
    """
    cost = worst_cost(plan, budget, votes)
    found = fits(cost, plan.mechanism.answers(plan.classes), available)
    return plan.queries if found is None else min(found, MOST)


def _whole(budget: Budget) -> int:
    return budget_amount(budget_rdp(budget.epsilon, budget.delta, budget.order))


def _epsilon(plan: Plan, budget: Budget, votes: int) -> float:
    answers = plan.mechanism.answers(plan.classes)
    cost = worst_cost(plan, budget, votes).reservation(plan.queries, answers)
    return epsilon(cost * AMOUNT_UNIT, budget.order, budget.delta)
