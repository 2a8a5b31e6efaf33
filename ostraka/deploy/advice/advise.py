"""Advice: a table dealt out to sites again and again, each way tried on it, and what follows."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from ostraka.common.console.texts import number_text
from ostraka.common.datasets.table_files import Frame
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.deploy.advice.attempts import Attempt, Clock
from ostraka.deploy.advice.comparison import WayFigures, compare_ways
from ostraka.deploy.advice.measures import Figure, judge_by
from ostraka.deploy.advice.models import try_without_noise
from ostraka.deploy.advice.options import AdviceOptions
from ostraka.deploy.advice.randomised import try_randomised
from ostraka.deploy.advice.recommendation import Recommendation, recommend
from ostraka.deploy.advice.records import AdviceRecords
from ostraka.deploy.advice.splits import Amounts, Split, count_splits, draw_splits
from ostraka.deploy.advice.sums import try_sums
from ostraka.deploy.advice.votes import VotePlans, try_votes

MIN_EPSILON = 0.01
"""Below it no way tells anything of ten million records that it would not make up."""
CURVE = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Epsilons of a plot, as the literature has them."""
CURVE_SPLITS = 3
"""On which these are tried: a line needs no interval."""
STEPS = 3
"""Of a split: without noise, sums, votes."""
Step = Callable[[int, int], None]


@dataclass(frozen=True)
class Advice:
    """What each way would be worth, and what to do.

    Attributes:
        options: that were asked about.
        amounts: of records.
        rows: of the table.
        features: of a record.
        splits: that each way was tried on.
        judged_by: the figure that ways are compared by.
        ways: with their figures.
        recommendation: what to do.
        curve: by way, the mean of that figure at each epsilon; empty unless it was asked for.
        seconds: of the processor that all of it took.
        notes: what a person should know of the table.
    """

    options: AdviceOptions
    amounts: Amounts
    rows: int
    features: int
    splits: int
    judged_by: Figure
    ways: tuple[WayFigures, ...]
    recommendation: Recommendation
    curve: dict[str, list[tuple[float, float]]] = field(repr=False)
    seconds: float
    notes: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return it in JSON's types."""
        return {**asdict(self), "options": self.options.model_dump()}


def advise(
    records: Path | str | Frame,
    label: str | Sequence[str],
    options: AdviceOptions,
    *,
    leave_out: Sequence[str] = (),
    on_step: Step = lambda done, total: None,
) -> Advice:
    """Try what Ostraka offers at an epsilon on a table that stands for the sites' records.

    Nothing is released and nobody is asked; the advice itself tells of the table.

    Args:
        records: a table with labels, of own or public records like those of the sites.
        label: its label column, or several of 0 and 1.
        options: sites, budget, and the querying party's own records.
        leave_out: columns that are not to be looked at.
        on_step: told how many steps of how many are done.

    Raises:
        OstrakaError: as `AdviceRecords.read` and `draw_splits`, `budget.too_small` for an epsilon below
            `MIN_EPSILON`.
    """
    clock = Clock()
    _require_epsilon(options.epsilon)
    labels = (label,) if isinstance(label, str) else tuple(label)
    table = AdviceRecords.read(records, labels, leave_out=leave_out)
    found = advise_on(table.sample(options.seed), options, on_step)
    return replace(found, seconds=clock.seconds())


def _require_epsilon(epsilon: float) -> None:
    if epsilon < MIN_EPSILON:
        raise OstrakaError(
            ErrorCode.BUDGET_TOO_SMALL,
            f"Epsilon {number_text(epsilon)} buys no answer that noise would not give as well: advice begins "
            f"at {MIN_EPSILON}.",
        )


def advise_on(table: AdviceRecords, options: AdviceOptions, on_step: Step) -> Advice:
    """Return the advice on records that are read; raise as `draw_splits`."""
    from threadpoolctl import threadpool_limits

    clock = Clock()
    # One thread: of small matrices more only wait for each other.
    with threadpool_limits(1):
        attempts = try_ways(table, options, on_step)
    amounts = Amounts.of(table, options)
    judged = judge_by(table.kind, table.y)
    ways = compare_ways(attempts, options.epsilon, judged, amounts)
    return Advice(
        options,
        amounts,
        table.rows,
        table.X.shape[1],
        count_splits(table),
        judged,
        ways,
        recommend(ways, judged, amounts, options.epsilon),
        draw_curve(attempts, judged) if options.curve else {},
        clock.seconds(),
        table.notes,
    )


def try_ways(table: AdviceRecords, options: AdviceOptions, on_step: Step) -> list[Attempt]:
    """Return every attempt on every split."""
    attempts: list[Attempt] = []
    plans = VotePlans()
    total = STEPS * count_splits(table)
    for number, split in enumerate(draw_splits(table, options)):
        epsilons: tuple[float, ...] = (options.epsilon,)
        if options.curve and number < CURVE_SPLITS:
            epsilons = (*epsilons, *(one for one in CURVE if one != options.epsilon))
        for step, attempt_all in enumerate((_without_noise, _sums, _votes), STEPS * number + 1):
            attempts += attempt_all(split, epsilons, plans)
            on_step(step, total)
    return attempts


def _without_noise(split: Split, epsilons: tuple[float, ...], plans: VotePlans) -> list[Attempt]:
    found = [try_randomised(split, epsilon) for epsilon in epsilons]
    return [*try_without_noise(split), *(one for one in found if one is not None)]


def _sums(split: Split, epsilons: tuple[float, ...], plans: VotePlans) -> list[Attempt]:
    return [one for epsilon in epsilons for one in try_sums(split, epsilon)]


def _votes(split: Split, epsilons: tuple[float, ...], plans: VotePlans) -> list[Attempt]:
    return list(try_votes(split, epsilons, plans))


def draw_curve(attempts: Sequence[Attempt], judged: Figure) -> dict[str, list[tuple[float, float]]]:
    """Return the best variant's mean of each way at each epsilon, ascending; at 0 of what costs none."""
    found: dict[tuple[str, float], dict[str, list[float]]] = {}
    for one in attempts:
        place = (one.way, one.epsilon or 0.0)
        found.setdefault(place, {}).setdefault(one.variant, []).append(one.measured.figure(judged))
    curve: dict[str, list[tuple[float, float]]] = {}
    for (way, epsilon), variants in sorted(found.items()):
        most = max(map(len, variants.values()))
        best = max(sum(values) / len(values) for values in variants.values() if len(values) == most)
        curve.setdefault(way, []).append((epsilon, best))
    return curve
