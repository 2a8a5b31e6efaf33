"""The training loop of all networks that learn from few labels."""

import math

import numpy as np
import torch
from torch import Tensor, nn

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning.checkpoint import Checkpoint, State
from ostraka.common.learning.device import Device
from ostraka.common.learning.device_failures import device_failures
from ostraka.common.learning.early_stopping import EarlyStopping, evaluate
from ostraka.common.learning.learning import Look, TrainingHistory
from ostraka.common.learning.lesson import Lesson
from ostraka.common.learning.objective import TrainingStep
from ostraka.common.learning.optimization import AdamW, MovingAverage
from ostraka.common.learning.training_run import UNWATCHED, Progress, Scalars, TrainingRun


class Draws:
    """Records in a new random order for every pass; a batch may span two passes."""

    def __init__(self, records: int, batch: int, random: torch.Generator) -> None:
        self._records = records
        self._batch = batch
        self._random = random
        self.left = torch.empty(0, dtype=torch.int64, device=random.device)
        """Indices of this pass that were not drawn yet."""

    def draw(self) -> Tensor:
        """Draw the next batch's indices, int64 (batch,); none if there are no records."""
        while self._records and len(self.left) < self._batch:
            order = torch.randperm(self._records, generator=self._random, device=self._random.device)
            self.left = torch.cat([self.left, order])
        drawn = self.left[: self._batch]
        self.left = self.left[self._batch :]
        return drawn


_CHECKED = 10
"""Steps between two checks whether the losses are numbers; each check waits for the GPU."""


class Training:
    """A network, what it learns from, and its progress.

    Attributes:
        done: number of steps so far; `total` are planned.
    """

    def __init__(self, net: nn.Module, lesson: Lesson) -> None:
        learning = lesson.learning
        unlabeled = lesson.unlabeled
        device = learning.place
        self.done = 0
        self.total = learning.steps
        self._pace = math.ceil(learning.steps / learning.evaluations)
        self._learning = learning
        self._objective = lesson.objective
        self._device = device
        self._mixed = learning.mixed
        self._net = net.to(device).train()
        self._optimizer = AdamW(net.parameters(), learning.weight_decay)
        self._average = MovingAverage(net, learning.ema)
        self._seed = lesson.seed
        self._random = torch.Generator(device).manual_seed(lesson.seed)
        X = torch.from_numpy(np.ascontiguousarray(lesson.labelled.X)).to(device)
        outputs = evaluate(net, X[:1]).shape[1]
        self._labelled = X, torch.from_numpy(lesson.labelled.targets(outputs)).to(device)
        self._unlabeled = X[:0] if unlabeled is None else torch.from_numpy(unlabeled).to(device)
        self._draws = Draws(len(X), learning.batch_size, self._random)
        pool_batch = learning.batch_size * learning.unlabeled_ratio
        self._pool_draws = Draws(len(self._unlabeled), pool_batch, self._random)
        self._stopping = EarlyStopping(lesson.validation, learning.patience, device)
        self._losses = torch.zeros((), device=device)
        """Sum since the last look."""

    @property
    def over(self) -> bool:
        """Whether the training has ended."""
        return self.done == self.total or self._stopping.enough

    @property
    def pausing(self) -> bool:
        """Whether the network must be evaluated now."""
        return self.done % self._pace == 0 or self.done == self.total

    def step(self) -> None:
        """Make one step; raise `model.diverged` if losses are no longer numbers, a few steps late."""
        step = TrainingStep(self.done, self.total, self._random)
        rows = self._draws.draw()
        pool = self._pool_draws.draw()
        X, targets = self._labelled
        with torch.autocast(self._device.type, torch.bfloat16, self._mixed):
            loss = self._objective.loss(self._net, (X[rows], targets[rows]), self._unlabeled[pool], step)
        self._optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self._optimizer.step(self._learning.rate(step.number, step.total))
        self._average.follow(step.number)
        self._losses += loss.detach()
        self.done += 1
        if self.done % _CHECKED == 0:
            self._require_number()

    def look(self) -> Look:
        """Evaluate the averaged network."""
        self._require_number()
        steps = self.done % self._pace or self._pace
        error = self._stopping.look(self._average.net, self.done)
        look = Look(self.done, float(self._losses) / steps, error)
        self._stopping.looks.append(look)
        self._losses.zero_()
        return look

    def finish(self) -> TrainingHistory:
        """Give the network its final weights, and return the history."""
        kept = self._stopping.keep(self._average.net)
        self._net.load_state_dict(self._average.net.state_dict())
        self._net.eval()
        return TrainingHistory(tuple(self._stopping.looks), kept)

    def state(self) -> State:
        """Return everything that changes in a training, just after a look."""
        notes, watched = self._stopping.state()
        left = {"labelled": self._draws.left, "unlabeled": self._pool_draws.left}
        parts = {
            "net": self._net.state_dict(),
            "average": self._average.net.state_dict(),
            "random": {"state": self._random.get_state()},
            "left": left,
            "optimizer": self._optimizer.tensors(),
        }
        return State({"done": self.done, "watch": notes}, parts | watched)

    def resume(self, state: State) -> None:
        """Restore a training's state, on whatever device it was."""
        self.done = state.notes["done"]
        self._net.load_state_dict(state.parts["net"])
        self._average.net.load_state_dict(state.parts["average"])
        self._restore_random(state.parts["random"]["state"])
        self._draws.left = state.parts["left"]["labelled"].to(self._random.device)
        self._pool_draws.left = state.parts["left"]["unlabeled"].to(self._random.device)
        self._optimizer.restore(state.parts["optimizer"])
        self._stopping.resume(state.notes["watch"], state.parts)

    def _restore_random(self, stood: Tensor) -> None:
        """Restore the generator's state; if it is from another kind of device, reseed by seed and step."""
        if len(stood) == len(self._random.get_state()):
            self._random.set_state(stood)
            return
        anew = np.random.SeedSequence((self._seed, self.done)).generate_state(1)
        self._random.manual_seed(int(anew[0]))

    def _require_number(self) -> None:
        if not torch.isfinite(self._losses):
            raise OstrakaError(
                ErrorCode.MODEL_DIVERGED,
                f"The student's loss was not a number by step {self.done}: train it again with a smaller "
                "learning rate, and check that features are on one scale.",
            )


