"""What labels must exceed to be worth a budget: the accuracy that is available for nothing."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ostraka.common.planning.search.forecast import Forecast
from ostraka.common.planning.search.vote_sample import RARE_REST, VoteSample

POINT = 0.01
"""Minimum gain of a plan: labels that beat the free alternative by less than a point teach nothing."""
FEW_LABELS = 10
"""Number of labels up to which a student learns nothing from them."""


@dataclass(frozen=True)
class Floor:
    """The accuracy that needs no labels.

    Attributes:
        most_frequent: share of records for which the most frequent class is right.
        own: share of records for which the querying party's own model is right; None if unknown.
        balanced: whether shares are means over classes, as in data where one class has nearly all records.
        truth: the right class of each query (Q,); None for several labels, or for assumed votes.
        free: description of the method with accuracy `most_frequent`.
    """

    most_frequent: float
    own: float | None
    balanced: bool
    truth: NDArray[np.int64] | None = field(repr=False)
    free: str = "always saying the most frequent class"

    @classmethod
    def of(cls, sample: VoteSample, own: float | None = None, *, assumed: bool = False) -> "Floor":
        """Return the floor for a sample of votes; for several labels shares are always balanced.

        For assumed votes the class frequencies are unknown, so guessing is the free alternative.
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
        """The larger of both accuracies."""
        return max(self.most_frequent, self.own or 0.0)

    @property
    def words(self) -> str:
        """The better of both alternatives, as part of a sentence."""
        if self.own is not None and self.own >= self.most_frequent:
            return f"your own model alone is right on {self.own:.1%}"
        return f"{self.free} is right on {self.most_frequent:.1%}"

    def gain(self, forecast: Forecast) -> float:
        """Return how much more often labels are right; a class without labels counts as never right."""
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
