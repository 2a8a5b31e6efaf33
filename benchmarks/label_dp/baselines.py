"""Label-DP students by other authors: ALIBI (Malek et al. 2021), LP-MST with mixup (Ghazi et al. 2021)."""

from dataclasses import dataclass, field, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ostraka.client.students.mixmatch import mix
from ostraka.client.students.supervised import Supervised
from ostraka.common.learning.augmentation import Augmentation
from ostraka.common.learning.data import Labelled
from ostraka.common.learning.learning import Learning, TrainingHistory
from ostraka.common.learning.lesson import Lesson
from ostraka.common.learning.objective import Objective, TrainingStep, losses
from ostraka.common.learning.shape import Shape
from ostraka.common.learning.training_run import UNWATCHED, TrainingRun

MIXING = 4.0
"""Both parameters of the Beta distribution of mixup's weights; Ghazi et al. use several values."""


@dataclass(frozen=True, eq=False)
class Evidence(Labelled):
    """Records whose targets are the likelihoods of their classes.

    Attributes:
        likelihoods: log-likelihoods up to a constant per row, float32 (N, classes).
    """

    likelihoods: NDArray[np.float32] = field(kw_only=True, repr=False)

    def targets(self, classes: int) -> NDArray[np.float32]:
        """Return the likelihoods."""
        return self.likelihoods


@dataclass(frozen=True)
class BayesObjective:
    """Cross-entropy of weak views with the posterior, whose prior is the network's own prediction.

    Its gradient is that of -log sum_c p_c L_c, the negative log-likelihood of the evidence.

    Attributes:
        views: augmentation of the records.
    """

    views: Augmentation

    def loss(
        self, net: nn.Module, labelled: tuple[Tensor, Tensor], unlabeled: Tensor, step: TrainingStep
    ) -> Tensor:
        """Return the mean loss; targets are log-likelihoods."""
        x, likelihoods = labelled
        logits = net(self.views.weak(x, step.random))
        posterior = torch.softmax(logits.detach() + likelihoods, dim=1)
        return losses(logits, posterior, multi_label=False).mean()


class Alibi(Supervised):
    """ALIBI: a network that learns from noisy one-hot labels by Bayes' rule, as post-processing.

    Args:
        likelihoods: log-likelihoods of the classes given each record's noisy label, (N, classes).
        shape: as `Neural`, and so are `classes`, `network`, `learning` and `seed`.
        classes: see `shape`.
        network: see `shape`.
        learning: see `shape`.
        seed: see `shape`.
    """

    def __init__(
        self,
        likelihoods: NDArray[np.float64],
        shape: Shape | None = None,
        classes: int | None = None,
        *,
        network: str = "auto",
        learning: Learning | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(shape, classes, network=network, learning=learning, seed=seed)
        self.likelihoods = likelihoods

    def objective(self, views: Augmentation, *, multi_label: bool) -> Objective:
        """Return the objective that applies Bayes' rule in every step."""
        return BayesObjective(views)

    def train(self, net: nn.Module, lesson: Lesson, run: TrainingRun = UNWATCHED) -> TrainingHistory:
        """Train as every student does, from the likelihoods; the labels only determine the classes."""
        likelihoods = self.likelihoods.astype(np.float32)
        known = Evidence(lesson.labelled.X, lesson.labelled.y, likelihoods=likelihoods)
        return super().train(net, replace(lesson, labelled=known), run)


@dataclass(frozen=True)
class MixupObjective:
    """Cross-entropy of mixed weak views with mixed labels (mixup; Zhang et al. 2018).

    Attributes:
        views: augmentation of the records.
    """

    views: Augmentation

    def loss(
        self, net: nn.Module, labelled: tuple[Tensor, Tensor], unlabeled: Tensor, step: TrainingStep
    ) -> Tensor:
        """Return the mean loss of the mixtures."""
        x, targets = labelled
        mixed, believed = mix(self.views.weak(x, step.random), targets, MIXING, step.random)
        return losses(net(mixed), believed, multi_label=False).mean()


class Mixup(Supervised):
    """The student of LP-1ST and of both stages of LP-2ST."""

    def objective(self, views: Augmentation, *, multi_label: bool) -> Objective:
        """Return mixup's loss."""
        return MixupObjective(views)
