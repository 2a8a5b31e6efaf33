"""How many queries a round asks, so that what is left of budgets lasts for all rounds."""

from collections.abc import Callable
from dataclasses import replace

from ostraka.client.rounds.rounds_options import Rounds
from ostraka.client.run.run_planner import RunPlanner


def round_queries(rounds: Rounds, number: int, planner: Callable[[int], RunPlanner]) -> int:
    """Return how many queries round `number` asks: at most `rounds.queries`, and at least one.

    Where budgets do not pay for all rounds that are left, each of these gets as many, counted as if every
    query were answered; what abstentions save is left to the next rounds, and the last asks until budgets
    end. `planner` makes the planner of a round. Where no guardian says what fits, as under data-dependent
    enforcement, every round asks all.
    """
    left = rounds.count - number + 1
    if left <= 1:
        return rounds.queries

    def fits(one: int) -> int | None:
        wanted = left * rounds.queries
        return replace(planner(one), pool_size=wanted).fits()

    now, later = fits(number), fits(number + 1)
    if not now or not later:
        return rounds.queries
    return min(rounds.queries, equal_share(now, later, left))


def equal_share(now: int, later: int, rounds: int) -> int:
    """Return the largest number of queries that a budget pays for in each of `rounds`, but at least one.

    The budget pays for `now` queries as the first of these rounds asks them, or for `later` as the others do.
    """
    return max(1, now * later // (later + (rounds - 1) * now))
