"""The student Aug-Descent, which decides in every round which labels are probably wrong.

Tang et al. 2022, section 4.3.3; DivideMix and Aug-Descent.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional

from ostraka.client.students.label_dp.learners import require_one_label
from ostraka.client.students.label_dp.mixing_loss import Descent
from ostraka.client.students.minimizer import Minimizer
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning.augmentation import Augmentation, augmentation
from ostraka.common.learning.checkpoint import Checkpoint, State
from ostraka.common.learning.data import Labelled
from ostraka.common.learning.early_stopping import evaluate
from ostraka.common.learning.learning import Learning, Look, TrainingHistory
from ostraka.common.learning.lesson import Lesson
from ostraka.common.learning.loop import learn
from ostraka.common.learning.networks import network
from ostraka.common.learning.objective import Objective, SupervisedObjective
from ostraka.common.learning.training_run import UNWATCHED, TrainingRun

Floats = NDArray[np.float64]

MIN_VARIANCE = 5e-4
"""Added to both variances of losses that are scaled to [0, 1]; DivideMix's value."""


def probability_right(losses: Floats, seed: int = 0) -> Floats:
    """Return the probability that each label is right, (N,), from a mixture of two Gaussians of the losses.

    A network fits right labels first, so they are the component with the smaller mean (DivideMix, section
    3.1). If all losses are equal, every label counts as right.

    Args:
        losses: loss of every record with its own label, (N,), N at least 2, finite.
        seed: initializes the mixture.
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
"""Probability from which a label counts as right."""


WARM_UP = 0.25
"""Fraction of the steps before labels are doubted."""


@dataclass(frozen=True)
class CoTrainingTurn:
    """Consecutive steps of one network while the other one waits.

    Attributes:
        number: index of the turn, from 0; even turns are the first network's.
        steps: number of steps.
        done: steps of both networks before it.
        total: steps of both networks in all turns.
    """

    number: int
    steps: int
    done: int
    total: int

    @property
    def round(self) -> int:
        """How many times the labels were divided for this network; 0 in the warm-up."""
        return self.number // 2

    def run_of(self, whole: TrainingRun) -> TrainingRun:
        """Return the turn's share of the whole training; the checkpoint is written after each turn."""
        return TrainingRun(
            progress=lambda done, _: whole.progress(self.done + done, self.total),
            log=None if whole.log is None else whole.log / f"turn-{self.number}",
        )


