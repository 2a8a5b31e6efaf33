"""Encoding of a record's label in a sum: a vector of norm at most 1."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostraka.common.sums.feature_map import Floats, clip_rows


@dataclass(frozen=True)
class ClassCodes:
    """A vector for each class.

    Attributes:
        vectors: (classes, k).
    """

    vectors: Floats = field(repr=False)

    @property
    def width(self) -> int:
        """Number of values of a code, k."""
        return int(self.vectors.shape[1])

    def __call__(self, y: NDArray[Any]) -> Floats:
        """Return the codes (n, k) of class indices (n,)."""
        codes: Floats = clip_rows(self.vectors)[y]
        return codes


@dataclass(frozen=True)
class LabelCodes:
    """Labels of 0 and 1, minus the expected value of each, divided by `scale` and clipped to norm 1.

    An unknown label, below 0, adds nothing.

    Attributes:
        offsets: (labels,), such as the share of records that have each label.
        scale: above 0.
    """

    offsets: Floats = field(repr=False)
    scale: float

    @property
    def width(self) -> int:
        """Number of values of a code: one per label."""
        return len(self.offsets)

    def __call__(self, y: NDArray[Any]) -> Floats:
        """Return the codes (n, labels) of labels (n, labels)."""
        return clip_rows(np.where(y < 0, 0.0, (y - self.offsets) / self.scale))


@dataclass(frozen=True)
class NumberCodes:
    """A number, minus `center`, divided by `scale` and clipped to -1 and 1."""

    center: float
    scale: float

    @property
    def width(self) -> int:
        """Number of values of a code: one."""
        return 1

    def __call__(self, y: NDArray[Any]) -> Floats:
        """Return the codes (n, 1) of numbers (n,)."""
        return clip_rows((np.asarray(y, np.float64)[:, None] - self.center) / self.scale)


Codes = ClassCodes | LabelCodes | NumberCodes
