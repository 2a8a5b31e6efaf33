"""Loss of Aug-Descent: DivideMix's loss on strong views, with guesses from weak ones.

Li et al. 2020, Algorithm 1; Nishi et al. 2021, Algorithm 4; Tang et al. 2022, section 4.3.3.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from ostraka.client.students.mixmatch import sharpen
from ostraka.common.learning.augmentation import Augmentation
from ostraka.common.learning.objective import TrainingStep, probabilities

VIEWS = 2
"""Weak views that a guess is the mean of, and strong ones that are learned."""
TEMPERATURE = 0.5
"""To which guesses are sharpened."""
DRAWS = 7
"""Of uniform numbers, whose median says how two records are mixed: it is Beta(4, 4) distributed."""

MIN_SHARE = 1e-6
"""Below which a class counts as predicted no less."""


@dataclass(frozen=True)
class Descent:
    """Learns likely right labels and guesses, mixed with each other, in strong views.

    A labelled record's target is the probability that its label is right, on that label, and anything on the
    others: the network's own guess takes their place. An unlabeled record is guessed by both networks.

    Attributes:
        views: of the records.
        other: the second network, in evaluation mode; it does not learn meanwhile.
        weight: of the guessed records' loss.
        prior: share of each class that predictions shall have in the mean.
    """

    views: Augmentation
    other: nn.Module
    weight: float
    prior: tuple[float, ...]

    def loss(
        self, net: nn.Module, labelled: tuple[Tensor, Tensor], unlabeled: Tensor, step: TrainingStep
    ) -> Tensor:
        """Cross-entropy of the labelled, squared error of the unlabeled, and distance from even classes."""
        x, targets = labelled
        with torch.no_grad():
            known = refine(targets, self._guess((net,), x, step))
            guessed = self._sharpen_guess(net, unlabeled, step) if len(unlabeled) else known[:0]
        rows = torch.cat([self.views.strong(part, step.random) for part in [x] * VIEWS + [unlabeled] * VIEWS])
        believed = torch.cat([known.repeat(VIEWS, 1), guessed.repeat(VIEWS, 1)])
        logits, believed = _mix(net, rows, believed, step)
        labels = VIEWS * len(x)
        loss = functional.cross_entropy(logits[:labels], believed[:labels]) + self._unevenness(logits)
        if not len(unlabeled):
            return loss
        likely = probabilities(logits[labels:], multi_label=False)
        return loss + self.weight * functional.mse_loss(likely, believed[labels:])

    def _sharpen_guess(self, net: nn.Module, x: Tensor, step: TrainingStep) -> Tensor:
        """Return what both networks guess together, sharpened, (n, classes)."""
        return sharpen(self._guess((net, self.other), x, step), TEMPERATURE, multi_label=False)

    def _guess(self, nets: tuple[nn.Module, ...], x: Tensor, step: TrainingStep) -> Tensor:
        """Return the mean probabilities that the networks give weak views, (n, classes)."""
        views = torch.cat([self.views.weak(x, step.random) for _ in range(VIEWS)])
        likely = torch.stack([probabilities(net(views), multi_label=False) for net in nets]).mean(dim=0)
        return likely.reshape(VIEWS, len(x), -1).mean(dim=0)

    def _unevenness(self, logits: Tensor) -> Tensor:
        """How far mean predictions are from the prior (Kullback-Leibler divergence)."""
        prior = torch.tensor(self.prior, device=logits.device)
        mean = probabilities(logits, multi_label=False).mean(dim=0).clamp(min=MIN_SHARE)
        return (torch.xlogy(prior, prior) - torch.xlogy(prior, mean)).sum()


def _mix(net: nn.Module, rows: Tensor, believed: Tensor, step: TrainingStep) -> tuple[Tensor, Tensor]:
    """Logits and targets of records each mixed with another, itself the larger part."""
    draw = torch.rand(DRAWS, generator=step.random, device=rows.device).median()
    share = torch.maximum(draw, 1 - draw)
    others = torch.randperm(len(rows), generator=step.random, device=rows.device)
    return net(torch.lerp(rows[others], rows, share)), torch.lerp(believed[others], believed, share)


def refine(targets: Tensor, guesses: Tensor) -> Tensor:
    """Labels with their part of doubt filled by guesses, sharpened, (n, classes) (DivideMix, Equation 5).

    Args:
        targets: the probability that a label is right, on its class; the largest of each row.
        guesses: probabilities of the classes.
    """
    right, classes = targets.max(dim=1, keepdim=True)
    labels = torch.zeros_like(targets).scatter(1, classes, 1.0)
    return sharpen(torch.lerp(guesses, labels, right), TEMPERATURE, multi_label=False)
