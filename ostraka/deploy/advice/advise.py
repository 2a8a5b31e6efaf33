"""Advice: deal out a table to sites repeatedly, try each way on it, and recommend one."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from ostraka.common.console.texts import number_text
from ostraka.common.datasets.table_files import Frame
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.planning.search.allowance import Choice
from ostraka.common.task.label_proposal import TargetKind
from ostraka.deploy.advice.attempts import Attempt, Clock
from ostraka.deploy.advice.commands import UNNAMED, Files, simulate_command, site_commands, train_command
from ostraka.deploy.advice.comparison import WayFigures, compare_ways
from ostraka.deploy.advice.measures import Figure, judge_by
from ostraka.deploy.advice.models import try_without_noise
from ostraka.deploy.advice.options import AdviceOptions
from ostraka.deploy.advice.randomised import try_randomised
from ostraka.deploy.advice.recommendation import Recommendation, recommend
from ostraka.deploy.advice.records import AdviceRecords
from ostraka.deploy.advice.splits import Amounts, Split, count_splits, draw_splits
from ostraka.deploy.advice.sums import mu_of, try_sums
from ostraka.deploy.advice.votes import VotePlans, new_budget, try_votes

MIN_EPSILON = 0.01
"""Below this epsilon no way learns anything from ten million records that is not noise."""
CURVE = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Epsilons of a plot, as usual in the literature."""
CURVE_SPLITS = 3
"""Splits on which these are tried: a line needs no interval."""
STEPS = 3
"""Steps of a split: without noise, sums, votes."""
Step = Callable[[int, int], None]


@dataclass(frozen=True)
class Advice:
    """The estimated value of each way, and a recommendation.

    Attributes:
        options: the options of the advice.
        amounts: numbers of records.
        rows: number of rows of the table.
        features: number of features of a record.
        splits: number of splits on which each way was tried.
        judged_by: the figure by which ways are compared.
        ways: the ways with their figures.
        recommendation: what to do.
        curve: by way, the mean of that figure at each epsilon; empty unless requested.
        seconds: processor time of the whole advice.
        notes: what a person should know about the table.
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

    @property
    def recommended(self) -> tuple[WayFigures, ...]:
        """The recommended way; empty if nothing is recommended."""
        found = (self.recommendation.way, self.recommendation.variant)
        return tuple(one for one in self.ways if (one.way, one.variant) == found)

    def as_json(self) -> dict[str, Any]:
        """Return it in JSON's types."""
        return {**asdict(self), "options": self.options.model_dump()}


def advise(
    records: Path | str | Frame,
    label: str | Sequence[str],
    options: AdviceOptions,
    *,
    leave_out: Sequence[str] = (),
    target: TargetKind | None = None,
    on_step: Step = lambda done, total: None,
) -> Advice:
    """Try Ostraka's ways at an epsilon on a table that represents the sites' records.

    Nothing is released and no site is asked; the advice itself reveals something about the table.

    Args:
        records: a table with labels, of own or public records like those of the sites.
        label: its label column, or several columns of 0 and 1.
        options: sites, budget, and the querying party's own records.
        leave_out: columns that models may not see.
        target: what the label column contains; None: decided by its values.
        on_step: called with the number of finished steps and of all steps.

    Raises:
        OstrakaError: as `AdviceRecords.read` and `draw_splits`, `budget.too_small` for an epsilon below
            `MIN_EPSILON`.
    """
    clock = Clock()
    require_epsilon(options.epsilon)
    labels = (label,) if isinstance(label, str) else tuple(label)
    table = AdviceRecords.read(records, labels, leave_out=leave_out, target=target)
    found = advise_on(table.sample(options.seed), options, on_step)
    simulated = not leave_out and target is None
    file = Path(records) if isinstance(records, Path | str) and simulated else None
    commands = [_commands(one, file, labels, found) for one in found.recommended]
    recommendation = replace(found.recommendation, commands=sum(commands, ()))
    return replace(found, recommendation=recommendation, seconds=clock.seconds())


