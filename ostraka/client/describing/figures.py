"""What noisy counts say of a column: a mean, quartiles, each with the interval that the noise leaves."""

import datetime
from collections.abc import Sequence
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
    """What the records that are meant have in a column; intervals of counts are of the noise alone.

    Attributes:
        name: of the column.
        records: how many have a value there.
        missing: how many have none.
        counts: by value, or by bin.
        mean: of numbers, as if each stood in the middle of its bin; the interval holds it wherever in the
            bins they stand. None for categories, and where the noise leaves no records.
        quantiles: of numbers, `QUANTILES` by turns, as if each bin were even, and intervals likewise.
        first_day: of dates, whose mean and quantiles are days since then.
    """

    name: str
    records: Interval
    missing: Interval
    counts: tuple[CountFigure, ...]
    mean: Interval | None
    quantiles: tuple[Interval, ...]
    first_day: datetime.date | None = None


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
        mean=_mean(column, drawn) if numbers else None,
        quantiles=tuple(_quantile(column, drawn, share) for share in QUANTILES) if numbers else (),
        first_day=column.first_day,
    )


def _normal(estimate: float, deviation: float) -> Interval:
    return Interval(estimate, estimate - DEVIATIONS * deviation, estimate + DEVIATIONS * deviation)


def _mean(column: CountedColumn, drawn: Floats) -> Interval:
    """Return the mean: noise that makes a count negative stays in all draws, or it would lean."""
    lows, highs = column.ends
    shares = drawn / drawn.sum(axis=1, keepdims=True)
    return _between(shares @ lows, shares @ ((lows + highs) / 2), shares @ highs)


def _quantile(column: CountedColumn, drawn: Floats, share: float) -> Interval:
    """Return a quantile of shares that only rise in each draw, by the bin in which it lies."""
    lows, highs = column.ends
    reached = np.maximum.accumulate(np.cumsum(drawn, axis=1), axis=1) / drawn.sum(axis=1, keepdims=True)
    place = np.minimum((reached < share).sum(axis=1), len(lows) - 1)
    draws = np.arange(len(drawn))
    before = np.where(place > 0, reached[draws, place - 1], 0.0).clip(0.0)
    part = np.clip((share - before) / np.maximum(reached[draws, place] - before, 1e-12), 0.0, 1.0)
    return _between(lows[place], lows[place] + part * (highs - lows)[place], highs[place])


def _between(lows: Floats, middles: Floats, highs: Floats) -> Interval:
    """Return an interval over draws (S,) of a figure that lies somewhere from `lows` to `highs`."""
    return Interval(float(middles[0]), interval(lows).low, interval(highs).high)
