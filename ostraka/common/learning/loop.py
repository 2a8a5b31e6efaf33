"""The one training loop of all networks that learn from few labels, and its curves for TensorBoard."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning.checkpoint import Checkpoint, fingerprint
from ostraka.common.learning.data import Labelled
from ostraka.common.learning.learning import Learning, Look, TrainingHistory
from ostraka.common.learning.objective import Objective
from ostraka.common.learning.training_run import TrainingRun


class Scalars:
    """Event files in a folder; without one nothing is written."""

    def __init__(self, folder: Path | None) -> None:
        """Open the folder; raise `config.invalid` where it cannot, or TensorBoard is not installed."""
        self._writer: Any = None if folder is None else _writer(folder)

    def add(self, look: Look) -> None:
        """Write a look's loss and error."""
        if self._writer is None:
            return
        self._writer.add_scalar("loss", look.loss, look.step)
        if look.error is not None:
            self._writer.add_scalar("validation_error", look.error, look.step)

    def close(self) -> None:
        """Close the files."""
        if self._writer is not None:
            self._writer.close()


def _writer(folder: Path) -> Any:
    try:
        from torch.utils.tensorboard.writer import SummaryWriter
    except ImportError as exc:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            "Logs are written by TensorBoard, which is not installed: pip install 'ostraka[tensorboard]', or "
            "learn without a log.",
        ) from exc
    try:
        return SummaryWriter(str(folder))
    except OSError as exc:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            f"Cannot write logs into {folder} ({exc.strerror}): name another folder.",
        ) from exc


Progress = Callable[[int, int], None]
"""Told how many steps are done, and of how many."""
_REPORTED = 10
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
) -> TrainingHistory:
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
            `config.invalid` where a device or TensorBoard is missing, or a file cannot be written.
    """
    if len(labelled) == 0:
        raise OstrakaError(ErrorCode.DATA_TOO_FEW, "There are no labelled records to learn from: label some.")
    training = fingerprint(net, objective, labelled, unlabeled, validation, learning, seed)
    run = TrainingRun(net, objective, labelled, unlabeled, validation, learning, seed)
    kept = Checkpoint(checkpoint, training)
    scalars = Scalars(log)
    try:
        _run(run, kept, scalars, progress or _silent)
    finally:
        scalars.close()
    kept.remove()
    return run.finish()


def _run(run: TrainingRun, kept: Checkpoint, scalars: Scalars, progress: Progress) -> None:
    """All steps that are left."""
    stood = kept.read()
    if stood is not None:
        run.resume(stood)
    while not run.over:
        run.step()
        if run.pausing:
            scalars.add(run.look())
            kept.save(run.state())
        if run.done % _REPORTED == 0:
            progress(run.done, run.total)
    progress(run.total, run.total)


def _silent(done: int, total: int) -> None:
    """Tells nobody."""
