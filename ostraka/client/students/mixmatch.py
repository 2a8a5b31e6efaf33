"""The student that learns by MixMatch (Berthelot et al. 2019): guessed labels, and mixtures of records.

Dziedzic et al. 2023 (section 5.2) use a multi-label form without describing it. Here, a guess averages each
label's own probability over the views and is sharpened per label; it also replaces the missing labels of
labelled records. docs/students.md says why.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from ostraka.client.students.minimizer import Minimizer
from ostraka.common.datasets.label_columns import UNKNOWN
from ostraka.common.learning.augmentation import Augmentation
from ostraka.common.learning.learning import Learning
from ostraka.common.learning.objective import Objective, TrainingStep, losses, probabilities, ramp


@dataclass(eq=False, repr=False, kw_only=True)
class MixMatch(Minimizer):
    """A network that learns from mixtures of labelled records and records whose labels it guesses."""

    default_learning = Learning(steps=3000)

    guesses: int = 2
    """Number of views that a guess averages over."""
    temperature: float = 0.5
    """Temperature of sharpening; 1 leaves guesses as they are."""
    mixing: float = 0.75
    """Both parameters of the Beta distribution of a mixture's weights."""
    weight: float = 1.0
    """Weight of the loss of guesses after the ramp."""
    ramp: float = 0.25
    """Fraction of all steps over which that weight grows from 0."""

    def objective(self, views: Augmentation, *, multi_label: bool) -> Objective:
        """Return MixMatch's loss, for classes or labels."""
        return MixMatchObjective(
            views, multi_label, self.guesses, self.temperature, self.mixing, self.weight, self.ramp
        )


@dataclass(frozen=True)
class MixMatchObjective:
    """Cross-entropy of mixed labelled records, squared error of mixed guesses.

    Attributes:
        views: augmentation of the records.
        multi_label: whether outputs are labels, not classes.

    The other fields are parameters of `MixMatch`.
    """

    views: Augmentation
    multi_label: bool = False
    guesses: int = 2
    temperature: float = 0.5
    mixing: float = 0.75
    weight: float = 1.0
    ramp: float = 0.25

    def loss(
        self, net: nn.Module, labelled: tuple[Tensor, Tensor], unlabeled: Tensor, step: TrainingStep
    ) -> Tensor:
        """Return the loss of the mixtures."""
        x, targets = labelled
        views = [self.views.weak(unlabeled, step.random) for _ in range(self.guesses)]
        weak = self.views.weak(x, step.random)
        known = targets >= 0
        rows = torch.cat([weak, *views])
        believed = self._guess(net, rows, targets)
        mixed, beliefs = mix(rows, believed, self.mixing, step.random)
        logits = net(mixed)
        answers = torch.where(known, beliefs[: len(x)], UNKNOWN)
        supervised = losses(logits[: len(x)], answers, multi_label=self.multi_label).mean()
        guessed = torch.cat([~known, known.new_ones(len(rows) - len(x), known.shape[1])])
        return supervised + self.weight * ramp(step, self.ramp) * self._guess_loss(logits, beliefs, guessed)

    def _guess(self, net: nn.Module, rows: Tensor, targets: Tensor) -> Tensor:
        """Return targets of labelled rows, and guesses for unknown labels and for views of unlabeled rows."""
        records = len(targets)
        with torch.no_grad():
            likely = probabilities(net(rows), multi_label=self.multi_label)
        of_views = torch.stack(likely[records:].chunk(self.guesses)).mean(dim=0)
        guessed = torch.cat([likely[:records], of_views.repeat(self.guesses, 1)])
        guessed = sharpen(guessed, self.temperature, multi_label=self.multi_label)
        guessed[:records] = torch.where(targets >= 0, targets, guessed[:records])
        return guessed

    def _guess_loss(self, logits: Tensor, beliefs: Tensor, guessed: Tensor) -> Tensor:
        """Return the mean squared distance between predictions and what was `guessed`; 0 if nothing was.

        The distance is between the vectors of all classes' probabilities, or between the two of each label.
        """
        error = (probabilities(logits, multi_label=self.multi_label) - beliefs) ** 2
        outcomes = 2 if self.multi_label else error.shape[1]
        return outcomes * (error * guessed).sum() / guessed.sum().clamp(min=1)


def sharpen(likely: Tensor, temperature: float, *, multi_label: bool) -> Tensor:
    """Raise probabilities (n, outputs) to 1/temperature, normalised over classes, or over each label's
    two."""
    # Probabilities of 0 and 1 have no finite logit, and 0 has no logarithm.
    if multi_label:
        return torch.sigmoid(torch.logit(likely, eps=1e-6) / temperature)
    return torch.softmax(likely.clamp(min=1e-12).log() / temperature, dim=1)


def mix(rows: Tensor, targets: Tensor, mixing: float, random: torch.Generator) -> tuple[Tensor, Tensor]:
    """Mix each row (n, F) and its targets (n, outputs) with another's; its own weight is at least half."""
    others = torch.randperm(len(rows), generator=random, device=rows.device)
    weights = _beta(len(rows), mixing, random).to(rows)[:, None]
    own = torch.maximum(weights, 1 - weights)
    return torch.lerp(rows[others], rows, own), torch.lerp(targets[others], targets, own)


def _beta(draws: int, both: float, random: torch.Generator) -> Tensor:
    """Return draws of a Beta distribution, (draws,); torch has no generator for it, so NumPy's is seeded."""
    seed = torch.randint(2**62, (1,), generator=random, device=random.device)
    return torch.from_numpy(np.random.default_rng(int(seed)).beta(both, both, draws))
