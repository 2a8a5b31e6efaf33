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
"""Number of weak views that a guess averages over, and of strong views that are learned."""
TEMPERATURE = 0.5
"""Temperature of sharpening guesses."""
DRAWS = 7
"""Number of uniform random numbers; their median, which is Beta(4, 4) distributed, is a mixing weight."""

MIN_SHARE = 1e-6
"""Lower bound of a class's mean prediction in the loss."""


@dataclass(frozen=True)
class Descent:
    """Learns from probable labels and guesses, mixed with each other, in strong views.

    A labelled record's target has, on its label, the probability that the label is right; the other entries
    are unused: the network's own guess replaces them. An unlabeled record is guessed by both networks.

    Attributes:
        views: augmentation of the records.
        other: the second network, in evaluation mode; it does not learn meanwhile.
        weight: weight of the loss of guesses.
        prior: target fraction of each class in the mean prediction.
    """

    views: Augmentation
    other: nn.Module
    weight: float
    prior: tuple[float, ...]

    def loss(
        self, net: nn.Module, labelled: tuple[Tensor, Tensor], unlabeled: Tensor, step: TrainingStep
    ) -> Tensor:
        """Return cross-entropy of labelled records, squared error of guesses, and distance from the prior."""
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
        """Return the sharpened guess of both networks, (n, classes)."""
        return sharpen(self._guess((net, self.other), x, step), TEMPERATURE, multi_label=False)

    def _guess(self, nets: tuple[nn.Module, ...], x: Tensor, step: TrainingStep) -> Tensor:
        """Return the networks' mean probabilities on weak views, (n, classes)."""
        views = torch.cat([self.views.weak(x, step.random) for _ in range(VIEWS)])
        likely = torch.stack([probabilities(net(views), multi_label=False) for net in nets]).mean(dim=0)
        return likely.reshape(VIEWS, len(x), -1).mean(dim=0)

    def _unevenness(self, logits: Tensor) -> Tensor:
        """Return the Kullback-Leibler divergence of the mean predictions from the prior."""
        prior = torch.tensor(self.prior, device=logits.device)
        mean = probabilities(logits, multi_label=False).mean(dim=0).clamp(min=MIN_SHARE)
        return (torch.xlogy(prior, prior) - torch.xlogy(prior, mean)).sum()


def _mix(net: nn.Module, rows: Tensor, believed: Tensor, step: TrainingStep) -> tuple[Tensor, Tensor]:
    """Mix each record with another, its own part the larger; return logits and targets of the mixtures."""
    draw = torch.rand(DRAWS, generator=step.random, device=rows.device).median()
    share = torch.maximum(draw, 1 - draw)
    others = torch.randperm(len(rows), generator=step.random, device=rows.device)
    return net(torch.lerp(rows[others], rows, share)), torch.lerp(believed[others], believed, share)


def refine(targets: Tensor, guesses: Tensor) -> Tensor:
    """Mix each label with a guess by its probability, and sharpen, (n, classes) (DivideMix, Equation 5).

    Args:
        targets: the probability that a label is right, on its class; the maximum of each row.
        guesses: probabilities of the classes.
    """
    right, classes = targets.max(dim=1, keepdim=True)
    labels = torch.zeros_like(targets).scatter(1, classes, 1.0)
    return sharpen(torch.lerp(guesses, labels, right), TEMPERATURE, multi_label=False)