def _commands(best: WayFigures, file: Path | None, labels: Sequence[str], found: Advice) -> tuple[str, ...]:
    """Return the commands that try the way on this file, if there is one, and run it at a federation."""
    tried = None if file is None else simulate_command(best, file, labels, found.options, found.amounts)
    on_file = () if tried is None else (tried,)
    files = UNNAMED if found.amounts.own else Files(labelled=None)
    return (*on_file, *train_command(best), *site_commands(best, found.options.epsilon, files))


def require_epsilon(epsilon: float) -> None:
    """Raise `budget.too_small` for an epsilon below `MIN_EPSILON`."""
    if not epsilon >= MIN_EPSILON:  # also for NaN
        raise OstrakaError(
            ErrorCode.BUDGET_TOO_SMALL,
            f"Epsilon {number_text(epsilon)} buys no answer that noise would not give as well: advice begins "
            f"at {MIN_EPSILON}.",
        )


def advise_on(table: AdviceRecords, options: AdviceOptions, on_step: Step) -> Advice:
    """Return the advice on loaded records; raise as `draw_splits`."""
    clock = Clock()
    attempts = try_ways(table, options, on_step)
    amounts = Amounts.of(table, options)
    return conclude(table, options, amounts, attempts, clock)


def conclude(
    table: AdviceRecords, options: AdviceOptions, amounts: Amounts, attempts: Sequence[Attempt], clock: Clock
) -> Advice:
    """Return the advice from finished attempts, without commands."""
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
        recommend(ways, judged, replace(amounts, own=options.own or amounts.own), options.epsilon),
        draw_curve(attempts, judged) if options.curve else {},
        clock.seconds(),
        table.notes,
    )


@dataclass(frozen=True)
class Spending:
    """What may be spent.

    Attributes:
        mu: of sums, by epsilon; None if no sums may be requested.
        choices: for votes, by epsilon.
    """

    mu: Callable[[float], float] | None = mu_of
    choices: Callable[[float], Sequence[Choice]] = new_budget


NEW_BUDGET = Spending()
"""A budget that is still to be set, for one replaced record."""


def try_ways(table: AdviceRecords, options: AdviceOptions, on_step: Step) -> list[Attempt]:
    """Return every attempt on every split; raise as `draw_splits`."""
    more = tuple(one for one in CURVE if one != options.epsilon) if options.curve else ()
    splits = draw_splits(table, options)
    return try_on_splits(splits, count_splits(table), (options.epsilon, *more), NEW_BUDGET, on_step)


def try_on_splits(
    splits: Iterable[Split], count: int, epsilons: Sequence[float], spending: Spending, on_step: Step
) -> list[Attempt]:
    """Return every attempt on this many splits; epsilons beyond the first on `CURVE_SPLITS` of them."""
    from threadpoolctl import threadpool_limits

    attempts: list[Attempt] = []
    plans = VotePlans(spending.choices)
    # One thread: on small matrices several threads only wait for each other.
    with threadpool_limits(1):
        for number, split in enumerate(splits):
            tried = tuple(epsilons if number < CURVE_SPLITS else epsilons[:1])
            for step, attempt_all in enumerate((_without_noise, _sums, _votes), STEPS * number + 1):
                attempts += attempt_all(split, tried, spending, plans)
                on_step(step, STEPS * count)
    return attempts


def _without_noise(
    split: Split, epsilons: tuple[float, ...], spending: Spending, plans: VotePlans
) -> list[Attempt]:
    found = [try_randomised(split, epsilon) for epsilon in epsilons]
    return [*try_without_noise(split), *(one for one in found if one is not None)]


def _sums(split: Split, epsilons: tuple[float, ...], spending: Spending, plans: VotePlans) -> list[Attempt]:
    if spending.mu is None:
        return []
    return [one for epsilon in epsilons for one in try_sums(split, epsilon, spending.mu(epsilon))]


def _votes(split: Split, epsilons: tuple[float, ...], spending: Spending, plans: VotePlans) -> list[Attempt]:
    return list(try_votes(split, epsilons, plans))


def draw_curve(attempts: Sequence[Attempt], judged: Figure) -> dict[str, list[tuple[float, float]]]:
    """Return each way's mean, of its best variant, at each epsilon, ascending; at 0 if it costs none."""
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
