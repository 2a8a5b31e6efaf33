"""Tables 1 and 2 of Dziedzic et al. 2023, with our measurements."""

from collections.abc import Iterator, Sequence
from dataclasses import fields

import numpy as np

from benchmarks.capc_multilabel.cells import Central, Retrained
from benchmarks.capc_multilabel.retraining import Turn
from benchmarks.dpsgd.cells import mean_and_deviation
from benchmarks.dpsgd.measures import Measure
from benchmarks.dpsgd.tables import number, percentages

RETRAINED = (
    *("data", "models", "state", "mechanism", "budget", "queries", "exact", "worst case", "all three"),
    *("ACC", "BAC", "AUC", "mAP"),
)
CENTRAL = (
    *("data", "method", "epsilon", "queries", "worst case", "ACC", "BAC", "BAC at means", "AUC", "mAP"),
)
NONE = "-"
Row = tuple[str, ...]


def rows_of_table_1(cells: Sequence[Retrained]) -> Iterator[Row]:
    """Yield Table 1: means over querying parties and seeds, with deviations over the seeds' means."""
    for dataset in dict.fromkeys(cell.dataset for cell in cells):
        own = [cell for cell in cells if cell.dataset == dataset]
        alike = [cell for cell in own if cell.mechanism == own[0].mechanism]
        blank = (NONE,) * 6
        yield (dataset, "1", "initial", *blank, *_spread([cell.found.initial for cell in alike]))
        before = [_mean([turn.before for turn in cell.found.turns]) for cell in alike]
        yield (dataset, str(own[0].parties), "before", *blank, *_spread(before))
        for mechanism, budget in dict.fromkeys(
            (cell.mechanism, turn.budget) for cell in own for turn in cell.found.turns
        ):
            yield _after([cell for cell in own if cell.mechanism == mechanism], budget)


def central_rows(cells: Sequence[Central]) -> Iterator[Row]:
    """Yield Table 2: means over seeds."""
    for dataset, method, epsilon in dict.fromkeys(
        (cell.dataset, cell.method, cell.epsilon) for cell in cells
    ):
        found = [
            cell.found
            for cell in cells
            if (cell.dataset, cell.method, cell.epsilon) == (dataset, method, epsilon)
        ]
        acc, bac, auc, ap = _spread([one.measure for one in found])
        yield (
            *(dataset, method, number(epsilon)),
            _whole([one.queries for one in found]),
            _number([one.worst_case for one in found]),
            *(acc, bac, _at_means([one.at_means for one in found]), auc, ap),
        )


def gains(cells: Sequence[Retrained]) -> Iterator[Row]:
    """Yield changes of balanced accuracy, in points: mean, standard error over seeds, how often it rose."""
    for dataset, mechanism in dict.fromkeys((cell.dataset, cell.mechanism) for cell in cells):
        own = [cell for cell in cells if (cell.dataset, cell.mechanism) == (dataset, mechanism)]
        for budget in dict.fromkeys(turn.budget for turn in own[0].found.turns):
            by_seed = _by_seed(own, budget)
            turns = [turn for one in by_seed for turn in one]
            rose = sum(turn.after.bac > turn.before.bac for turn in turns)
            yield (
                *(dataset, mechanism, number(budget)),
                _with_error([[turn.after.bac - turn.before.bac for turn in one] for one in by_seed]),
                _with_error([[turn.by_chance - turn.before.bac for turn in one] for one in by_seed]),
                f"{rose} of {len(turns)}",
                _labels_risen(turns),
            )


GAINS = (
    *("data", "mechanism", "budget", "released labels", "coin flips instead"),
    *("parties better", "labels better"),
)


def _after(cells: Sequence[Retrained], budget: float) -> Row:
    by_seed = _by_seed(cells, budget)
    turns = [turn for one in by_seed for turn in one]
    together = [one for cell in cells for one in cell.found.together if one.budget == budget]
    return (
        *(cells[0].dataset, str(cells[0].parties), "after", cells[0].mechanism, number(budget)),
        _whole([turn.queries for turn in turns]),
        _number([turn.spent for turn in turns]),
        _number([turn.worst_case for turn in turns]),
        f"{_number([one.spent for one in together])} / {_number([one.worst_case for one in together])}",
        *_spread([_mean([turn.after for turn in one]) for one in by_seed]),
    )


def _labels_risen(turns: Sequence[Turn]) -> str:
    """Return how many of the labels, measured in all turns, have a higher mean balanced accuracy."""
    before = np.array([turn.labels_before for turn in turns], float)
    after = np.array([turn.labels_after for turn in turns], float)
    rises = (after - before)[:, ~np.isnan(before + after).any(axis=0)].mean(axis=0)
    return f"{int((rises > 0).sum())} of {len(rises)}"


def _mean(measures: Sequence[Measure]) -> Measure:
    return mean_and_deviation(measures)[0]


def _spread(measures: Sequence[Measure | None]) -> list[str]:
    """Return means over seeds; empty if a seed had too few labels, because the other seeds' mean is
    biased."""
    told = [one for one in measures if one is not None]
    if len(told) < len(measures):
        return [NONE] * len(fields(Measure))
    return percentages(*mean_and_deviation(told))


def _at_means(values: Sequence[float | None]) -> str:
    told = [100 * value for value in values if value is not None]
    return NONE if len(told) < len(values) else f"{np.mean(told):.1f} ± {_deviation(told):.1f}"


def _deviation(values: Sequence[float]) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def _by_seed(cells: Sequence[Retrained], budget: float) -> list[list[Turn]]:
    return [[turn for turn in cell.found.turns if turn.budget == budget] for cell in cells]


def _with_error(by_seed: Sequence[Sequence[float]]) -> str:
    """Return the mean of the seeds' means, in percent; parties of a seed share one test set."""
    means = [100 * float(np.mean(one)) for one in by_seed]
    return f"{np.mean(means):+.2f} ± {_deviation(means) / len(means) ** 0.5:.2f}"


def _whole(values: Sequence[int | None]) -> str:
    told = [value for value in values if value is not None]
    return f"{np.mean(told):.0f}" if told else NONE


def _number(values: Sequence[float | None]) -> str:
    told = [value for value in values if value is not None]
    return f"{np.mean(told):.1f}" if told else NONE
