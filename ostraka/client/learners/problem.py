"""What a querying party knows before it asks: the task, and its own records."""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.sums.feature_map import Floats
from ostraka.common.sums.questions import Target

Kind = Literal["classes", "labels", "number"]


@dataclass(frozen=True)
class Category:
    """The indicator features of one category: at most one of them is 1 in a record.

    Attributes:
        first: index of the first feature.
        width: number of features, at least 2.
    """

    first: int
    width: int


@dataclass(frozen=True)
class OwnRecords:
    """Labelled records of the querying party: X (n, F) prepared, y as in `Rows`."""

    X: NDArray[np.floating] = field(repr=False)
    y: NDArray[np.number] = field(repr=False)

    def __len__(self) -> int:
        return len(self.X)


@dataclass(frozen=True)
class Problem:
    """The target to learn, the number of records, and the querying party's own records.

    Attributes:
        kind: of the target.
        outputs: number of classes, at least 2, or of labels; 1 for a number.
        features: of a prepared record, F, scaled to 0 to 1 by the task's ranges.
        records: total that all parties declare.
        pool: unlabelled records (m, F), or None.
        own: labelled records, or None.
        low: lower end of the target's range.
        high: upper end.
        categories: disjoint groups of features that belong together.
        tells_pool: whether parties may learn the mean of the pool and how far its records are from it.
        image: whether features are pixels, or an encoder's features of images.
        shape: of a record of pixels; empty: a row of features.
    """

    kind: Kind
    outputs: int
    features: int
    records: int
    pool: NDArray[np.floating] | None = field(default=None, repr=False)
    own: OwnRecords | None = field(default=None, repr=False)
    low: float = 0.0
    high: float = 1.0
    categories: tuple[Category, ...] = ()
    tells_pool: bool = True
    image: bool = False
    shape: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        """Raise `data.shape` or `data.nan` if own records or the pool do not fit this problem."""
        if self.pool is not None:
            _require_features(self.pool, self.features, "pool")
        if self.own is not None:
            _require_features(self.own.X, self.features, "own records")
            if not np.isfinite(np.asarray(self.own.y, np.float64)).all():
                raise OstrakaError(
                    ErrorCode.DATA_NAN,
                    "A label of your own records is not a number: complete it or leave it out.",
                )

    @property
    def own_features(self) -> NDArray[np.floating] | None:
        """Features of the pool, else of own labelled records; None without either."""
        if self.unlabelled is not None or self.labelled is None:
            return self.unlabelled
        return self.labelled.X

    @property
    def binary(self) -> bool:
        """Whether there are two classes, so a single score is enough."""
        return self.kind == "classes" and self.outputs == 2

    @property
    def scores(self) -> int:
        """Number of scores per record: one for two classes, else one per output."""
        return 1 if self.binary else self.outputs

    @property
    def unlabelled(self) -> NDArray[np.floating] | None:
        """The pool; None if there is none, or it is empty."""
        return self.pool if self.pool is not None and len(self.pool) else None

    @property
    def told_pool(self) -> NDArray[np.floating] | None:
        """The pool, if there is one and parties may learn its statistics; else None."""
        return self.unlabelled if self.tells_pool else None

    @property
    def told_features(self) -> NDArray[np.floating] | None:
        """Features that questions may depend on: the pool's if parties may learn about it, else own
        records'."""
        if self.told_pool is not None:
            return self.told_pool
        return None if self.labelled is None else self.labelled.X

    @property
    def labelled(self) -> OwnRecords | None:
        """Own records; None if there are none."""
        return self.own if self.own is not None and len(self.own) else None


def _require_features(X: NDArray[np.floating], features: int, what: str) -> None:
    if X.ndim != 2 or X.shape[1] != features:
        raise OstrakaError(
            ErrorCode.DATA_SHAPE,
            f"Your {what} have {X.shape[1:]} features but the task has {features}: prepare them with the "
            "same task.",
        )
    if not np.isfinite(X).all():
        raise OstrakaError(
            ErrorCode.DATA_NAN,
            f"A value of your {what} is not a number: complete the record or leave it out.",
        )


def share_of_ones(own: OwnRecords) -> Floats:
    """Return the share of own records that have each label, or are of class 1 of two.

    One more record that is half of each is counted, so the share is never 0 or 1.
    """
    y = np.asarray(own.y, np.float64).reshape(len(own), -1)
    shares: Floats = (y.sum(axis=0) + 0.5) / (len(own) + 1)
    return shares


def loss_target(problem: Problem, center: float = 0.0, scale: float = 1.0) -> Target:
    """Return the target of scores, for gradients and boosting."""
    if problem.kind == "number":
        return Target("squared", 1, center, scale)
    if problem.kind == "labels" or problem.binary:
        return Target("logistic", problem.scores)
    return Target("softmax", problem.outputs)
