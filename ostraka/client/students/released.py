"""Labels that were released for a pool, as a student learns from them."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ostraka.client.students.evaluation import Features, Labels


@dataclass(frozen=True)
class ReleasedLabels:
    """A pool and the labels that some of its records got.

    Attributes:
        features: of the whole pool, prepared, float32 (N, F).
        rows: of the pool that have a label, int64 (n,).
        y: their labels: class indices, int64 (n,); or 1, 0 or UNKNOWN for every label, (n, labels).
        error: how often each is wrong as far as its mechanism tells, float32 of y's shape; a student's own
            labels count as right.
        independent: whether each label, and that there is one, depends on no other record of this party.
    """

    features: Features = field(repr=False)
    rows: NDArray[np.int64] = field(repr=False)
    y: Labels = field(repr=False)
    error: NDArray[np.float32] = field(repr=False)
    independent: bool

    @property
    def X(self) -> Features:  # noqa: N802
        """Features of the records that have a label, float32 (n, F)."""
        return self.features[self.rows]

    @property
    def unlabeled(self) -> Features:
        """Features of the rest of the pool, what the mechanism did not answer included."""
        rest = np.ones(len(self.features), np.bool_)
        rest[self.rows] = False
        return self.features[rest]
