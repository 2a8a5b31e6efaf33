"""Training data of networks: records with labels that may be wrong, on one scale."""

from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ostraka.common.datasets.label_columns import UNKNOWN
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning.shape import Shape, picture_axes

_CONSTANT = 1e-6
"""Deviation, as a part of the mean, up to which values count as equal."""


@dataclass(frozen=True, eq=False)
class Labelled:
    """Records with hard labels.

    Attributes:
        X: prepared features, flat rows, float32 (N, F).
        y: class indices, int64 (N,); or 1, 0 or UNKNOWN for every label, (N, k).
        error: known probability that a label is wrong, float32 with y's shape; None: no label is wrong.
    """

    X: NDArray[np.float32] = field(repr=False)
    y: NDArray[np.int64] = field(repr=False)
    error: NDArray[np.float32] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        shapes = {len(self.X), len(self.y)} | (set() if self.error is None else {len(self.error)})
        if len(shapes) > 1 or (self.error is not None and self.error.shape != self.y.shape):
            raise OstrakaError(
                ErrorCode.DATA_SHAPE,
                "Features, labels and errors are of different numbers of records: give one of each a record.",
            )

    def __len__(self) -> int:
        return len(self.X)

    @property
    def multi_label(self) -> bool:
        """Whether a record has any number of labels."""
        return self.y.ndim == 2

    def rows(self, rows: NDArray[np.int64] | NDArray[np.bool_]) -> "Labelled":
        """Return some of the records, by index or by mask."""
        return Labelled(self.X[rows], self.y[rows], None if self.error is None else self.error[rows])

    def targets(self, classes: int) -> NDArray[np.float32]:
        """Return soft targets, float32 (N, classes): probabilities, given how often each label is wrong.

        If a class is wrong, each of the others is equally likely. For k labels, (N, k), each target is the
        probability of 1, or UNKNOWN if the label is.
        """
        error = np.zeros(self.y.shape, np.float32) if self.error is None else self.error
        if self.multi_label:
            soft = self.y * (1 - error) + (1 - self.y) * error
            return np.where(self.y == UNKNOWN, UNKNOWN, soft).astype(np.float32)
        others = (error / max(classes - 1, 1)).astype(np.float32)
        soft = np.repeat(others[:, None], classes, axis=1)
        soft[np.arange(len(self.y)), self.y] = 1 - error
        return soft


def join(first: Labelled, second: Labelled) -> Labelled:
    """Return the records of both, in this order."""
    error = None
    if first.error is not None or second.error is not None:
        error = np.concatenate([_error(first), _error(second)])
    return Labelled(np.concatenate([first.X, second.X]), np.concatenate([first.y, second.y]), error)


def _error(labelled: Labelled) -> NDArray[np.float32]:
    return np.zeros(labelled.y.shape, np.float32) if labelled.error is None else labelled.error


@dataclass(frozen=True, eq=False)
class Standardization:
    """Maps records to mean 0 and deviation 1: by column for a table, for all values together for images.

    Constant values become 0.

    Attributes:
        mean: float32 (F,).
        factor: float32 (F,).
    """

    mean: NDArray[np.float32] = field(repr=False)
    factor: NDArray[np.float32] = field(repr=False)

    @classmethod
    def of(cls, X: NDArray[np.float32], shape: Shape) -> Self:
        """Return the scaling for records (N, F) of this shape."""
        axis = 0 if picture_axes(shape) is None else None
        mean = X.mean(axis, dtype=np.float64)
        deviation = X.std(axis, dtype=np.float64)
        varies = deviation > _CONSTANT * np.abs(mean)
        factor = np.where(varies, 1 / np.where(varies, deviation, 1), 0)
        columns = (X.shape[1],)
        return cls(*(np.broadcast_to(part, columns).astype(np.float32) for part in (mean, factor)))

    def apply(self, X: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return scaled records, float32 (N, F), from features of any precision."""
        return np.asarray((X - self.mean) * self.factor, np.float32)
