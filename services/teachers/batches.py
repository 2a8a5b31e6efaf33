"""What a network is shown in each training step."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from services.teachers.config import TrainingConfig
from services.teachers.networks import Axes
from services.teachers.slices import Slice

MAX_BATCH = 32
MIN_STEPS = 100
"""Steps below which networks of small slices stay far from what they can learn."""
EPOCHS: Mapping[str, int] = {
    "logistic": 60,
    "mlp": 60,
    "cnn": 30,
    "square-mlp": 60,
    "square-cnn": 30,
}
FACTORY_EPOCHS = 30
SHIFT_OF_SIDE = 1 / 14


@dataclass(frozen=True)
class Schedule:
    """Steps of training, from slice sizes alone: the same for all teachers of a party.

    Attributes:
        steps: how many.
        batch: records in each.
        shift: pixels by which images move, at most.
    """

    steps: int
    batch: int
    shift: int

    @classmethod
    def of(cls, sizes: Sequence[int], model: str, axes: Axes | None, config: TrainingConfig) -> "Schedule":
        """Batches of up to `MAX_BATCH` records so that the mean slice is seen as often as configured.

        A slice smaller than the batch comes more than once in it.
        """
        batch = min(MAX_BATCH, sum(sizes) // len(sizes))
        pace = math.ceil(sum(sizes) / len(sizes) / batch)
        steps = max(MIN_STEPS, EPOCHS.get(model, FACTORY_EPOCHS) * pace)
        side = min(axes.height, axes.width) if axes else 0
        shift = round(side * SHIFT_OF_SIDE) if config.shift is None else config.shift
        return cls(config.epochs * pace if config.epochs else steps, batch, shift)


def batches(
    slices: Sequence[Slice], schedule: Schedule, axes: Axes | None, device: torch.device
) -> Iterator[tuple[Tensor, Tensor]]:
    """Each step's records (teachers, batch, *shape) and y (teachers, batch, ...), every teacher's own."""
    drawn = [_draw(part, schedule) for part in slices]
    rows = torch.from_numpy(np.stack([draw[0] for draw in drawn], axis=1)).to(device)
    X, y = _padded([part.X for part in slices], device), _padded([part.y for part in slices], device)
    teachers = torch.arange(len(slices), device=device)[:, None]
    if axes is None or schedule.shift == 0:
        for step in rows:
            yield X[teachers, step], y[teachers, step]
        return
    moves = torch.from_numpy(np.stack([draw[1] for draw in drawn], axis=1)).to(device)
    images = _bordered(X, axes, schedule.shift)
    for step, move in zip(rows, moves, strict=True):
        yield _moved(images, step, move, axes).reshape(*step.shape, *X.shape[2:]), y[teachers, step]


def _draw(part: Slice, schedule: Schedule) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows (steps, batch), one permutation of the slice after another, and image moves (steps, batch, 2)."""
    random = np.random.default_rng(part.entropy)
    total = schedule.steps * schedule.batch
    passes = [random.permutation(len(part.y)) for _ in range(math.ceil(total / len(part.y)))]
    moves = random.integers(0, 2 * schedule.shift + 1, (schedule.steps, schedule.batch, 2))
    return np.concatenate(passes)[:total].reshape(schedule.steps, schedule.batch), moves


def _padded(parts: Sequence[NDArray[np.float32] | NDArray[np.int64]], device: torch.device) -> Tensor:
    """Slices stacked to the length of the longest; what is added is never drawn."""
    return torch.nn.utils.rnn.pad_sequence([torch.from_numpy(part) for part in parts], True).to(device)


def _bordered(X: Tensor, axes: Axes, shift: int) -> Tensor:
    """Images (teachers, N, channels, height, width), edge pixels repeated `shift` times outwards."""
    images = X.movedim(-1, 2) if axes.channels_last else X
    images = images.reshape(-1, axes.channels, axes.height, axes.width)
    bordered = functional.pad(images, (shift,) * 4, mode="replicate")
    return bordered.reshape(*X.shape[:2], *bordered.shape[1:])


def _moved(images: Tensor, rows: Tensor, moves: Tensor, axes: Axes) -> Tensor:
    """Each drawn image cut out at its move; in the records' own order of axes."""
    teachers, batch = rows.shape
    device = images.device
    cut = images[
        torch.arange(teachers, device=device).view(-1, 1, 1, 1, 1),
        rows.view(teachers, batch, 1, 1, 1),
        torch.arange(axes.channels, device=device).view(-1, 1, 1),
        (moves[..., :1] + torch.arange(axes.height, device=device)).view(teachers, batch, 1, -1, 1),
        (moves[..., 1:] + torch.arange(axes.width, device=device)).view(teachers, batch, 1, 1, -1),
    ]
    return cut.movedim(2, -1) if axes.channels_last else cut
