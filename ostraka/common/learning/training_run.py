"""What accompanies a training: progress reports, the checkpoint file, and curves for TensorBoard."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning.learning import Look

Progress = Callable[[int, int], None]
"""Called with the number of steps done, and the total."""


@dataclass(frozen=True)
class TrainingRun:
    """How a training is run; nothing here changes what is learned.

    Attributes:
        progress: called with the number of steps done, and the total.
        checkpoint: file in which the training is saved until it is done, so that the same training can
            resume; None: it is not saved.
        log: folder of TensorBoard's event files; None: none are written.
    """

    progress: Progress = lambda done, total: None
    checkpoint: Path | None = None
    log: Path | None = None


UNWATCHED = TrainingRun()
"""A run without progress reports and files."""


class Scalars:
    """Event files in a folder; without a folder nothing is written."""

    def __init__(self, folder: Path | None) -> None:
        """Open the folder; raise `config.invalid` if that fails, or if TensorBoard is not installed."""
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
