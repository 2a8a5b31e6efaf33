"""The student that learns by virtual adversarial training (Miyato et al. 2018).

No small change of a record may change its label.
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
"""Length of the first guess of a perturbation, per value in deviations: small, but no rounding error."""


@dataclass(eq=False, repr=False, kw_only=True)
class Vat(Minimizer):
    """VAT: a network trained to keep its prediction for an unlabeled record under small changes."""

    default_learning = Learning(steps=3000)

    radius: float = 0.25
    """Length of a change, as the root mean square of a record's values in deviations."""
    iterations: int = 1
    """Iterations of the search for the worst change."""
    weight: float = 1.0
    """Weight of what the worst change makes of a record."""
    certainty: float = 0.5
    """Weight of the entropy of what the network says of unlabeled records."""
    ramp: float = 0.25
    """Part of all steps over which both weights grow from 0."""

    @classmethod
    def defaults(cls, device: str = AUTO) -> Learning:
        """Return a third of the steps where there is no GPU; docs/students.md says what all of them gain."""
        learning = super().defaults(device)
        return learning if learning.place.type != CPU else replace(learning, steps=learning.steps // 3)

    def objective(self, views: Augmentation, *, multi_label: bool) -> Objective:
        """Virtual adversarial training's loss, with minimal entropy."""
        return VatObjective(
            views, multi_label, self.radius, self.iterations, self.weight, self.certainty, self.ramp
        )


@dataclass(frozen=True)
class VatObjective:
    """Cross-entropy of labelled records; smoothness around, and certainty at, unlabeled ones.

    A length is the root mean square of a record's values, in deviations: it means the same for any number.

    Attributes:
        views: of the records; of both kinds, for a network soon tells views from records as they are and
            says anything of what it has no labels of.
        multi_label: whether outputs are labels, not classes.
        ramp: who is sure early is wrong for long; this and the rest are parameters of `Vat`.
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
        """Return the loss of the labelled records plus the weighted ones of the unlabeled."""
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
        """Probabilities in the batch and precision of the search, which otherwise finds that difference."""
        with without_tracking(net), torch.autocast(x.device.type, enabled=False):
            return probabilities(net(x), multi_label=self.multi_label)

    def perturbation(self, net: nn.Module, x: Tensor, said: Tensor, random: torch.Generator) -> Tensor:
        """Find the perturbation (n, F) of x (n, F) that changes `said` most, by power iteration on the
        divergence.

        Each is of length `radius`. Parameters and statistics of the network stay as they are.
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
    """Kullback-Leibler divergence (n,) of what `logits` (n, outputs) say from probabilities `said`.

    Of labels it is the mean over the labels' divergences.
    """
    entropy = -torch.xlogy(said, said)
    if not multi_label:
        return losses(logits.float(), said, multi_label=False) - entropy.sum(dim=1)
    entropy = entropy - torch.xlogy(1 - said, 1 - said)
    return losses(logits.float(), said, multi_label=True) - entropy.mean(dim=1)


@contextmanager
def without_tracking(net: nn.Module) -> Iterator[None]:
    """Within it, records pass through the network without a trace in its batch statistics."""
    tracking = [part for part in net.modules() if isinstance(part, _BatchNorm) and part.track_running_stats]
    for part in tracking:
        part.track_running_stats = False
    try:
        yield
    finally:
        for part in tracking:
            part.track_running_stats = True


def _of_length(directions: Tensor, length: float) -> Tensor:
    """Return the same directions (n, F), each with a root mean square of `length`; 0 stays 0."""
    scaled: Tensor = functional.normalize(directions, dim=1) * (length * directions.shape[1] ** 0.5)
    return scaled
