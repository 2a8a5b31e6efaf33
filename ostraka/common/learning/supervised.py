"""Learning from labelled records alone."""

from dataclasses import dataclass

from torch import Tensor, nn

from ostraka.common.learning.augmentation import Augmentation
from ostraka.common.learning.objective import TrainingStep, losses


@dataclass(frozen=True)
class SupervisedObjective:
    """Cross-entropy of weak views of the labelled records.

    Attributes:
        views: of the records.
        multi_label: whether outputs are labels, not classes.
    """

    views: Augmentation
    multi_label: bool = False

    def loss(
        self, net: nn.Module, labelled: tuple[Tensor, Tensor], unlabeled: Tensor, step: TrainingStep
    ) -> Tensor:
        """Return the mean loss of the labelled records."""
        x, targets = labelled
        logits = net(self.views.weak(x, step.random))
        return losses(logits, targets, multi_label=self.multi_label).mean()
