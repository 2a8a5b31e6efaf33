"""Training objectives: the loss that an algorithm minimises in every step; the supervised objective."""

from dataclasses import dataclass, field
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional

from ostraka.common.learning.augmentation import Augmentation


@dataclass(frozen=True)
class TrainingStep:
    """The position in a training.

    Attributes:
        number: number of the step, from 0; `total` steps are planned.
        random: generator of views and mixtures, on the device of the records.
    """

    number: int
    total: int
    random: torch.Generator = field(repr=False)


class Objective(Protocol):
    """An algorithm; it has no state that changes between steps, so that a training can resume."""

    def loss(
        self, net: nn.Module, labelled: tuple[Tensor, Tensor], unlabeled: Tensor, step: TrainingStep
    ) -> Tensor:
        """Return the loss of one step, a scalar.

        Args:
            net: the network, of scaled rows to logits.
            labelled: rows (n, F) and soft targets (n, outputs), UNKNOWN for labels without an answer.
            unlabeled: rows (m, F), possibly none.
            step: the position in the training.
        """


def losses(logits: Tensor, targets: Tensor, *, multi_label: bool) -> Tensor:
    """Return the cross-entropy of every record, (n,).

    Args:
        logits: (n, classes), or (n, k) for k labels.
        targets: probabilities of the same shape; for labels also UNKNOWN, which is ignored.
        multi_label: whether every label is a separate question; a record's loss is their mean.
    """
    if not multi_label:
        return functional.cross_entropy(logits, targets, reduction="none")
    known = targets >= 0
    each = functional.binary_cross_entropy_with_logits(logits, targets.clamp(min=0), reduction="none")
    return (each * known).sum(dim=1) / known.sum(dim=1).clamp(min=1)


def probabilities(logits: Tensor, *, multi_label: bool) -> Tensor:
    """Return probabilities of classes, or of each label being 1, float32 with the logits' shape."""
    return logits.float().sigmoid() if multi_label else torch.softmax(logits.float(), dim=1)


def ramp(step: TrainingStep, part: float) -> float:
    """Return a weight growing from 0 to 1 over the first `part` of all steps, as early guesses are poor."""
    return min(1.0, (step.number + 1) / max(1.0, part * step.total))


@dataclass(frozen=True)
class SupervisedObjective:
    """Cross-entropy of weak views of the labelled records.

    Attributes:
        views: views of the records.
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
