"""What labels must beat to be worth any budget: what is had for nothing."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ostraka.common.planning.search.forecast import Forecast
from ostraka.common.planning.search.vote_sample import RARE_REST, VoteSample

POINT = 0.01
"""Least gain of a plan: labels that are right by less of a point more often than nothing teach nothing."""
FEW_LABELS = 10
"""Up to which no student learns anything of labels."""


@dataclass(frozen=True)
class Floor:
    """What is right without any label.

    Attributes:
        most_frequent: share of records that always saying the most frequent class is right on.
        own: share that the querying party's own model is right on; None: nobody says.
        balanced: whether shares are means over classes, as where one class has nearly all records.
        truth: the right class of each query (Q,); None: it has several labels, or votes are assumed.
        free: what is right on so many without an own model.
    """

    most_frequent: float
    own: float | None
    balanced: bool
    truth: NDArray[np.int64] | None = field(repr=False)
    free: str = "always saying the most frequent class"

    @classmethod
    def of(cls, sample: VoteSample, own: float | None = None, *, assumed: bool = False) -> "Floor":
        """Return the floor of votes; of several labels shares are always balanced.

        Of assumed votes nobody knows how frequent classes are: guessing is what is free.
        """
        if sample.multi_label:
            return cls(0.5, own, balanced=True, truth=None, free="guessing each label")
        if assumed:
            return cls(1 / sample.classes, own, balanced=False, truth=None, free="guessing")
        truth = sample.truth.astype(np.int64)
        counts = np.bincount(truth)
        share = float(counts.max() / len(truth))
        balanced = 1 - share < RARE_REST
        most_frequent = 1 / int((counts > 0).sum()) if balanced else share
        return cls(most_frequent, own, balanced, truth)

    @property
    def value(self) -> float:
        """The larger of both."""
        return max(self.most_frequent, self.own or 0.0)

    @property
    def words(self) -> str:
        """What is that good, as a sentence has it."""
        if self.own is not None and self.own >= self.most_frequent:
            return f"your own model alone is right on {self.own:.1%}"
        return f"{self.free} is right on {self.most_frequent:.1%}"

    def gain(self, forecast: Forecast) -> float:
        """Return how much more often labels are right; of a class that gets none, none are."""
        if self.truth is None or not self.balanced:
            accuracy = forecast.accuracy
            return -self.value if np.isnan(accuracy) else accuracy - self.value
        weights = np.broadcast_to(forecast.given, forecast.right.shape)
        recalls = []
        for value in np.unique(self.truth):
            given = weights[self.truth == value]
            total = float(given.sum())
            right = float((given * forecast.right[self.truth == value]).sum())
            recalls.append(right / total if total > 0 else 0.0)
        return float(np.mean(recalls)) - self.value
