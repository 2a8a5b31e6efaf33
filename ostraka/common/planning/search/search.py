"""The setting of each mechanism that gives the most right labels for a budget, and for smaller ones."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ostraka.common.mechanism import Mechanism
from ostraka.common.planning.search.allowance import Allowance, Choice, Rate, worst_rate
from ostraka.common.planning.search.families import Family
from ostraka.common.planning.search.forecast import Forecast
from ostraka.common.planning.search.forecasting import Forecaster
from ostraka.common.planning.search.optimum import Place, largest
from ostraka.common.planning.search.purse import Purse

SHARES = (0.1, 0.2, 0.35, 0.5, 0.7, 1.0)
"""Shares of the budget that the frontier has a point for; the last is the budget itself."""
_TURNS = 4
_STRIDES = (8, 2, 1)

Rates = Callable[[Mechanism, Forecast, Allowance], Rate]
"""What a query of a mechanism takes of an allowance, given how often it is answered."""


@dataclass(frozen=True)
class Outcome:
    """What a setting gives for a budget.

    Attributes:
        mechanism: the setting.
        choice: the allowances that it is paid from.
        asked: queries that these pay for, no more than there are; `answers` labels come back, of which
            `right` are right.
        accuracy: of the labels given, as `Forecast.accuracy`.
        enough: the share of one query that is paid for at worst, at most 1.
    """

    mechanism: Mechanism
    choice: Choice
    asked: float
    answers: float
    right: float
    accuracy: float
    enough: float

    @property
    def order(self) -> float:
        """Renyi order of the first allowance: of a new budget, which has one, the order to set."""
        return self.choice[0].order

    def rank(self, least: float) -> tuple[float, ...]:
        """Return what is larger for a better outcome: right labels where enough of them are right."""
        good = self.accuracy >= least and self.right > 0
        near = min(self.accuracy / least if least else 1.0, 1.0) + self.enough
        return (1.0, self.right, self.accuracy) if good else (0.0, near, 0.0)

    def figures(self) -> dict[str, Any]:
        """Return it in JSON's types."""
        return {
            "mechanism": self.mechanism.model_dump(),
            "order": self.order,
            "asked": self.asked,
            "labels": self.answers,
            "right": self.right,
            "accuracy": self.accuracy,
        }


def worst_rates(classes: int) -> Rates:
    """Return what queries cost in the worst case, which sessions pay unless a policy says otherwise."""

    def rate(mechanism: Mechanism, forecast: Forecast, allowance: Allowance) -> Rate:
        cost = mechanism.worst_case(allowance.order, allowance.sensitivity, classes=classes)
        return worst_rate(cost, forecast)

    return rate


@dataclass(frozen=True)
class Search:
    """Judges settings on a sample of votes.

    Attributes:
        forecaster: of the sample.
        queries: how many may be asked at most.
        least_accuracy: what labels must be right for at least, as `Forecast.accuracy`.
        rates: what queries cost.
    """

    forecaster: Forecaster
    queries: int
    least_accuracy: float
    rates: Rates

    def outcome(self, mechanism: Mechanism, choice: Choice) -> Outcome:
        """Return what one setting gives."""
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
        )

    def rank(self, outcome: Outcome) -> tuple[float, ...]:
        """Return what is larger for a better outcome."""
        return outcome.rank(self.least_accuracy)

    def good(self, outcome: Outcome) -> bool:
        """Whether any query is asked, and labels are accurate enough."""
        return self.rank(outcome)[0] > 0

    def best(
        self, family: Family, choices: Sequence[Choice], begin: Sequence[Place] = ()
    ) -> tuple[Place, Outcome]:
        """Return the best setting of a family, and its place on the axes.

        Parameters are searched at one order, then orders with these parameters, in turns: no turn makes it
        worse.
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
        """Return the best outcome of the same setting at nearby choices, in ever smaller strides."""
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
"""Of some families, by number, where to begin."""


def frontier(
    search: Search,
    families: Sequence[Family],
    purse: Purse,
    on_step: Callable[[int, int], None] = lambda done, total: None,
    begin: Places | None = None,
) -> list[Point]:
    """Return a point for each of SHARES of the purse, ascending; those that give no label have no outcomes.

    The whole purse is searched from a coarse grid, or from where `begin` says; each smaller share from what
    suits the one above.
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
    """Yield the best setting of every family and its place; nothing where there is nothing to spend."""
    for i, family in enumerate(families if choices else ()):
        yield search.best(family, choices, [begin[i]] if i in begin else [])