def turns(steps: int, rounds: int) -> Iterator[CoTrainingTurn]:
    """Yield a warm-up and `rounds` turns of both networks, with about `steps` in all, one per turn or more.

    Raises `config.invalid` if `rounds` is below 1.
    """
    if rounds < 1:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID, f"The student aug-descent needs at least 1 round, not {rounds}."
        )
    warm = max(1, round(WARM_UP * steps / 2))
    each = max(1, (steps // 2 - warm) // rounds)
    lengths = [length for length in (warm, *[each] * rounds) for _ in range(2)]
    for number, length in enumerate(lengths):
        yield CoTrainingTurn(number, length, sum(lengths[:number]), sum(lengths))


class CoTrainingCheckpoint:
    """A checkpoint with both networks, saved after each turn."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        """Take the checkpoint, which may be without a file."""
        self._checkpoint = checkpoint

    def save(self, turn: CoTrainingTurn, nets: tuple[nn.Module, nn.Module], looks: list[Look]) -> None:
        """Save both networks after a turn."""
        notes = {"turns": turn.number + 1, "looks": [asdict(look) for look in looks]}
        parts = {str(row): net.state_dict() for row, net in enumerate(nets)}
        self._checkpoint.save(State(notes, parts))

    def restore(self, nets: tuple[nn.Module, nn.Module]) -> tuple[int, list[Look]]:
        """Restore both networks from the checkpoint; return the number of turns made, and the looks."""
        stood = self._checkpoint.read()
        if stood is None:
            return 0, []
        for row, net in enumerate(nets):
            net.load_state_dict(stood.parts[str(row)])
            net.eval()
        return int(stood.notes["turns"]), [Look(**look) for look in stood.notes["looks"]]

    def remove(self) -> None:
        """Remove the checkpoint of a completed training."""
        self._checkpoint.remove()


@dataclass(eq=False, repr=False, kw_only=True)
class AugDescent(Minimizer):
    """LDP-Aug-Descent: two networks train in turn; each one decides which labels are right for the other.

    A round divides the labels by a mixture of two Gaussians of their losses. It learns from the probable
    labels, refined, and from guesses for the others, sharpened, in mixed strong views. There are two
    networks, as in DivideMix, because a network that divides for itself confirms its own mistakes. The first
    one is the result. Labels that are known to be right (`error` 0) always count as probable; the error rates
    of other labels are not used. The steps in `learning` are those of both networks together.
    """

    default_learning = Learning(steps=4000, batch_size=64, unlabeled_ratio=1)

    rounds: int = 4
    """How often labels are divided for each network."""
    weight: float = 5.0
    """Weight of the loss of guesses in the last round; it grows with each round."""

    def objective(self, views: Augmentation, *, multi_label: bool) -> Objective:
        """Return the loss of the warm-up, in which no label is doubted."""
        require_one_label("aug-descent", multi_label=multi_label)
        return SupervisedObjective(views)

    def train(self, net: nn.Module, lesson: Lesson, run: TrainingRun = UNWATCHED) -> TrainingHistory:
        """Train as every student does; the checkpoint has both networks after every turn."""
        nets = net, self._second(lesson.labelled)
        training = f"{lesson.fingerprint(net)} {self.rounds} {self.weight}"
        kept = CoTrainingCheckpoint(Checkpoint(run.checkpoint, training))
        made, looks = kept.restore(nets)
        for turn in list(turns(lesson.learning.steps, self.rounds))[made:]:
            one = nets[turn.number % 2]
            other = nets[1 - turn.number % 2]
            history = learn(one, self._lesson_of(turn, lesson, other), turn.run_of(run))
            if one is net:
                looks += [replace(look, step=look.step + turn.done) for look in history.looks]
            kept.save(turn, nets, looks)
        kept.remove()
        return TrainingHistory(tuple(looks), looks[-1].step)

    def _second(self, labelled: Labelled) -> nn.Module:
        """Return a network with other initial weights than the student's own."""
        shape = self.shape or (labelled.X.shape[1],)
        return network(shape, self._outputs(labelled), self.network, seed=self.seed + 1)

    def _lesson_of(self, turn: CoTrainingTurn, whole: Lesson, other: nn.Module) -> Lesson:
        """Return what a network learns in a turn: the labels that the `other` network considers right."""
        labelled = whole.labelled
        lesson = replace(
            whole,
            labelled=Labelled(labelled.X, labelled.y),
            learning=replace(whole.learning, steps=turn.steps, evaluations=1),
            seed=self.seed + turn.number,
        )
        if turn.round == 0:
            return lesson
        pool = np.asarray(whole.unlabeled)
        device = whole.learning.place
        right = _probability_right(other.to(device), labelled, device, self.seed)
        likely = right >= min(LIKELY, right.max())
        doubted = np.ones(len(pool), np.bool_)
        doubted[: len(labelled)] = ~likely
        return replace(
            lesson,
            objective=self._descent(turn, labelled, other),
            labelled=Labelled(labelled.X[likely], labelled.y[likely], 1 - right[likely]),
            unlabeled=pool[doubted],
        )

    def _descent(self, turn: CoTrainingTurn, labelled: Labelled, other: nn.Module) -> Descent:
        """Return the loss of turns in which labels are doubted."""
        prior = np.bincount(labelled.y, minlength=self._outputs(labelled)) / len(labelled)
        views = augmentation(self.shape or (labelled.X.shape[1],))
        return Descent(views, other, self.weight * turn.round / self.rounds, tuple(prior.tolist()))


def _probability_right(
    net: nn.Module, labelled: Labelled, device: torch.device, seed: int
) -> NDArray[np.float32]:
    """Return the probability that each label is right, by losses, float32 (N,); 1 if known to be right."""
    logits = evaluate(net, torch.from_numpy(labelled.X).to(device)).cpu()
    losses = functional.cross_entropy(logits, torch.from_numpy(labelled.y), reduction="none")
    right = probability_right(losses.double().numpy(), seed).astype(np.float32)
    return right if labelled.error is None else np.where(labelled.error == 0, np.float32(1), right)