_REPORTED = 10
"""Steps between two calls of progress."""


def learn(net: nn.Module, lesson: Lesson, run: TrainingRun = UNWATCHED) -> TrainingHistory:
    """Train `net`, and leave it on its device in evaluation mode with its final weights.

    These are the averaged ones at the end, unless at an earlier look they were better on the validation
    records by more than chance explains (docs/students.md). The same data and seed give the same weights on
    one machine's CPU, even if the training was killed and resumed from its checkpoint. A training that was
    begun on another kind of device resumes, too, but draws other batches from then on.

    Args:
        net: a network of scaled flat rows to logits.
        lesson: what it learns.
        run: its progress is called every few steps; its checkpoint is written at every look, and removed at
            the end.

    Raises:
        OstrakaError: `data.too_few` without labelled records, `model.diverged` if a loss is not a number,
            `device.missing`, `device.full`, `config.invalid` if TensorBoard is missing, or a file cannot be
            written.
    """
    if len(lesson.labelled) == 0:
        raise OstrakaError(ErrorCode.DATA_TOO_FEW, "There are no labelled records to learn from: label some.")
    kept = Checkpoint(run.checkpoint, lesson.fingerprint(net))
    scalars = Scalars(run.log)
    try:
        with device_failures(Device(lesson.learning.device)):
            training = Training(net, lesson)
            _take_steps(training, kept, scalars, run.progress)
            history = training.finish()
    finally:
        scalars.close()
    kept.remove()
    return history


def _take_steps(training: Training, kept: Checkpoint, scalars: Scalars, progress: Progress) -> None:
    """Take all remaining steps."""
    stood = kept.read()
    if stood is not None:
        training.resume(stood)
    while not training.over:
        training.step()
        if training.pausing:
            scalars.add(training.look())
            kept.save(training.state())
        if training.done % _REPORTED == 0:
            progress(training.done, training.total)
    progress(training.total, training.total)
