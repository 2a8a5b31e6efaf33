"""Curves of a training, readable by TensorBoard."""

from pathlib import Path
from typing import Any

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning.learning import Look


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
