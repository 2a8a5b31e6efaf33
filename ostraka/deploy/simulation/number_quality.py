"""The quality of predicted numbers in a simulation, and which ranges of numbers each party holds."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ostraka.client.fitting.accuracy import NumberFigures
from ostraka.common.datasets import Dataset
from ostraka.common.learning.verdict import interval_text, points_text
from ostraka.common.validation import FrozenModel
from ostraka.deploy.simulation.quality import ClassCount, Holding, SumModel

RANGES = 4
"""Number of ranges by which holdings are reported: quarters show whether parties differ."""


class NumberQuality(FrozenModel):
    """Figures of predicted numbers on test records.

    ``own`` is a regression on own data alone, None if they are too few, ``after`` the ``model`` of sums,
    ``pooled`` a regression on all records together without any privacy, and ``constant`` always predicts the
    mean of own numbers.
    """

    own: NumberFigures | None
    after: NumberFigures
    pooled: NumberFigures
    constant: NumberFigures
    model: SumModel

    @property
    def rows(self) -> tuple[tuple[str, NumberFigures], ...]:
        """All compared models, by their displayed names."""
        named = (
            ("own data alone", self.own),
            ("a model of sums", self.after),
            ("all records, not private", self.pooled),
            ("the mean of own numbers", self.constant),
        )
        return tuple((name, figures) for name, figures in named if figures is not None)


def number_rows(quality: NumberQuality) -> Iterator[Sequence[str]]:
    """Yield a row of figures for every compared model."""
    for name, figures in quality.rows:
        covered = "-" if figures.covered is None else interval_text(figures.covered)
        yield name, interval_text(figures.r2), interval_text(figures.mean_absolute_error), covered


def tell_numbers(quality: NumberQuality, records: int) -> Iterator[str]:
    """Yield sentences on the model's predictions, compared with own data alone and the mean."""
    after = quality.after
    own = "" if quality.own is None else f", by own data alone {quality.own.r2.estimate:.1%}"
    gained = "" if after.r2_over_own is None else f" ({points_text(after.r2_over_own)})"
    yield (
        f"The model explains {after.r2.estimate:.1%} (95% interval {after.r2.low:.1%} to {after.r2.high:.1%})"
        f" of the variance of {records} test records (R^2){own}{gained}."
    )
    yield (
        f"It is {interval_text(after.mean_absolute_error)} off on average, the mean of own numbers "
        f"{quality.constant.mean_absolute_error.estimate:.3g}."
    )


def doubt_numbers(quality: NumberQuality, records: int) -> Iterator[str]:
    """Yield reasons why a model may be worse than it looks, one sentence each; usually none."""
    gained = quality.after.r2_over_own
    if gained is not None and gained.high < 0:
        yield "The sums made a worse model than own data alone."
    elif gained is not None and gained.low <= 0:
        yield (
            f"{records} test records are too few to tell whether the sums helped: the interval of the gain"
            " holds 0."
        )
    if quality.after.r2.low <= 0:
        yield "The model is not certainly better than always saying the mean."


def number_ranges(numbers: NDArray[np.float64]) -> tuple[tuple[float, float], ...]:
    """Return the ends of ranges that each contain about as many of the numbers (n,)."""
    ends = np.unique(np.quantile(numbers, np.linspace(0, 1, RANGES + 1)))
    return tuple(pairwise(map(float, ends))) or ((float(ends[0]), float(ends[0])),)


def name_ranges(ranges: Sequence[tuple[float, float]]) -> tuple[ClassCount, ...]:
    """Return ranges of numbers as classes, for plots of parties' holdings."""
    return tuple(
        ClassCount(name=f"{low:.4g} to {high:.4g}", right=0, wrong=0, unanswered=0) for low, high in ranges
    )


def count_numbers(
    sites: Sequence[str], shards: Sequence[Dataset], ranges: Sequence[tuple[float, float]]
) -> tuple[Holding, ...]:
    """Count the records of every site's shard in each range; an end counts in the range above it."""
    inner = np.array([low for low, _ in ranges[1:]])
    counted = (
        np.bincount(np.searchsorted(inner, shard.numbers(), side="right"), minlength=len(ranges))
        for shard in shards
    )
    return tuple(
        Holding(party=site, records=len(shard), counts=tuple(counts.tolist()))
        for site, shard, counts in zip(sites, shards, counted, strict=True)
    )
