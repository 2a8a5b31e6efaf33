"""A plan of sums: the noise that an epsilon pays for, and the part of a budget that it takes."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.table import Table

from ostraka.common.console.screen import Screen
from ostraka.common.console.texts import epsilon_text, number_text
from ostraka.common.mechanism import RecordSums
from ostraka.common.mechanism.arguments import parameters_of
from ostraka.common.mechanism.record_sums import NOISE
from ostraka.common.planning.candidate import (
    Candidate,
    Curve,
    fits,
    propose_order,
    queries_up_to,
    worst_case_curve,
)
from ostraka.common.privacy import budget_amount, budget_rdp, epsilon
from ostraka.common.privacy.filters import GAUSSIAN, filter_name, filter_option, filter_text, sent_order
from ostraka.guardian.planning.plan import Planned

EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Epsilons to plan besides the whole budget: from hardly any learning to hardly any effect of noise."""
STEPS = 60
"""Halvings to find the noise of an epsilon to the last digit."""
PLOTTED_ROUNDS = 50
"""Number of rounds in a plot, if fewer are requested."""


def plan_sums(
    sums: RecordSums,
    epsilon_budget: float,
    delta: float,
    orders: Sequence[float],
    rounds: int,
    persons: float,
) -> Planned:
    """Plan rounds of sums for each epsilon, with all noise in the proportions of `sums`.

    Args:
        sums: the requested sums; only the ratios of their blocks' noise count.
        epsilon_budget: of every party's budget.
        delta: of the budget.
        orders: orders that the budget may have; a Gaussian filter is used if it is among them.
        rounds: number of rounds, one after the other.
        persons: records of one person that count.

    Raises `budget.too_small` if no order leaves anything to spend.
    """
    candidate = Candidate(sums, 1, persons)
    order = GAUSSIAN if GAUSSIAN in orders else propose_order(candidate, epsilon_budget, delta, orders)
    wanted = sorted({*(each for each in EPSILONS if each < epsilon_budget), epsilon_budget})
    scaled = [(each, _scale(candidate, each, delta, rounds)) for each in wanted]
    figures = {
        "mechanism": sums.model_dump(),
        "values": sums.width(candidate.classes),
        "rounds": rounds,
        "sensitivity": persons,
        "budget": {
            "epsilon": epsilon_budget,
            "delta": delta,
            "order": sent_order(order),
            "filter": filter_name(order),
        },
        "by_epsilon": [_row(each, found, epsilon_budget, delta, order, rounds) for each, found in scaled],
    }
    return Planned(figures, list(_curves(scaled, order, delta, max(rounds, PLOTTED_ROUNDS))))


def _scale(candidate: Candidate, wanted: float, delta: float, rounds: int) -> Candidate:
    """Return the candidate with the least noise for which that many rounds cost at most `wanted`."""
    sums = candidate.mechanism
    assert isinstance(sums, RecordSums)  # noqa: S101 - `plan_sums` made it of them

    def scale(factor: float) -> Candidate:
        return Candidate(sums.with_noise(factor), candidate.classes, candidate.sensitivity)

    allowed = budget_rdp(wanted, delta, GAUSSIAN)
    enough = 2 * math.sqrt(candidate.rdp(GAUSSIAN, rounds) / allowed)
    while scale(enough).rdp(GAUSSIAN, rounds) > allowed:
        enough *= 2
    little = 0.0
    for _ in range(STEPS):
        middle = (little + enough) / 2
        if scale(middle).rdp(GAUSSIAN, rounds) <= allowed:
            enough = middle
        else:
            little = middle
    return scale(enough)


def _row(
    wanted: float, found: Candidate, budget: float, delta: float, order: float, rounds: int
) -> dict[str, Any]:
    """Return what the budget's own filter counts for sums that cost `wanted` by themselves."""
    available = budget_rdp(budget, delta, order)
    noise = {name: value for name, value in parameters_of(found.mechanism).items() if name in NOISE}
    each = found.cost(order)
    return {
        "epsilon": wanted,
        **noise,
        "epsilon_by_filter": epsilon(found.rdp(order, rounds), order, delta),
        "share_of_budget": found.rdp(order, rounds) / available,
        "rounds_that_fit": fits(each, found.answers, budget_amount(available)),
    }


def _curves(
    scaled: Iterable[tuple[float, Candidate]], order: float, delta: float, most: int
) -> Iterable[Curve]:
    at = queries_up_to(most)
    for wanted, found in scaled:
        noise = ", ".join(
            f"{name} {value:.3g}" for name, value in parameters_of(found.mechanism).items() if name in NOISE
        )
        yield worst_case_curve(f"epsilon {wanted:g}: {noise}", found, order, delta, at)


def show(figures: Mapping[str, Any]) -> None:
    """Print the result of `plan_sums`."""
    console = Screen()
    budget = figures["budget"]
    rounds = figures["rounds"]
    console.print(
        f"Every party's budget: epsilon {budget['epsilon']:g} at delta {number_text(budget['delta'])}, "
        f"filter {filter_text(budget['order'])}:\n"
        f"  ostraka guardian budget set --epsilon {budget['epsilon']:g} --delta {budget['delta']:g} "
        f"{filter_option(budget['order'])} --adjacency {figures['adjacency']} --site ... --party ...",
        soft_wrap=True,
    )
    count = "One sum" if rounds == 1 else f"{rounds:,} sums"
    kind = figures["mechanism"]["kind"]
    console.print(
        f"{count} by {kind}, {figures['values']:,} values each, over all records: every party pays what the "
        f"table says, for each sum before it is asked; {figures['notion']}.",
        soft_wrap=True,
    )
    noise = [name for name in NOISE if name in figures["by_epsilon"][0]]
    table = Table(
        "epsilon of this alone", *noise, "epsilon by the filter", "share of the budget", "sums that fit"
    )
    for row in figures["by_epsilon"]:
        table.add_row(
            epsilon_text(row["epsilon"]),
            *(f"{row[name]:.4g}" for name in noise),
            epsilon_text(row["epsilon_by_filter"]),
            f"{row['share_of_budget']:.0%}",
            f"{row['rounds_that_fit']:,}",
        )
    console.print(table)
    console.print(
        "The noise is that of each value of a sum, in which a record's part has norm 1; a mean over N "
        "records has this noise divided by N. A model answers any question of its holder, for ever, "
        "without further charge.",
        soft_wrap=True,
    )
