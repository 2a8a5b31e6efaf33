"""Whether a simulation's budgets allow a query, and how many; checked before any training."""

import math
from collections.abc import Iterator

from ostraka.common.console.texts import epsilon_text, number_text
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism.arguments import make_mechanism, mechanism_text, parameters_of
from ostraka.common.planning.candidate import Candidate
from ostraka.common.privacy import budget_amount, budget_rdp, propose_order
from ostraka.deploy.simulation.defaults import RANDOMIZED
from ostraka.deploy.simulation.settings import Settings

NOISE = ("sigma", "sigma1", "sigma2")
AT_ONCE = ("noise_cluster", *RANDOMIZED)
"""Mechanisms that release all their queries together."""
LARGEST = 1e4  # a budget this large protects nobody; the error says so if more is needed
PRECISION = 5e-3
"""The precision of the search for a sufficient epsilon; `LARGEST` is its upper end."""


def check_affordable(settings: Settings, classes: int) -> None:
    """Raise `budget.too_small` if not even one answered query fits a party's budget in the worst case.

    Nothing is checked if that depends on votes, on consent levels or a variant, on which labels are asked, or
    on the releases of a label-DP scheme: the guardian decides there. Sums have as much noise as a budget pays
    for.
    """
    budgets = settings.budgets
    if not _is_told(settings):
        return
    budget = min(map(budgets.epsilon_of, settings.sites))
    candidate = Candidate(settings.plan_mechanism, classes)
    queries = settings.batch if settings.plan.kind in AT_ONCE else 1
    if _fits(settings, candidate, queries, budget):
        return
    what = "One answered query" if queries == 1 else f"A release of {queries} answers"
    needed = _least(settings, candidate, queries, budget)
    costs = f"epsilon {epsilon_text(needed)}" if needed else f"more than epsilon {LARGEST:g}"
    option = "--epsilons" if budgets.epsilons else "--epsilon"
    raised = f"{option} to {epsilon_text(needed)} or more, or " if needed else ""
    raise OstrakaError(
        ErrorCode.BUDGET_TOO_SMALL,
        f"{what} costs {costs} at these settings (worst case, delta {number_text(budgets.delta)}), and a "
        f"party's budget is {number_text(budget)}: raise {raised}the noise ({_noise(settings)}) "
        "and with it --teachers.",
    )


MORE_NOISE = 2.0
"""Factor of the noise in the alternative for which the number of affordable labels is reported."""


def tell_affordable(settings: Settings, classes: int) -> Iterator[str]:
    """Yield the number of queries that budgets pay for, and the number with more noise, if it may not be all.

    Both are for the worst case, in which every query is answered.
    """
    mechanism = settings.plan_mechanism
    taken = parameters_of(mechanism)
    noise = {name: MORE_NOISE * taken[name] for name in NOISE if name in taken}
    if not _is_told(settings) or not noise or settings.plan.kind in AT_ONCE:
        return
    budget = min(map(settings.budgets.epsilon_of, settings.sites))
    wanted = settings.records.queries
    paid = _most(settings, Candidate(mechanism, classes), wanted, budget)
    if paid == wanted:
        return
    noisier = make_mechanism(settings.plan.kind, **taken | noise)
    more = _most(settings, Candidate(noisier, classes), wanted, budget)
    yield (
        f"An epsilon of {number_text(budget)} pays for {paid} answers at worst, and {wanted} records are"
        f" asked about; with --mechanism {mechanism_text(noisier)}, whose labels are more often wrong, for"
        f" {'all' if more == wanted else more}."
    )


def _is_told(settings: Settings) -> bool:
    """Whether the worst case of every query is known before anything is asked."""
    budgets = settings.budgets
    differing = budgets.consent or settings.plan.variant != "none"
    chosen = settings.learning.dependencies or settings.learning.label_dp or settings.learning.sums
    return not (budgets.enforce != "worst_case" or differing or chosen)


def _most(settings: Settings, candidate: Candidate, queries: int, budget: float) -> int:
    """Return how many of these queries a budget pays for."""
    low = 0
    high = queries + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _fits(settings, candidate, middle, budget) else (low, middle)
    return low


def _fits(settings: Settings, candidate: Candidate, queries: int, epsilon: float) -> bool:
    try:
        order = settings.order or propose_order(epsilon, settings.budgets.delta)
    except OstrakaError:
        return False
    cost = candidate.cost(order)
    wanted = cost.reservation(queries, candidate.answers)
    return wanted <= budget_amount(max(0.0, budget_rdp(epsilon, settings.budgets.delta, order)))


def _least(settings: Settings, candidate: Candidate, queries: int, budget: float) -> float | None:
    """Return the least sufficient epsilon above `budget`, rounded up; None if LARGEST does not suffice."""
    low = budget
    high = min(2 * budget, LARGEST)
    while not _fits(settings, candidate, queries, high):
        if high == LARGEST:
            return None
        low = high
        high = min(2 * high, LARGEST)
    while high - low > PRECISION:
        middle = (low + high) / 2
        low, high = (low, middle) if _fits(settings, candidate, queries, middle) else (middle, high)
    return math.ceil(high * 100) / 100


def _noise(settings: Settings) -> str:
    taken = parameters_of(settings.plan_mechanism)
    given = ", ".join(name for name in NOISE if name in taken) or (
        "a smaller gamma" if "gamma" in taken else ""
    )
    return f"{given} of --mechanism" if given else "by --mechanism"
