"""The one training loop of all networks that learn from few labels."""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from common.errors import ErrorCode, OstrakaError
from common.learning.average import Average
from common.learning.checkpoint import Checkpoint, fingerprint
from common.learning.data import Labelled
from common.learning.draws import Draws
from common.learning.learning import History, Learning, Look
from common.learning.objective import Objective, Step
from common.learning.scalars import Scalars
from common.learning.validation import evaluate
from common.learning.watch import Watch

Progress = Callable[[int, int], None]
"""Told how many steps are done, and of how many."""
_WARM = 0.05
"""Part of the steps in which the rate rises."""
_TOLD = 10
"""Steps between two calls of progress."""


def learn(
    net: nn.Module,
    objective: Objective,
    labelled: Labelled,
    unlabeled: NDArray[np.float32] | None,
    validation: Labelled | None,
    learning: Learning,
    *,
    seed: int,
    progress: Progress | None = None,
    checkpoint: Path | None = None,
    log: Path | None = None,
) -> History:
    """Trains `net`, which is left on its device in evaluation mode with the weights that are kept.

    These are the averaged ones at the end, unless at an earlier look they were better on the validation
    records by more than chance explains (docs/students.md). The same data and seed give the same weights on
    one machine's CPU, also where the training was killed and went on from its checkpoint.

    Args:
        net: of scaled flat rows to logits.
        objective: the algorithm.
        labelled: scaled records, at least one.
        unlabeled: scaled records, float32 (M, F); None where there are none.
        validation: scaled records that are not learned from, on which the network is looked at.
        learning: how long and how fast.
        seed: of batches, views and mixtures.
        progress: told every few steps.
        checkpoint: file in which the training is kept at every look and from which the same training goes
            on; removed when it is done.
        log: folder of TensorBoard's event files.

    Raises:
        OstrakaError: `data.too_few` for no labelled records, `model.diverged` where a loss is no number,
            `config.invalid` where a device or TensorBoard is missing.
    """
    if len(labelled) == 0:
        raise OstrakaError(ErrorCode.DATA_TOO_FEW, "There are no labelled records to learn from: label some.")
    course = _Course(net, objective, labelled, unlabeled, validation, learning, seed)
    kept = Checkpoint(
        checkpoint, fingerprint(net, objective, labelled, unlabeled, validation, learning, seed)
    )
    scalars = Scalars(log)
    try:
        course.run(kept, scalars, progress or (lambda done, total: None))
    finally:
        scalars.close()
    kept.remove()
    return course.finish()


class _Course:
    """One training under way."""

    def __init__(
        self,
        net: nn.Module,
        objective: Objective,
        labelled: Labelled,
        unlabeled: NDArray[np.float32] | None,
        validation: Labelled | None,
        learning: Learning,
        seed: int,
    ) -> None:
        device = learning.place
        self.learning, self._objective, self._device = learning, objective, device
        self._mixed = learning.mixed
        self.net = net.to(device).train()
        self.optimizer = torch.optim.AdamW(
            net.parameters(), lr=learning.learning_rate, weight_decay=learning.weight_decay, fused=True
        )
        self.average = Average(net, learning.ema)
        self.random = torch.Generator(device).manual_seed(seed)
        X = torch.from_numpy(np.ascontiguousarray(labelled.X)).to(device)
        self._labelled = X, torch.from_numpy(labelled.targets(_outputs(net, X))).to(device)
        self._unlabeled = X[:0] if unlabeled is None else torch.from_numpy(unlabeled).to(device)
        self.draws = Draws(len(X), learning.batch_size, self.random)
        pool_batch = learning.batch_size * learning.unlabeled_ratio
        self.pool_draws = Draws(len(self._unlabeled), pool_batch, self.random)
        self.watch = Watch(validation, learning.patience, device)
        self.done = 0
        self.losses = torch.zeros((), device=device)

    def run(self, kept: Checkpoint, scalars: Scalars, progress: Progress) -> None:
        """All steps that are left."""
        kept.restore(self)
        total = self.learning.steps
        pace = math.ceil(total / self.learning.evaluations)
        while self.done < total and not self.watch.enough:
            self._step(Step(self.done, total, self.random))
            self.done += 1
            if self.done % pace == 0 or self.done == total:
                self._look(self.done % pace or pace, scalars)
                kept.save(self)
            if self.done % _TOLD == 0:
                progress(self.done, total)
        progress(total, total)

    def finish(self) -> History:
        """Leaves the network as it is to be kept."""
        kept = self.watch.keep(self.average.net)
        self.net.load_state_dict(self.average.net.state_dict())
        self.net.eval()
        return History(tuple(self.watch.looks), kept)

    def _step(self, step: Step) -> None:
        rows, pool = self.draws.draw(), self.pool_draws.draw()
        self._set_rate(step)
        X, targets = self._labelled
        with torch.autocast(self._device.type, torch.bfloat16, self._mixed):
            loss = self._objective.loss(self.net, (X[rows], targets[rows]), self._unlabeled[pool], step)
        self.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        self.average.follow(step.number)
        self.losses += loss.detach()
        if self.done % _TOLD == 0:
            self._require_number()

    def _set_rate(self, step: Step) -> None:
        warm = max(1, round(_WARM * step.total))
        rise = min(1.0, (step.number + 1) / warm)
        fall = (1 + math.cos(math.pi * step.number / step.total)) / 2
        for group in self.optimizer.param_groups:
            group["lr"] = self.learning.learning_rate * rise * fall

    def _look(self, steps: int, scalars: Scalars) -> None:
        """Looks at the averaged network, whose last `steps` losses are summed up."""
        self._require_number()
        look = Look(self.done, float(self.losses) / steps, self.watch.look(self.average.net, self.done))
        self.watch.looks.append(look)
        self.losses.zero_()
        scalars.add(look)

    def _require_number(self) -> None:
        if not torch.isfinite(self.losses):
            raise OstrakaError(
                ErrorCode.MODEL_DIVERGED,
                f"The student's loss was no number by step {self.done + 1}: train it again with a smaller "
                "learning rate, and check that features are on one scale.",
            )


def _outputs(net: nn.Module, X: Tensor) -> int:
    return evaluate(net, X[:1]).shape[1]
