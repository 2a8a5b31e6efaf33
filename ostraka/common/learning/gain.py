"""How much better a student is than the most frequent class, and than the student of own labels alone."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ostraka.common.datasets.label_columns import UNKNOWN
from ostraka.common.learning.accuracy import POSITIVE

RESAMPLES = 1000
"""Number of resamples; at `LEVEL` 25 of them lie beyond each end of an interval, enough for a stable end."""
LEVEL = 0.95
"""Share of resamples within an interval, the usual level."""
AT_ONCE = 100
"""Number of resamples in memory at a time: 8 bytes for each and each record."""
SEED = 0
"""A constant seed: equal records give equal intervals."""


@dataclass(frozen=True)
class Interval:
    """An estimate, and the ends of the middle 95% of its values on resampled records."""

    estimate: float
    low: float
    high: float


@dataclass(frozen=True)
class Gain:
    """A student on the records it is measured on; intervals come from a bootstrap over these records.

    Attributes:
        records: number of records.
        majority: accuracy of always predicting the most frequent class, or each label's more frequent value.
        accuracy: accuracy of the student.
        balanced_accuracy: balanced accuracy over all classes or labels that occur.
        over_majority: accuracy above `majority`.
        over_own: accuracy above the student of own labels alone, on the same resampled records; None if there
            is no such student.
        balanced_over_own: the same for the balanced accuracy.
        most_frequent: the name of the class for `majority`; empty for several labels, or if it is not known.
        multi_label: whether records have several labels each.
    """

    records: int
    majority: float
    accuracy: Interval
    balanced_accuracy: Interval
    over_majority: Interval
    over_own: Interval | None
    balanced_over_own: Interval | None
    most_frequent: str = ""
    multi_label: bool = False


def gain(
    y: NDArray[np.int64],
    after: NDArray[np.float64],
    before: NDArray[np.float64] | None,
    names: Sequence[str] = (),
) -> Gain:
    """Return the gain of a student from its probabilities on records with true labels.

    Args:
        y: class indices (N,), or 1, 0 and UNKNOWN (N, labels); a label counts where it is known.
        after: probabilities (N, classes or labels) of the student.
        before: those of the student of own labels alone, or None.
        names: the names of the classes, if known.
    """
    cells = _cells(y, after.shape[1])
    frequent = _most_frequent(y)
    most = np.broadcast_to(frequent, y.shape)
    hits = [_hits(y, one) for one in (after, before) if one is not None]
    trivial, known = (one.reshape(len(y), -1).astype(np.float64) for one in (most == y, y != UNKNOWN))
    drawn = [
        (
            [_accuracy(part, hit, known) for hit in (*hits, trivial)],
            [_mean_recall(part, hit, cells) for hit in hits],
        )
        for part in samples(len(y))
    ]
    plain, balanced = (np.concatenate([part[kind] for part in drawn], axis=1) for kind in (0, 1))
    return Gain(
        records=len(y),
        majority=float(plain[-1][0]),
        accuracy=interval(plain[0]),
        balanced_accuracy=interval(balanced[0]),
        over_majority=interval(plain[0] - plain[-1]),
        over_own=None if before is None else interval(plain[0] - plain[1]),
        balanced_over_own=None if before is None else interval(balanced[0] - balanced[1]),
        most_frequent=names[int(frequent)] if y.ndim == 1 and names else "",
        multi_label=y.ndim == 2,
    )


def samples(records: int) -> Iterator[NDArray[np.float64]]:
    """Yield how often each record is in a sample, (S, records): first each once, then resamples."""
    yield np.ones((1, records))
    rng = np.random.default_rng(SEED)
    for _ in range(0, RESAMPLES, AT_ONCE):
        yield rng.multinomial(records, np.full(records, 1 / records), size=AT_ONCE).astype(np.float64)


def _cells(y: NDArray[np.int64], names: int) -> NDArray[np.float64]:
    """Return which cell each record is in, (N, groups, cells): one group of classes, or one per label."""
    groups, values = (y[:, None], names) if y.ndim == 1 else (y, 2)
    return np.asarray(groups[:, :, None] == np.arange(values), np.float64)


def _hits(y: NDArray[np.int64], probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what was predicted correctly, (N, 1), or (N, labels)."""
    if y.ndim == 1:
        right = np.equal(probabilities.argmax(axis=1), y)[:, None]
    else:
        right = np.equal(probabilities >= POSITIVE, y == 1)
    return np.asarray(right, np.float64)


def _most_frequent(y: NDArray[np.int64]) -> NDArray[np.int64]:
    if y.ndim == 1:
        return np.asarray(np.bincount(y).argmax(), np.int64)
    return np.asarray((y == 1).sum(axis=0) >= (y == 0).sum(axis=0), np.int64)


def _accuracy(
    samples: NDArray[np.float64], hits: NDArray[np.float64], known: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the accuracy in each sample (S, N) of weights, (S,)."""
    counted = np.maximum(samples @ known.sum(axis=1), 1)
    found: NDArray[np.float64] = samples @ (hits * known).sum(axis=1) / counted
    return found


def _mean_recall(
    samples: NDArray[np.float64], hits: NDArray[np.float64], cells: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the balanced accuracy in each sample (S,): the mean recall of cells, then of groups."""
    records, *shape = cells.shape
    right = (samples @ (hits[:, :, None] * cells).reshape(records, -1)).reshape(-1, *shape)
    there = (samples @ cells.reshape(records, -1)).reshape(-1, *shape)
    recall = np.divide(right, there, out=np.full_like(right, np.nan), where=there > 0)
    return _mean_of_known(_mean_of_known(recall))


def _mean_of_known(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return means over the last axis, ignoring NaN; `np.nanmean` would warn about labels without votes."""
    known = ~np.isnan(values)
    count = known.sum(axis=-1)
    total = np.where(known, values, 0.0).sum(axis=-1)
    means: NDArray[np.float64] = np.divide(total, count, out=np.full(count.shape, np.nan), where=count > 0)
    return means


def interval(samples: NDArray[np.float64]) -> Interval:
    """Return a figure on all records, the first of `samples` (S,), with its interval on resamples."""
    low, high = np.quantile(samples[1:], [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(float(samples[0]), float(low), float(high))
