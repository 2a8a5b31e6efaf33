"""The student that learns by virtual adversarial training (Miyato et al. 2018).

A small change of a record should not change its label.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.modules.batchnorm import _BatchNorm

from ostraka.client.students.minimizer import Minimizer
from ostraka.common.learning.augmentation import Augmentation
from ostraka.common.learning.device import AUTO, CPU
from ostraka.common.learning.learning import Learning
from ostraka.common.learning.objective import Objective, TrainingStep, losses, probabilities, ramp

_PROBE = 0.01
"""Length of the initial perturbation, per value in standard deviations: small, but above rounding errors."""


@dataclass(eq=False, repr=False, kw_only=True)
class Vat(Minimizer):
    """VAT: a network trained to keep its prediction for an unlabeled record under small changes."""

    default_learning = Learning(steps=3000)

    radius: float = 0.25
    """Length of a change: the root mean square of its values, in standard deviations."""
    iterations: int = 1
    """Iterations of the search for the worst change."""
    weight: float = 1.0
    """Weight of the divergence that the worst change causes."""
    certainty: float = 0.5
    """Weight of the entropy of predictions for unlabeled records."""
    ramp: float = 0.25
    """Fraction of all steps over which both weights grow from 0."""

    @classmethod
    def defaults(cls, device: str = AUTO) -> Learning:
        """Return the defaults, with a third of the steps if there is no GPU; docs/students.md has the
        effect."""
        learning = super().defaults(device)
        return learning if learning.place.type != CPU else replace(learning, steps=learning.steps // 3)

    def objective(self, views: Augmentation, *, multi_label: bool) -> Objective:
        """Return the loss of virtual adversarial training, with entropy minimization."""
        return VatObjective(
            views, multi_label, self.radius, self.iterations, self.weight, self.certainty, self.ramp
        )


@dataclass(frozen=True)
class VatObjective:
    """Cross-entropy of labelled records; smoothness around, and low entropy at, unlabeled ones.

    A length is the root mean square of a record's values, in standard deviations, so it does not depend on
    their number.

    Attributes:
        views: augmentation of labelled and unlabeled records alike: otherwise a network soon distinguishes
            views from plain records, and predicts anything for the kind without labels.
        multi_label: whether outputs are labels, not classes.
        ramp: early certainty is often wrong and lasts; this and the other fields are parameters of `Vat`.
    """

    views: Augmentation
    multi_label: bool = False
    radius: float = 0.25
    iterations: int = 1
    weight: float = 1.0
    certainty: float = 0.5
    ramp: float = 0.25

    def loss(
        self, net: nn.Module, labelled: tuple[Tensor, Tensor], unlabeled: Tensor, step: TrainingStep
    ) -> Tensor:
        """Return the loss of the labelled records plus the weighted losses of the unlabeled ones."""
        x, targets = labelled
        rows = self.views.weak(torch.cat([x, unlabeled]), step.random)
        logits = net(rows)
        known = losses(logits[: len(x)], targets, multi_label=self.multi_label).mean()
        if not len(unlabeled):
            return known
        free = rows[len(x) :]
        logits = logits[len(x) :]
        said = self._probabilities(net, free)
        worst = self.perturbation(net, free, said, step.random)
        with without_tracking(net):
            moved = net(free + worst)
        smoothness = divergence(said, moved, multi_label=self.multi_label).mean()
        likely = probabilities(logits, multi_label=self.multi_label)
        certainty = losses(logits, likely, multi_label=self.multi_label).mean()
        return known + ramp(step, self.ramp) * (self.weight * smoothness + self.certainty * certainty)

    @torch.no_grad()
    def _probabilities(self, net: nn.Module, x: Tensor) -> Tensor:
        """Return probabilities in the search's batch and precision, so it does not find their difference."""
        with without_tracking(net), torch.autocast(x.device.type, enabled=False):
            return probabilities(net(x), multi_label=self.multi_label)

    def perturbation(self, net: nn.Module, x: Tensor, said: Tensor, random: torch.Generator) -> Tensor:
        """Find the perturbation (n, F) of x (n, F) that changes `said` most.

        Power iteration on the divergence; each row has length `radius`. Parameters and statistics of the
        network do not change.
        """
        direction = _of_length(torch.randn(x.shape, generator=random, device=x.device), 1.0)
        with without_tracking(net), torch.autocast(x.device.type, enabled=False):
            for _ in range(self.iterations):
                probe = (_PROBE * direction).requires_grad_()
                apart = divergence(said, net(x + probe), multi_label=self.multi_label).sum()
                (slope,) = torch.autograd.grad(apart, probe)
                direction = _of_length(slope, 1.0)
        return self.radius * direction


def divergence(said: Tensor, logits: Tensor, *, multi_label: bool) -> Tensor:
    """Return the Kullback-Leibler divergence (n,) from probabilities `said` to `logits` (n, outputs).

    For labels it is the mean over the labels' divergences.
    """
    entropy = -torch.xlogy(said, said)
    if not multi_label:
        return losses(logits.float(), said, multi_label=False) - entropy.sum(dim=1)
    entropy = entropy - torch.xlogy(1 - said, 1 - said)
    return losses(logits.float(), said, multi_label=True) - entropy.mean(dim=1)


@contextmanager
def without_tracking(net: nn.Module) -> Iterator[None]:
    """Do not update the network's batch statistics inside the block."""
    tracking = [part for part in net.modules() if isinstance(part, _BatchNorm) and part.track_running_stats]
    for part in tracking:
        part.track_running_stats = False
    try:
        yield
    finally:
        for part in tracking:
            part.track_running_stats = True


def _of_length(directions: Tensor, length: float) -> Tensor:
    """Return the same directions (n, F), scaled to a root mean square of `length`; 0 stays 0."""
    scaled: Tensor = functional.normalize(directions, dim=1) * (length * directions.shape[1] ** 0.5)
    return scaled
