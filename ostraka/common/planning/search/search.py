"""Settings of mechanisms that give the most right labels for a budget, or the least budget that gives any."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, TypeVar

from ostraka.common.console.texts import epsilon_text
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import Mechanism
from ostraka.common.planning.search.allowance import Allowance, Choice, Purse, Rate, worst_rate
from ostraka.common.planning.search.families import Family
from ostraka.common.planning.search.floor import POINT, Floor
from ostraka.common.planning.search.forecast import Forecast, Forecaster
from ostraka.common.privacy.filters import filter_name, sent_order

Place = tuple[float, ...]
V = TypeVar("V")

GRID: dict[int, int] = {1: 33, 2: 13, 3: 9, 4: 5}
"""Number of points on each axis of the coarse grid, by the number of axes."""
HALVINGS = 6
"""Number of step lengths, from half a cell of the grid to 1/64 of it."""
STARTS = 3
"""Number of grid points from which steps begin."""


def largest(
    value: Callable[[Place], V], rank: Callable[[V], tuple[float, ...]], axes: int, begin: Sequence[Place]
) -> tuple[Place, V]:
    """Return the best place found and its value, by the largest `rank`; deterministic.

    Steps go to the best neighbour, including diagonals, and halve if no neighbour is better. They begin at
    the given places, or else at the best of a grid.
    """
    seen: dict[Place, V] = {}

    def rank_of(place: Place) -> tuple[float, ...]:
        if place not in seen:
            seen[place] = value(place)
        return rank(seen[place])

    points = GRID[axes]
    grid = [] if begin else list(product([i / (points - 1) for i in range(points)], repeat=axes))
    starts = list(begin) or sorted(grid, key=rank_of, reverse=True)[:STARTS]
    best = max((_climb(rank_of, start, 0.5 / (points - 1)) for start in starts), key=rank_of)
    return best, seen[best]


def _climb(rank_of: Callable[[Place], tuple[float, ...]], place: Place, step: float) -> Place:
    moves = list(product((0, -1, 1), repeat=len(place)))
    for _ in range(HALVINGS):
        while True:
            near = [_move(place, move, step) for move in moves]
            found = max(near, key=rank_of)
            if rank_of(found) <= rank_of(place):
                break
            place = found
        step /= 2
    return place


def _move(place: Place, move: Sequence[int], step: float) -> Place:
    """Return the place after a move, kept within the cube."""
    return tuple(min(max(x + step * d, 0.0), 1.0) for x, d in zip(place, move, strict=True))


SHARES = (0.1, 0.2, 0.35, 0.5, 0.7, 1.0)
"""Shares of the budget with a point on the frontier; the last is the budget itself."""
_TURNS = 4
"""Maximum turns between parameters and orders; no turn makes the outcome worse, and each takes a search."""
_STRIDES = (8, 2, 1)
"""Distances between compared orders: far ones first, then those in between."""

Rates = Callable[[Mechanism, Forecast, Allowance], Rate]
"""The rate that a query of a mechanism takes of an allowance, given how often it is answered."""


@dataclass(frozen=True)
class Outcome:
    """What a setting gives for a budget.

    Attributes:
        mechanism: the setting.
        choice: the allowances that pay for it.
        asked: number of queries that these pay for, at most the number of queries.
        answers: number of labels that come back.
        right: number of those labels that are right.
        accuracy: accuracy of the given labels, as in `Forecast.accuracy`.
        enough: the share of one query that is paid for in the worst case, at most 1.
        gain: how far labels are above the search's floor; None without a floor.
    """

    mechanism: Mechanism
    choice: Choice
    asked: float
    answers: float
    right: float
    accuracy: float
    enough: float
    gain: float | None = None

    @property
    def order(self) -> float:
        """The order of the first allowance; a new budget has only one, and should be set with it."""
        return self.choice[0].order

    def rank(self, least: float) -> tuple[float, ...]:
        """Return a rank that is larger for a better outcome: by right labels if enough of them are right."""
        below = 0.0 if self.gain is None else min(self.gain - POINT, 0.0)
        good = self.accuracy >= least and self.right > 0 and not below
        near = min(self.accuracy / least if least else 1.0, 1.0) + self.enough + below
        return (1.0, self.right, self.accuracy) if good else (0.0, near, 0.0)

    def figures(self) -> dict[str, Any]:
        """Return the outcome in JSON's types."""
        return {
            "mechanism": self.mechanism.model_dump(),
            "order": sent_order(self.order),
            "filter": filter_name(self.order),
            "asked": self.asked,
            "labels": self.answers,
            "right": self.right,
            "accuracy": self.accuracy,
            "gain": self.gain,
        }


