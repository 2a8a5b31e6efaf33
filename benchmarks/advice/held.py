"""A case's advice compared with the outcome."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from rich.table import Table

from benchmarks.advice.cases import Case
from benchmarks.advice.cells import Cell
from ostraka.deploy.advice.comparison import OFFERED, compare_ways
from ostraka.deploy.advice.recommendation import recommend

POINT = 0.01  # in accuracy: a way within it is as good as the best


@dataclass(frozen=True)
class Held:
    """A case's advice compared with the outcome.

    Attributes:
        case: the federation.
        judged: the figure by which ways are compared.
        advised: the recommended way.
        best: the best on unseen records of the ways that Ostraka supports, including doing nothing.
        expected: expected figure of the recommended way.
        low: lower end of its interval.
        high: upper end.
        happened: figure of the recommended way on the first draw of unseen records.
        mean: the same over all draws.
        best_mean: of the best way, over all draws.
        alone_mean: of doing nothing, over all draws.
        seconds: processor time of the advice.
    """

    case: Case
    judged: str
    advised: str
    best: str
    expected: float
    low: float
    high: float
    happened: float
    mean: float
    best_mean: float
    alone_mean: float
    seconds: float

    @property
    def near(self) -> bool:
        """Whether the recommended way is within a point of the best."""
        return self.mean >= self.best_mean - POINT

    @property
    def keeps(self) -> bool:
        """Whether the advice is to do nothing."""
        return not self.advised.startswith(OFFERED)

    @property
    def helpless(self) -> bool:
        """Whether no way is better than doing nothing."""
        return self.best_mean <= self.alone_mean

    @property
    def loses(self) -> bool:
        """Whether the recommended way is worse than doing nothing."""
        return self.mean < self.alone_mean

    @property
    def within(self) -> bool:
        """Whether the interval contains the outcome."""
        return self.low <= self.happened <= self.high


def compare(case: Case, cell: Cell) -> Held:
    """Compare a case's advice with the outcome."""
    ways = compare_ways(cell.seen, case.epsilon, cell.judged, cell.amounts)
    found = recommend(ways, cell.judged, cell.amounts, case.epsilon)
    # Doing nothing is the better one, on the seen records, of own records alone (by any kind of model) and
    # the most frequent class.
    alone = max(
        (one for one in ways if one.way in ("own", "nothing")),
        key=lambda one: one.figure(cell.judged).estimate,
    )
    advised = next((one for one in ways if (one.way, one.variant) == (found.way, found.variant)), alone)
    means = _means(cell)
    key = (advised.way, advised.variant)
    possible = [one for one in means if one[0] in OFFERED]
    best = max([*possible, (alone.way, alone.variant)], key=lambda one: means[one])
    figure = advised.figure(cell.judged)
    first = next(one for one in cell.happened[0] if (one.way, one.variant) == key)
    return Held(
        case,
        cell.judged,
        " ".join(key),
        " ".join(best),
        figure.estimate,
        figure.low,
        figure.high,
        first.measured.figure(cell.judged),
        means[key],
        means[best],
        means[alone.way, alone.variant],
        cell.seconds,
    )


def _means(cell: Cell) -> dict[tuple[str, str], float]:
    """Return the mean over draws of each way that was tried on all of them."""
    values: dict[tuple[str, str], list[float]] = {}
    for draw in cell.happened:
        for one in draw:
            values.setdefault((one.way, one.variant), []).append(one.measured.figure(cell.judged))
    return {key: float(np.mean(found)) for key, found in values.items() if len(found) == len(cell.happened)}


HEAD = ("table", "records", "sites", "epsilon", "skew", "advised", "expected", "happened", "mean", "best", "")


def tell_held(held: Held) -> tuple[str, ...]:
    """Return a case's row."""
    case = held.case
    wrong = (("not near", not held.near), ("loses", held.loses), ("outside", not held.within))
    misses = [word for word, holds in wrong if holds]
    return (
        case.table,
        f"{case.size:,}",
        str(case.parties),
        f"{case.epsilon:g}",
        "-" if case.skew is None else f"{case.skew:g}",
        held.advised,
        f"{held.expected:.3f} ({held.low:.3f} to {held.high:.3f})",
        f"{held.happened:.3f}",
        f"{held.mean:.3f}",
        f"{held.best} {held.best_mean:.3f}",
        ", ".join(misses),
    )


def table_of_cases(found: Sequence[Held]) -> Table:
    """Return a row for each case."""
    table = Table(*HEAD)
    for held in found:
        table.add_row(*tell_held(held))
    return table


def tell_errors(found: Sequence[Held]) -> Iterator[str]:
    """Yield how many cases are advised correctly, and how often each kind of error occurs."""
    missed = [one for one in found if not one.near]
    advised = [one for one in found if not one.keeps]
    helpless = [one for one in found if one.helpless]
    yield f"Within a point of the best: {len(found) - len(missed)} of {len(found)}."
    yield f"Of the others {sum(one.keeps for one in missed)} say to do nothing."
    yield f"Nothing helps in {len(helpless)}; the advice says so in {sum(one.keeps for one in helpless)}."
    yield f"Of {len(advised)} ways advised {sum(one.loses for one in advised)} give less than doing nothing."
    yield f"Intervals hold the first outcome in {sum(one.within for one in found)} of {len(found)}."
