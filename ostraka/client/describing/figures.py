"""What noisy counts say of a column: a mean, quartiles, each with the interval that the noise leaves."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ostraka.client.describing.counted_columns import CountedColumn
from ostraka.common.learning.gain import Interval, interval
from ostraka.common.sums.feature_map import Floats

REDRAWS = 1000
"""Draws of noise by which intervals are told: 25 lie beyond each end."""
SEED = 0
"""The same counts have the same intervals."""
DEVIATIONS = 1.959964
"""Of a normal distribution, within which 95% of it lie."""
CERTAIN = 4.0
"""Deviations of the noise above which so many records have a value that a mean of them is no mere noise."""
QUANTILES = (0.25, 0.5, 0.75)
"""The quartiles."""


@dataclass(frozen=True)
class CountFigure:
    """How many records have a value."""

    value: str
    count: Interval


@dataclass(frozen=True)
class ColumnFigures:
    """What the records that are meant have in a column; intervals are of the noise alone.

    Attributes:
        name: of the column.
        records: how many have a value there.
        missing: how many have none.
        counts: by value, or by bin.
        mean: of numbers, as if each stood in the middle of its bin; None for categories, and where the noise
            leaves no records.
        quantiles: of numbers, `QUANTILES` by turns, as if each bin were even; none likewise.
    """

    name: str
    records: Interval
    missing: Interval
    counts: tuple[CountFigure, ...]
    mean: Interval | None
    quantiles: tuple[Interval, ...]


def read_figures(columns: Sequence[CountedColumn], counts: Floats, sigma: float) -> tuple[ColumnFigures, ...]:
    """Return the figures of counts of all columns, flat, with Gaussian noise of `sigma` on each."""
    random = np.random.default_rng(SEED)
    ends = np.cumsum([column.counted.width for column in columns])[:-1]
    parts = np.split(counts, ends)
    return tuple(_read(column, part, sigma, random) for column, part in zip(columns, parts, strict=True))


def count_records(columns: Sequence[ColumnFigures], bins: Sequence[int], sigma: float) -> Interval:
    """Return how many records are meant: every column counts them all, those of few bins with less noise."""
    totals = np.array([column.records.estimate + column.missing.estimate for column in columns])
    variances = sigma**2 * np.array(bins, np.float64)
    worth = 1 / variances
    return _normal(float((totals * worth).sum() / worth.sum()), float(np.sqrt(1 / worth.sum())))


def _read(column: CountedColumn, counts: Floats, sigma: float, random: np.random.Generator) -> ColumnFigures:
    bins = column.counted.bins
    values = counts[:bins]
    named = zip(column.values, values.tolist(), strict=True)
    # First as they came, then with noise once more: what is told of them varies as much.
    drawn = np.vstack([values, values + random.normal(0, sigma, (REDRAWS, bins))])
    numbers = column.numeric and float(values.sum()) > CERTAIN * sigma * np.sqrt(bins)
    return ColumnFigures(
        name=column.name,
        records=_normal(float(values.sum()), sigma * float(np.sqrt(bins))),
        missing=_normal(float(counts[bins]), sigma),
        counts=tuple(CountFigure(value, _normal(count, sigma)) for value, count in named),
        mean=interval(_means(column, drawn)) if numbers else None,
        quantiles=tuple(map(interval, _quantiles(column, drawn))) if numbers else (),
    )


def _normal(estimate: float, deviation: float) -> Interval:
    return Interval(estimate, estimate - DEVIATIONS * deviation, estimate + DEVIATIONS * deviation)


def _means(column: CountedColumn, drawn: Floats) -> Floats:
    """Return the mean in all draws (S,): noise that makes a count negative stays, or means would lean."""
    edges = np.array(column.edges)
    means: Floats = drawn @ ((edges[1:] + edges[:-1]) / 2) / drawn.sum(axis=1)
    return means


def _quantiles(column: CountedColumn, drawn: Floats) -> Iterator[Floats]:
    """Yield each quantile in all draws (S,), of shares that only rise."""
    reached = np.maximum.accumulate(np.cumsum(drawn, axis=1), axis=1) / drawn.sum(axis=1, keepdims=True)
    below = np.hstack([np.zeros((len(drawn), 1)), np.clip(reached, 0.0, 1.0)])
    edges = np.array(column.edges)
    for share in QUANTILES:
        yield np.array([np.interp(share, row, edges) for row in below])