def worst_rates(classes: int) -> Rates:
    """Return the worst-case cost of queries, which sessions pay unless a policy says otherwise."""

    def rate(mechanism: Mechanism, forecast: Forecast, allowance: Allowance) -> Rate:
        cost = mechanism.worst_case(allowance.order, allowance.sensitivity, classes=classes)
        return worst_rate(cost, forecast)

    return rate


@dataclass(frozen=True)
class Search:
    """A judge of settings on a sample of votes.

    Attributes:
        forecaster: the sample's forecaster.
        queries: maximum number of queries.
        least_accuracy: minimum accuracy of the labels, as in `Forecast.accuracy`.
        rates: the cost of queries.
        floor: what the labels must exceed; None if their value is judged elsewhere.
    """

    forecaster: Forecaster
    queries: int
    least_accuracy: float
    rates: Rates
    floor: Floor | None = None

    def outcome(self, mechanism: Mechanism, choice: Choice) -> Outcome:
        """Return the outcome of one setting."""
        forecast = self.forecaster.forecast(mechanism)
        rates = [self.rates(mechanism, forecast, allowance) for allowance in choice]
        paid = min(rate.queries(one.rdp) for rate, one in zip(rates, choice, strict=True))
        asked = min(float(self.queries), paid)
        return Outcome(
            mechanism,
            choice,
            asked=asked,
            answers=asked * forecast.answers,
            right=asked * forecast.right_labels,
            accuracy=forecast.accuracy,
            enough=min(1.0, *(one.rdp / rate.first for rate, one in zip(rates, choice, strict=True))),
            gain=None if self.floor is None else self.floor.gain(forecast),
        )

    def rank(self, outcome: Outcome) -> tuple[float, ...]:
        """Return a rank that is larger for a better outcome."""
        return outcome.rank(self.least_accuracy)

    def good(self, outcome: Outcome) -> bool:
        """Whether any query is asked, and labels are accurate enough."""
        return self.rank(outcome)[0] > 0

    def best(
        self, family: Family, choices: Sequence[Choice], begin: Sequence[Place] = ()
    ) -> tuple[Place, Outcome]:
        """Return the best setting of a family, and its place on the axes.

        Parameters are searched at one order, then orders with these parameters, in turns; no turn makes the
        result worse.
        """
        choice = max(choices, key=lambda one: min(each.rdp / each.order for each in one))
        place, found = self._at(family, choice, begin)
        for _ in range(_TURNS):
            better = self._best_order(found, choices)
            if self.rank(better) <= self.rank(found):
                break
            place, found = self._at(family, better.choice, [place])
        return place, found

    def _at(self, family: Family, choice: Choice, begin: Sequence[Place]) -> tuple[Place, Outcome]:
        return largest(
            lambda place: self.outcome(family.at(place), choice), self.rank, len(family.axes), begin
        )

    def _best_order(self, found: Outcome, choices: Sequence[Choice]) -> Outcome:
        """Return the best outcome of the same setting at nearby choices, with ever smaller strides."""
        place = next(i for i, one in enumerate(choices) if one == found.choice)
        for stride in _STRIDES:
            while True:
                near = [i for i in (place - stride, place + stride) if 0 <= i < len(choices)]
                outcomes = {i: self.outcome(found.mechanism, choices[i]) for i in near}
                better = [i for i in near if self.rank(outcomes[i]) > self.rank(found)]
                if not better:
                    break
                place = max(better, key=lambda i: self.rank(outcomes[i]))
                found = outcomes[place]
        return found


@dataclass(frozen=True)
class Point:
    """The best outcome of every family for one budget, the best of all first."""

    epsilon: float
    outcomes: Sequence[Outcome]


Places = Mapping[int, Place]
"""Starting places of some families, by number."""


