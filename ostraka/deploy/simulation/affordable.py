"""Refuses a simulation whose budgets admit no query, before anything is trained for it."""

import math

from ostraka.common.console.texts import epsilon_text, number_text
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.planning.candidate import Candidate
from ostraka.common.privacy import budget_amount, budget_rdp, propose_order
from ostraka.deploy.simulation.defaults import RANDOMIZED
from ostraka.deploy.simulation.settings import Settings

NOISE = ("sigma", "sigma1", "sigma2")
AT_ONCE = ("noise_cluster", *RANDOMIZED)
"""Mechanisms that release all their queries together."""
LARGEST, PRECISION = 1e4, 5e-3
"""The largest epsilon that is searched for one that suffices, and how exactly it is told."""


def check_affordable(settings: Settings, classes: int) -> None:
    """Raise `budget.too_small` where not even one answered query fits a party's budget in the worst case.

    Nothing is checked where that depends on votes, on consent levels or a variant, on which labels are asked,
    or on the releases of a label-DP scheme: the guardian decides there.
    """
    differing = settings.consent or settings.variant != "none"
    if settings.enforce != "worst_case" or differing or settings.dependencies or settings.label_dp:
        return
    budget = min(map(settings.epsilon_of, settings.sites))
    candidate = Candidate(settings.plan_mechanism, classes)
    queries = settings.batch if settings.mechanism in AT_ONCE else 1
    if _fits(settings, candidate, queries, budget):
        return
    what = "One answered query" if queries == 1 else f"A release of {queries} answers"
    needed = _least(settings, candidate, queries, budget)
    costs = f"epsilon {epsilon_text(needed)}" if needed else f"more than epsilon {LARGEST:g}"
    option = "--epsilons" if settings.epsilons else "--epsilon"
    raised = f"{option} to {epsilon_text(needed)} or more, or " if needed else ""
    raise OstrakaError(
        ErrorCode.BUDGET_TOO_SMALL,
        f"{what} costs {costs} at these settings (worst case, delta {number_text(settings.delta)}), and a "
        f"party's budget is {number_text(budget)}: raise {raised}the noise ({_noise(settings)}) "
        "and with it --teachers.",
    )


def _fits(settings: Settings, candidate: Candidate, queries: int, epsilon: float) -> bool:
    try:
        order = settings.order or propose_order(epsilon, settings.delta)
    except OstrakaError:
        return False
    cost = candidate.cost(order)
    wanted = cost.reservation(queries, candidate.answers)
    return wanted <= budget_amount(max(0.0, budget_rdp(epsilon, settings.delta, order)))


def _least(settings: Settings, candidate: Candidate, queries: int, budget: float) -> float | None:
    """Return the least epsilon above `budget` that pays, rounded up; None where LARGEST does not."""
    low, high = budget, min(2 * budget, LARGEST)
    while not _fits(settings, candidate, queries, high):
        if high == LARGEST:
            return None
        low, high = high, min(2 * high, LARGEST)
    while high - low > PRECISION:
        middle = (low + high) / 2
        low, high = (low, middle) if _fits(settings, candidate, queries, middle) else (middle, high)
    return math.ceil(high * 100) / 100


def _noise(settings: Settings) -> str:
    given = [f"--{name}" for name in NOISE if hasattr(settings.plan_mechanism, name)]
    return ", ".join(given) or "a smaller --gamma"
