"""The student that doubts labels anew in every round.

Tang et al. 2022, section 4.3.3; DivideMix and Aug-Descent.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional

from ostraka.client.students.label_dp.co_training import CoTrainingCheckpoint, CoTrainingTurn, turns
from ostraka.client.students.label_dp.learners import require_one_label
from ostraka.client.students.label_dp.mixing_loss import Descent
from ostraka.client.students.minimizer import Minimizer
from ostraka.client.students.neural import Features, Progress
from ostraka.common.learning.augmentation import Augmentation
from ostraka.common.learning.checkpoint import Checkpoint, fingerprint
from ostraka.common.learning.data import Labelled
from ostraka.common.learning.early_stopping import evaluate
from ostraka.common.learning.learning import Learning, TrainingHistory
from ostraka.common.learning.loop import learn
from ostraka.common.learning.networks import network
from ostraka.common.learning.objective import Objective, SupervisedObjective

Floats = NDArray[np.float64]

MIN_VARIANCE = 5e-4
"""Added to both variances, of losses scaled to [0, 1]; DivideMix's value."""


def probability_right(losses: Floats, seed: int = 0) -> Floats:
    """Probability that each label is right, (N,), by a mixture of two Gaussians of the losses.

    A network fits right labels first: the component of the smaller mean is theirs (DivideMix, section 3.1).
    Where all losses are the same there is nothing to divide: every label counts as right.

    Args:
        losses: of every record with its own label, (N,), N at least 2, finite.
        seed: of the mixture's start.
    """
    from sklearn.mixture import GaussianMixture

    low = float(losses.min())
    high = float(losses.max())
    if high <= low:
        return np.ones(len(losses))
    scaled = ((losses - low) / (high - low))[:, None]
    mixture = GaussianMixture(2, max_iter=50, reg_covar=MIN_VARIANCE, random_state=seed).fit(scaled)
    responsibilities: Floats = mixture.predict_proba(scaled)
    return responsibilities[:, int(mixture.means_.argmin())]


LIKELY = 0.5
"""Probability from which a label is taken for right."""


@dataclass(eq=False, repr=False, kw_only=True)
class AugDescent(Minimizer):
    """LDP-Aug-Descent: two networks in turn, each told by the other which labels are likely right.

    A round divides the labels by a mixture of two Gaussians of their losses, and learns the likely ones,
    refined, and guesses for the rest, sharpened, in mixed strong views. There are two networks, as in
    DivideMix: one that divides for itself confirms its own mistakes. The first one is kept. Labels that are
    known to be right (`error` 0) are always likely; how often the others are wrong is not used. Steps of
    `learning` are those of both networks together.
    """

    default_learning = Learning(steps=4000, batch_size=64, unlabeled_ratio=1)

    rounds: int = 4
    """How often labels are divided anew for each network."""
    weight: float = 5.0
    """Weight of the guessed records' loss in the last round; it grows from round to round."""

    def objective(self, views: Augmentation, *, multi_label: bool) -> Objective:
        """Return what the first steps minimise, while no label is doubted yet."""
        require_one_label("aug-descent", multi_label=multi_label)
        return SupervisedObjective(views)

    def train(
        self,
        net: nn.Module,
        views: Augmentation,
        labelled: Labelled,
        pool: Features,
        validation: Labelled | None,
        *,
        progress: Progress | None = None,
        checkpoint: Path | None = None,
        log: Path | None = None,
    ) -> TrainingHistory:
        """As every student; the checkpoint holds both networks after every turn."""
        learning = self.learning or self.default_learning
        nets = net, self._second(net, pool)
        objective = self.objective(views, multi_label=labelled.multi_label)
        training = fingerprint(net, objective, labelled, pool, validation, learning, self.seed)
        kept = CoTrainingCheckpoint(Checkpoint(checkpoint, f"{training} {self.rounds} {self.weight}"))
        made, looks = kept.restore(nets)
        for turn in list(turns(learning.steps, self.rounds))[made:]:
            one = nets[turn.number % 2]
            other = nets[1 - turn.number % 2]
            history = learn(
                one,
                *self._lesson(turn, other, views, labelled, pool),
                validation,
                replace(learning, steps=turn.steps, evaluations=1),
                seed=self.seed + turn.number,
                progress=turn.overall(progress),
                log=None if log is None else log / f"turn-{turn.number}",
            )
            if one is net:
                looks += [replace(look, step=look.step + turn.done) for look in history.looks]
            kept.save(turn, nets, looks)
        kept.remove()
        return TrainingHistory(tuple(looks), looks[-1].step)

    def _second(self, net: nn.Module, pool: Features) -> nn.Module:
        shape = self.shape or (pool.shape[1],)
        return network(shape, _outputs(net, pool), self.network, seed=self.seed + 1)

    def _lesson(
        self, turn: CoTrainingTurn, other: nn.Module, views: Augmentation, labelled: Labelled, pool: Features
    ) -> tuple[Objective, Labelled, Features]:
        """Return what a network minimises in a turn, and over which records."""
        if turn.round == 0:
            return self.objective(views, multi_label=False), Labelled(labelled.X, labelled.y), pool
        learning = self.learning or self.default_learning
        right = _probability_right(other.to(learning.place), labelled, learning.place, self.seed)
        likely = right >= min(LIKELY, right.max())
        known = Labelled(labelled.X[likely], labelled.y[likely], 1 - right[likely])
        prior = np.bincount(labelled.y, minlength=_outputs(other, pool)) / len(labelled)
        doubted = np.ones(len(pool), np.bool_)
        doubted[: len(labelled)] = ~likely
        weight = self.weight * turn.round / self.rounds
        return Descent(views, other, weight, tuple(prior.tolist())), known, pool[doubted]


def _probability_right(
    net: nn.Module, labelled: Labelled, device: torch.device, seed: int
) -> NDArray[np.float32]:
    """How likely each label is right by a network's losses, float32 (N,); 1 where it is known to be."""
    logits = evaluate(net, torch.from_numpy(labelled.X).to(device)).cpu()
    losses = functional.cross_entropy(logits, torch.from_numpy(labelled.y), reduction="none")
    right = probability_right(losses.double().numpy(), seed).astype(np.float32)
    return right if labelled.error is None else np.where(labelled.error == 0, np.float32(1), right)


def _outputs(net: nn.Module, pool: Features) -> int:
    device = next(net.parameters()).device
    return evaluate(net, torch.from_numpy(pool[:1]).to(device)).shape[1]