def frontier(
    search: Search,
    families: Sequence[Family],
    purse: Purse,
    on_step: Callable[[int, int], None] = lambda done, total: None,
    begin: Places | None = None,
) -> list[Point]:
    """Return a point for each of SHARES of the purse, ascending; points that give no label have no outcomes.

    The whole purse is searched from a coarse grid, or from the places in `begin`; each smaller share from the
    best places of the one above.
    """
    known = dict(begin or {})
    points: list[Point] = []
    total = len(SHARES) * len(families)
    for step, share in enumerate(reversed(SHARES)):
        found = []
        for i, (place, outcome) in enumerate(best_of_each(search, families, purse.choices(share), known)):
            known[i] = place
            found.append(outcome)
            on_step(step * len(families) + i + 1, total)
        good = sorted(filter(search.good, found), key=search.rank, reverse=True)
        points.append(Point(purse.epsilon(share), good))
    return points[::-1]


def best_of_each(
    search: Search, families: Sequence[Family], choices: Sequence[Choice], begin: Places
) -> Iterator[tuple[Place, Outcome]]:
    """Yield the best setting of every family and its place; nothing if there is nothing to spend."""
    for i, family in enumerate(families if choices else ()):
        yield search.best(family, choices, [begin[i]] if i in begin else [])


_MAX_TIMES = 2**14
"""Maximum multiple of the budget that is tried."""
_PRECISION = 1.02
"""Precision of the least sufficient budget, which people read as advice."""


def no_label(search: Search, families: Sequence[Family], purse: Purse, advice: str) -> OstrakaError:
    """Return the error for a budget that gives no label; it says what would give one.

    Args:
        search: the search that found nothing.
        families: the families that were searched.
        purse: what may be spent.
        advice: what else to do, such as to raise an option.
    """
    least = f"labels that are right for {search.least_accuracy:.3g} of them"
    share = _least_share(search, families, purse)
    if share is None:
        accurate = max(_whole(search, families, purse, float(_MAX_TIMES)), key=lambda one: one.accuracy)
        if search.floor is not None and (accurate.gain or 0.0) < POINT:
            return _no_gain(search.floor, accurate.gain or 0.0)
        return OstrakaError(
            ErrorCode.BUDGET_TOO_SMALL,
            f"No budget gives {least}: with hardly any noise these teachers reach "
            f"{accurate.accuracy:.3g}; lower --least-accuracy, or train better teachers.",
        )
    return OstrakaError(
        ErrorCode.BUDGET_TOO_SMALL,
        f"Epsilon {epsilon_text(purse.epsilon(1.0))} pays for no query with {least}, and "
        f"{epsilon_text(purse.epsilon(share))} does: {advice}.",
    )


def _no_gain(floor: Floor, gain: float) -> OstrakaError:
    """Return the error for votes that are worth nothing at any budget."""
    balanced = ", balanced over classes" if floor.balanced else ""
    return OstrakaError(
        ErrorCode.BUDGET_TOO_SMALL,
        "No plan has any gain: with hardly any noise labels are right for "
        f"{floor.value + gain:.1%}{balanced}, and {floor.words}. Do not ask for votes: use your own data, "
        "train better teachers, or learn from sums with `ostraka query fit`.",
    )


def _least_share(search: Search, families: Sequence[Family], purse: Purse) -> float | None:
    """Return the multiple of the purse that suffices without a check, to 2%; None: not even _MAX_TIMES."""

    def enough(share: float) -> bool:
        return any(search.good(one) for one in _whole(search, families, purse, share))

    # Tried first: if no budget suffices, for a reason other than noise, every doubling would be in vain.
    if not enough(_MAX_TIMES):
        return None
    low = 1.0
    high = 2.0
    while not enough(high):
        low = high
        high = 2 * high
    while high > _PRECISION * low:
        middle = (low * high) ** 0.5
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _whole(search: Search, families: Sequence[Family], purse: Purse, share: float) -> list[Outcome]:
    """Return the best outcome of each family without a check; these are quick to search."""
    fewest = min(len(family.axes) for family in families)
    # For a rare class only a threshold may be right often enough; it has one axis more than an argmax.
    quick = [family for family in families if len(family.axes) == fewest or family.kind == "threshold"]
    choices = purse.choices(share)
    return [search.best(family, choices)[1] for family in quick if choices]
