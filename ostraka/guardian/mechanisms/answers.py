"""The return values of mechanisms."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

REFUSED = -1
"""The label where nothing was answered."""


@dataclass(frozen=True)
class Answers:
    """The release of one batch of Q queries with m answers each: 1, or one for each label of a task.

    Attributes:
        answered: bool (Q, m).
        labels: int64 (Q, m): a class, or 0 or 1 for each label; -1 where not answered.
    """

    answered: NDArray[np.bool_] = field(repr=False)
    labels: NDArray[np.int64] = field(repr=False)

    @classmethod
    def where(cls, answered: NDArray[np.bool_], labels: NDArray[np.bool_ | np.integer[Any]]) -> Self:
        """Return `labels` (Q, m) where `answered`, which is (Q, m) or (Q, 1) for all answers of a query."""
        given = np.broadcast_to(answered, labels.shape).copy()
        return cls(given, np.where(given, labels.astype(np.int64), REFUSED))

    @classmethod
    def all(cls, labels: NDArray[np.bool_ | np.integer[Any]]) -> Self:
        """Return `labels` (Q, m), each of them answered."""
        return cls.where(np.ones(labels.shape, dtype=np.bool_), labels)
