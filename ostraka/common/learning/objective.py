"""Training objectives: the loss that an algorithm minimises in every step; that of labelled records alone."""

from dataclasses import dataclass, field
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional

from ostraka.common.learning.augmentation import Augmentation


@dataclass(frozen=True)
class TrainingStep:
    """Where a training stands.

    Attributes:
        number: of the step, from 0; `total` of them are planned.
        random: what views and mixtures are drawn from; on the device of the records.
    """

    number: int
    total: int
    random: torch.Generator = field(repr=False)


class Objective(Protocol):
    """An algorithm; it holds nothing that changes between steps, so that a training can go on."""

    def loss(
        self, net: nn.Module, labelled: tuple[Tensor, Tensor], unlabeled: Tensor, step: TrainingStep
    ) -> Tensor:
        """Return the loss of one step, a scalar.

        Args:
            net: the network, of scaled rows to logits.
            labelled: rows (n, F) and soft targets (n, outputs), UNKNOWN where nobody answered for a label.
            unlabeled: rows (m, F), none where there are none.
            step: where the training stands.
        """


def losses(logits: Tensor, targets: Tensor, *, multi_label: bool) -> Tensor:
    """Cross-entropy of every record, (n,).

    Args:
        logits: (n, classes), or (n, k) of k labels.
        targets: probabilities of the same shape; of labels also UNKNOWN, which counts for nothing.
        multi_label: whether every label is a question of its own; a record's loss is their mean.
    """
    if not multi_label:
        return functional.cross_entropy(logits, targets, reduction="none")
    known = targets >= 0
    each = functional.binary_cross_entropy_with_logits(logits, targets.clamp(min=0), reduction="none")
    return (each * known).sum(dim=1) / known.sum(dim=1).clamp(min=1)


def probabilities(logits: Tensor, *, multi_label: bool) -> Tensor:
    """Of classes, or of each label to be 1, float32 of the logits' shape."""
    return logits.float().sigmoid() if multi_label else torch.softmax(logits.float(), dim=1)


def ramp(step: TrainingStep, part: float) -> float:
    """Grows from 0 to 1 over the first `part` of all steps; guesses of the first steps are worth little."""
    return min(1.0, (step.number + 1) / max(1.0, part * step.total))


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
