"""FixMatch (Sohn et al., 2020): confident predictions for a weak view are learned in a strong view."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ostraka.common.datasets.label_columns import UNKNOWN
from ostraka.common.learning.augmentation import Augmentation
from ostraka.common.learning.objective import TrainingStep, losses, probabilities


@dataclass(frozen=True)
class FixMatchObjective:
    """Cross-entropy of labelled records, and of strong views with the labels guessed from weak ones.

    Each of k labels is guessed separately, if the network is sure of it either way.

    Attributes:
        views: views of the records.
        multi_label: whether outputs are labels, not classes.
        threshold: probability from which the network is sure.
        weight: weight of the loss of guessed labels.
    """

    views: Augmentation
    multi_label: bool = False
    threshold: float = 0.95
    weight: float = 1.0

    def loss(
        self, net: nn.Module, labelled: tuple[Tensor, Tensor], unlabeled: Tensor, step: TrainingStep
    ) -> Tensor:
        """Return the loss of the labelled records plus the weighted loss of the guesses."""
        x, targets = labelled
        with torch.no_grad():
            guessed = self._guess(net(self.views.weak(unlabeled, step.random)))
        strong = self.views.strong(unlabeled, step.random)
        logits = net(torch.cat([self.views.weak(x, step.random), strong]))
        known = losses(logits[: len(x)], targets, multi_label=self.multi_label).mean()
        believed = losses(logits[len(x) :], guessed, multi_label=self.multi_label).mean()
        return known + self.weight * believed

    def _guess(self, logits: Tensor) -> Tensor:
        """Return hard targets; unsure labels are UNKNOWN, and unsure classes all 0, so without loss."""
        likely = probabilities(logits, multi_label=self.multi_label)
        if self.multi_label:
            sure = (likely >= self.threshold) | (likely <= 1 - self.threshold)
            return likely.round().masked_fill(~sure, UNKNOWN)
        most, classes = likely.max(dim=1)
        hard = torch.nn.functional.one_hot(classes, likely.shape[1]).to(likely.dtype)
        return hard * (most >= self.threshold)[:, None]
