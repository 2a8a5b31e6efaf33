"""Questions that a sum answers: what each record adds to it, clipped to norm 1 in every block.

A question is public. Whatever it says, the part of each record is bounded here, so a querying party may ask
anything of the announced size.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from ostraka.common.sums.codes import Codes
from ostraka.common.sums.feature_map import (
    MIN_VALUE,
    FeatureMap,
    Floats,
    clip_rows,
    find_bins,
    flush,
    one_hot,
)


@dataclass(frozen=True)
class Rows:
    """A chunk of the labelled records of one party.

    Attributes:
        codes: the codes of the task's columns (n, columns), NaN where a value is missing.
        X: the model features, (n, F).
        y: class indices (n,), labels of 0 and 1 (n, labels), or numbers (n,).
    """

    codes: NDArray[np.float32] = field(repr=False)
    X: NDArray[Any] = field(repr=False)
    y: NDArray[Any] = field(repr=False)

    def __len__(self) -> int:
        return len(self.X)

    def take(self, which: slice | NDArray[np.bool_]) -> "Rows":
        """Return some of the records, in their order."""
        return Rows(self.codes[which], self.X[which], self.y[which])


class Question(Protocol):
    """What is summed over records."""

    @property
    def widths(self) -> tuple[int, ...]:
        """Number of values in each block of the sum."""

    @property
    def record_values(self) -> int:
        """Number of values that a record becomes before it is added."""

    def blocks(self, rows: Rows) -> Sequence[Floats]:
        """Return each block of the sum over these records, flat."""


@dataclass(frozen=True)
class MomentsQuestion:
    """Sum of x code(y)' over mapped records x, and the Gram sum of x x' if `gram` is true.

    The second block contains the upper triangle row by row, with off-diagonal values times sqrt 2. So its
    norm is the matrix' Frobenius norm, which for x x' is at most 1.
    """

    map: FeatureMap
    codes: Codes
    gram: bool = False

    @property
    def widths(self) -> tuple[int, ...]:
        """As in `Question.widths`: d k, and d (d + 1) / 2."""
        d = self.map.columns
        first = d * self.codes.width
        return (first, d * (d + 1) // 2) if self.gram else (first,)

    @property
    def record_values(self) -> int:
        """As in `Question.record_values`."""
        return self.map.columns + self.codes.width

    def blocks(self, rows: Rows) -> Sequence[Floats]:
        """As in `Question.blocks`."""
        U = self.map(rows.X)
        moments = (U.T @ self.codes(rows.y)).ravel()
        return (moments, pack_symmetric(U.T @ U)) if self.gram else (moments,)


def pack_symmetric(matrix: Floats) -> Floats:
    """Return a symmetric matrix (d, d) as a vector of equal norm: upper half, off-diagonal times sqrt 2."""
    upper = np.triu_indices(len(matrix))
    return matrix[upper] * np.where(upper[0] == upper[1], 1.0, math.sqrt(2))


def unpack_symmetric(packed: Floats, columns: int) -> Floats:
    """Return the symmetric matrix (columns, columns) that `pack_symmetric` packed."""
    upper = np.triu_indices(columns)
    values = packed * np.where(upper[0] == upper[1], 1.0, 1 / math.sqrt(2))
    matrix = np.zeros((columns, columns))
    matrix[upper] = values
    matrix.T[upper] = values
    return matrix


LOSS = Literal["softmax", "logistic", "squared"]


@dataclass(frozen=True)
class Target:
    """What a model's scores are compared with.

    Attributes:
        loss: "softmax" over classes, "logistic" for one class against another or for each label, "squared"
            for numbers.
        outputs: number of scores of a record, k: the classes; 1 for two classes with "logistic"; the labels;
            1.
        center: subtracted from numbers, before they are divided by `scale`.
        scale: above 0; 1 for everything except numbers.
    """

    loss: LOSS
    outputs: int
    center: float = 0.0
    scale: float = 1.0

    def residuals(self, scores: Floats, y: NDArray[Any]) -> Floats:
        """Return the derivative of the loss by each score, (n, k)."""
        if self.loss == "squared":
            return scores - ((np.asarray(y, np.float64) - self.center) / self.scale)[:, None]
        if self.loss == "logistic":
            wanted = np.asarray(y, np.float64).reshape(scores.shape)
            # An unknown label is below 0.
            return np.where(wanted < 0, 0.0, sigmoid(scores) - wanted)
        return softmax(scores) - one_hot(y.astype(np.int64), self.outputs)


def sigmoid(scores: Floats) -> Floats:
    """Return 1 / (1 + e^-s) of scores, without overflow."""
    return 0.5 * (1 + np.tanh(scores / 2))


def softmax(scores: Floats) -> Floats:
    """Return probabilities (n, k) of scores (n, k)."""
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares: Floats = powers / powers.sum(axis=1, keepdims=True)
    return shares


@dataclass(frozen=True)
class GradientQuestion:
    """Sum of gradients of a loss at a linear model of mapped records, each clipped to `radius`, in radii.

    Attributes:
        map: the map from records to x, (d,).
        target: the target of the loss.
        weights: the model, (d, k).
        radius: above 0.
    """

    map: FeatureMap
    target: Target
    weights: Floats = field(repr=False)
    radius: float

    @property
    def widths(self) -> tuple[int, ...]:
        """As in `Question.widths`: d k."""
        return (self.map.columns * self.target.outputs,)

    @property
    def record_values(self) -> int:
        """As in `Question.record_values`."""
        return self.map.columns + self.target.outputs

    def blocks(self, rows: Rows) -> Sequence[Floats]:
        """As in `Question.blocks`."""
        U = self.map(rows.X)
        residuals = self.target.residuals(U @ flush(self.weights), rows.y) / self.radius
        # A gradient x r' has norm |x| |r|, so what is too long is clipped together with its x. A length below
        # MIN_VALUE is not that of this x, because its squares underflow: dividing by it would undo the
        # clipping.
        lengths = np.linalg.norm(U, axis=1, keepdims=True)
        clipped = clip_rows(residuals * lengths) / np.maximum(lengths, MIN_VALUE)
        return ((U.T @ clipped).ravel(),)


@dataclass(frozen=True)
class NetworkQuestion:
    """Sum of gradients of a loss at a public network of features, each clipped to `radius`, in radii.

    `ostraka.common.learning.sum_answers` answers it, so nothing here needs torch.

    Attributes:
        network: its kind, as in `ostraka.common.learning.networks.network`; not a factory, because a party
            imports nothing that others name.
        shape: shape of a record, whose features are flat.
        target: the target of the loss.
        parameters: parameters of the network, float32 (p,), flat in the order of its `parameters()`.
        radius: above 0.
    """

    network: str
    shape: tuple[int, ...]
    target: Target
    parameters: NDArray[np.float32] = field(repr=False)
    radius: float

    @property
    def widths(self) -> tuple[int, ...]:
        """As in `Question.widths`: p."""
        return (len(self.parameters),)


@dataclass(frozen=True)
class AdditiveTerm:
    """The contribution of one feature, or one category, to the scores of an additive model.

    Attributes:
        feature: the first feature.
        cuts: cuts of its bins.
        values: (bins, k).
        indicators: as in `find_places`.
    """

    feature: int
    cuts: Floats = field(repr=False)
    values: Floats = field(repr=False)
    indicators: int = 0

    def scores(self, X: NDArray[Any]) -> Floats:
        """Return its contribution for records (n, F), (n, k)."""
        added: Floats = self.values[find_places(X, self.feature, self.cuts, self.indicators)]
        return added


HALF = 0.5
"""Value from which an indicator counts as 1."""


def find_places(X: NDArray[np.floating], feature: int, cuts: Floats, indicators: int) -> NDArray[np.intp]:
    """Return the bin of each record (n, F): of one feature by its `cuts`, or of a category.

    With `indicators` above 0, that many features from `feature` on belong to a category. A record's bin is
    then the index of the first one above a half, or the last bin, of indicators + 1, if there is none.
    """
    if not indicators:
        return find_bins(X[:, feature].astype(np.float64), cuts)
    there = X[:, feature : feature + indicators] > HALF
    return np.where(there.any(axis=1), there.argmax(axis=1), indicators)


@dataclass(frozen=True)
class AdditiveModel:
    """Scores that are sums over features: Lou et al. 2012, learned as in Nori et al. 2021.

    Attributes:
        intercept: (k,).
        terms: at most one per feature.
    """

    intercept: Floats = field(repr=False)
    terms: tuple[AdditiveTerm, ...] = field(repr=False, default=())

    def scores(self, X: NDArray[Any]) -> Floats:
        """Return scores (n, k) of records (n, F)."""
        total: Floats = np.broadcast_to(self.intercept, (len(X), len(self.intercept))).astype(np.float64)
        for term in self.terms:
            total = total + term.scores(X)
        return total


@dataclass(frozen=True)
class BoostQuestion:
    """Sum of residuals of an additive model in each bin of one feature, each clipped to `radius`, in radii.

    Attributes:
        model: the model with the residuals.
        target: the target of the loss.
        feature: the feature by whose bins they are summed, at the ascending `cuts`.
        bins: rows of the sum, at least len(cuts) + 1 or indicators + 1; the same in every round of a plan.
        radius: above 0.
        indicators: as in `find_places`.
    """

    model: AdditiveModel
    target: Target
    feature: int
    cuts: Floats = field(repr=False)
    bins: int
    radius: float
    indicators: int = 0

    @property
    def widths(self) -> tuple[int, ...]:
        """As in `Question.widths`: bins times k."""
        return (self.bins * self.target.outputs,)

    @property
    def record_values(self) -> int:
        """As in `Question.record_values`: its scores."""
        return self.target.outputs

    def blocks(self, rows: Rows) -> Sequence[Floats]:
        """As in `Question.blocks`."""
        residuals = clip_rows(self.target.residuals(self.model.scores(rows.X), rows.y) / self.radius)
        places = find_places(rows.X, self.feature, self.cuts, self.indicators)
        total = np.zeros((self.bins, self.target.outputs))
        np.add.at(total, places, residuals)
        return (total.ravel(),)


@dataclass(frozen=True)
class Condition:
    """Records whose value in a column of the task lies from `low` to `high`, both included."""

    column: int
    low: float
    high: float


LABEL = -1
"""Used instead of a column of the task: the label of a single-label task, or the number of a target."""


@dataclass(frozen=True)
class ColumnStatistic:
    """Counts of one column in `bins` equally wide bins from `low` to `high`, then of missing values.

    Values beyond an end are counted in the bin there. For codes of a category, bins have a width of 1.

    Attributes:
        column: column of the task, or `LABEL`.
        low: lower end of the range, as stated in the task; `high` is above it.
        bins: at least 1.
    """

    column: int
    low: float
    high: float
    bins: int

    @property
    def width(self) -> int:
        """Number of values of its part: its bins, and missing values."""
        return self.bins + 1

    def places(self, values: Floats) -> NDArray[np.intp]:
        """Return the index of each value (n,) in its part."""
        missing = np.isnan(values)
        # The width of a range may overflow, and then the share of an infinite value is not a number.
        share = np.nan_to_num((np.where(missing, self.low, values) - self.low) / (self.high - self.low))
        inside = np.clip(np.floor(share * self.bins), 0, self.bins - 1).astype(np.intp)
        return np.where(missing, self.bins, inside)


@dataclass(frozen=True)
class StatisticsQuestion:
    """Counts of columns, over the records that satisfy all `conditions`: one block per column.

    A record is a 1 at one place of each block, or at none.
    """

    columns: tuple[ColumnStatistic, ...]
    conditions: tuple[Condition, ...] = ()

    @property
    def widths(self) -> tuple[int, ...]:
        """As in `Question.widths`."""
        return tuple(column.width for column in self.columns)

    @property
    def record_values(self) -> int:
        """As in `Question.record_values`: a place in each column."""
        return len(self.columns)

    def blocks(self, rows: Rows) -> Sequence[Floats]:
        """As in `Question.blocks`."""
        meant = np.ones(len(rows), dtype=np.bool_)
        for condition in self.conditions:
            values = _values(rows, condition.column)
            meant &= (values >= condition.low) & (values <= condition.high)
        return [
            np.bincount(column.places(_values(rows, column.column))[meant], minlength=column.width).astype(
                np.float64
            )
            for column in self.columns
        ]


def _values(rows: Rows, column: int) -> Floats:
    values = rows.y if column == LABEL else rows.codes[:, column]
    return np.asarray(values, np.float64)


LinearQuestion = MomentsQuestion | GradientQuestion | BoostQuestion | StatisticsQuestion
"""Questions that NumPy answers."""
AnyQuestion = LinearQuestion | NetworkQuestion

CHUNK = 4096
"""Number of records that are added in floating point; so few that sums are off by below 1/1000 of a step."""
CHUNK_VALUES = 2**24
"""Maximum values of the records in a chunk, 128 MiB; chunks have fewer records if these are long."""


def sum_steps(question: LinearQuestion, rows: Rows, bits: int) -> list[NDArray[np.int64]]:
    """Return the blocks of the sum over all records in steps of 2^-bits, int64.

    Each chunk is rounded to steps, and chunks are added as whole numbers. So replacing a record moves each
    value by less than one step more than the record's own part does (docs/sums.md).
    """
    totals = [np.zeros(width, np.int64) for width in question.widths]
    size = max(1, min(CHUNK, CHUNK_VALUES // max(1, question.record_values)))
    # A warning would reveal that a record is odd.
    with np.errstate(all="ignore"):
        for start in range(0, len(rows), size):
            for place, block in enumerate(question.blocks(rows.take(slice(start, start + size)))):
                totals[place] += np.rint(np.ldexp(block, bits)).astype(np.int64)
    return totals


def weigh_steps(steps: NDArray[np.int64], weight: int, bits: int) -> NDArray[np.int64]:
    """Return a sum in steps times a weight in steps of 2^-bits, rounded once to whole steps.

    Exact below 2^63 for weights below 2^32: only the rest after whole weights is a fraction.
    """
    whole = steps >> bits
    rest = steps - (whole << bits)
    weighed: NDArray[np.int64] = whole * weight + np.rint(np.ldexp(rest * float(weight), -bits)).astype(
        np.int64
    )
    return weighed
