"""Figures from a column's noisy counts: mean and quartiles, each with the interval due to noise."""

import datetime
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ostraka.client.describing.counted_columns import CountedColumn
from ostraka.common.learning.gain import Interval, interval
from ostraka.common.sums.feature_map import Floats

REDRAWS = 1000
"""Draws of noise for an interval: 25 are beyond each end."""
SEED = 0
"""Constant, so the same counts have the same intervals."""
DEVIATIONS = 1.959964
"""Standard deviations of a normal distribution that contain 95% of it."""
CERTAIN = 4.0
"""Minimum number of records, in standard deviations of the noise, for a mean that is more than noise."""
QUANTILES = (0.25, 0.5, 0.75)
"""The quartiles."""


@dataclass(frozen=True)
class CountFigure:
    """How many records have a value."""

    value: str
    count: Interval


@dataclass(frozen=True)
class ColumnFigures:
    """Figures of the matching records in a column; intervals of counts are due to noise only.

    Attributes:
        name: of the column.
        records: number of records with a value.
        missing: number of records without one.
        counts: by value, or by bin.
        mean: of numbers, as if each were at the centre of its bin; the interval is valid wherever they are in
            the bins. None for categories, and if noise leaves no records.
        quantiles: of numbers, the `QUANTILES` in order, as if numbers were uniform in each bin; intervals as
            for the mean.
        first_day: for dates, day 0 of the mean and the quantiles.
    """

    name: str
    records: Interval
    missing: Interval
    counts: tuple[CountFigure, ...]
    mean: Interval | None
    quantiles: tuple[Interval, ...]
    first_day: datetime.date | None = None


def read_figures(columns: Sequence[CountedColumn], counts: Floats, sigma: float) -> tuple[ColumnFigures, ...]:
    """Return the figures of all columns' counts, flat, with Gaussian noise of `sigma` on each."""
    random = np.random.default_rng(SEED)
    ends = np.cumsum([column.counted.width for column in columns])[:-1]
    parts = np.split(counts, ends)
    return tuple(_read(column, part, sigma, random) for column, part in zip(columns, parts, strict=True))


def count_records(columns: Sequence[ColumnFigures], bins: Sequence[int], sigma: float) -> Interval:
    """Return the number of matching records: each column counts all, with less noise if it has few bins."""
    totals = np.array([column.records.estimate + column.missing.estimate for column in columns])
    variances = sigma**2 * np.array(bins, np.float64)
    worth = 1 / variances
    return _normal(float((totals * worth).sum() / worth.sum()), float(np.sqrt(1 / worth.sum())))


def _read(column: CountedColumn, counts: Floats, sigma: float, random: np.random.Generator) -> ColumnFigures:
    bins = column.counted.bins
    values = counts[:bins]
    named = zip(column.values, values.tolist(), strict=True)
    # First the counts as released, then with additional noise, whose spread is that of the released counts.
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
    """Return the mean: negative counts due to noise stay in all draws, because dropping them causes bias."""
    lows, highs = column.ends
    shares = drawn / drawn.sum(axis=1, keepdims=True)
    return _between(shares @ lows, shares @ ((lows + highs) / 2), shares @ highs)


def _quantile(column: CountedColumn, drawn: Floats, share: float) -> Interval:
    """Return a quantile by the bin that contains it; cumulative shares are made monotonic in each draw."""
    lows, highs = column.ends
    reached = np.maximum.accumulate(np.cumsum(drawn, axis=1), axis=1) / drawn.sum(axis=1, keepdims=True)
    place = np.minimum((reached < share).sum(axis=1), len(lows) - 1)
    draws = np.arange(len(drawn))
    before = np.where(place > 0, reached[draws, place - 1], 0.0).clip(0.0)
    part = np.clip((share - before) / np.maximum(reached[draws, place] - before, 1e-12), 0.0, 1.0)
    return _between(lows[place], lows[place] + part * (highs - lows)[place], highs[place])


def _between(lows: Floats, middles: Floats, highs: Floats) -> Interval:
    """Return an interval over draws (S,) of a figure that is between `lows` and `highs`."""
    return Interval(float(middles[0]), interval(lows).low, interval(highs).high)
