"""Mini-batches of teacher training, with random shifts and rotations of their images."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from ostraka.common.learning.shape import Axes
from ostraka.services.teachers.assignment import Slice
from ostraka.services.teachers.config import TrainingConfig


class TeacherImages:
    """The images of several teachers, from which each step's images are cropped."""

    def __init__(self, X: Tensor, axes: Axes, shift: int) -> None:
        """Take records (teachers, N, *shape); their edge pixels are repeated `shift` times outwards."""
        self._axes = axes
        images = X.movedim(-1, 2) if axes.channels_last else X
        images = images.reshape(-1, axes.channels, axes.height, axes.width)
        bordered = functional.pad(images, (shift,) * 4, mode="replicate")
        windows = bordered.unfold(2, axes.height, 1).unfold(3, axes.width, 1).movedim(1, 3)
        self._windows = windows.view(*X.shape[:2], *windows.shape[1:])
        self._shape = X.shape[2:]

    def cut(self, rows: Tensor, moves: Tensor, turns: Tensor | None) -> Tensor:
        """Crop images (teachers, batch, *shape) of these rows (teachers, batch), then rotate them.

        `moves` (teachers, batch, 2) are rows and columns from the upper left corner of the border; `turns`
        (teachers, batch) degrees.
        """
        teachers = torch.arange(len(rows), device=rows.device)[:, None]
        cut = self._windows[teachers, rows, moves[..., 0], moves[..., 1]]
        if turns is not None:
            cut = turn(cut.flatten(0, 1), turns.flatten()).reshape(cut.shape)
        cut = cut.movedim(2, -1) if self._axes.channels_last else cut
        return cut.reshape(*rows.shape, *self._shape)


def turn(images: Tensor, degrees: Tensor) -> Tensor:
    """Rotate each image (Q, channels, height, width) counter-clockwise about its centre by its degrees.

    Pixels are interpolated; pixels from outside have the colour of the nearest edge.
    """
    height, width = images.shape[-2:]
    angles = torch.deg2rad(degrees)
    cos = angles.cos()
    sin = angles.sin()
    none = torch.zeros_like(angles)
    first = torch.stack([cos, -sin * (height / width), none], dim=1)
    second = torch.stack([sin * (width / height), cos, none], dim=1)
    shape = list(images.shape)
    grid = functional.affine_grid(torch.stack([first, second], dim=1), shape, align_corners=False)
    return functional.grid_sample(images, grid, padding_mode="border", align_corners=False)


MAX_BATCH = 32
"""Maximum records per step: slices have tens to hundreds, and larger steps would leave few steps per
epoch."""
MIN_STEPS = 100
"""Minimum number of steps: with fewer, networks of small slices do not converge."""
EPOCHS: Mapping[str, int] = {
    "logistic": 60,
    "mlp": 60,
    "cnn": 30,
    "square-mlp": 60,
    "square-cnn": 30,
}
FACTORY_EPOCHS = 30
"""Epochs of a factory's network, which is unknown: as many as of the built-in `cnn`."""
SHIFT_OF_SIDE = 1 / 14
"""Fraction of an image's side by which it is shifted: 2 of MNIST's 28 pixels; more would cut off digits."""


@dataclass(frozen=True)
class Schedule:
    """Steps of training, which depend only on slice sizes: the same for all teachers of a party.

    Attributes:
        steps: number of steps.
        batch: records per step.
        pace: steps for one pass over the mean slice.
        shift: maximum shift of images, in pixels.
        rotate: maximum rotation of images in either direction, in degrees.
        held_out: fraction of each slice that is held out.
        patience: number of passes without a lower loss on the held-out records after which training stops.
    """

    steps: int
    batch: int
    pace: int
    shift: int
    rotate: float
    held_out: float
    patience: int

    @classmethod
    def of(cls, sizes: Sequence[int], model: str, axes: Axes | None, config: TrainingConfig) -> "Schedule":
        """Return a schedule with batches of at most `MAX_BATCH` records, by the passes of the mean slice.

        A slice smaller than the batch occurs in it more than once.
        """
        batch = min(MAX_BATCH, sum(sizes) // len(sizes))
        pace = math.ceil(sum(sizes) / len(sizes) / batch)
        steps = max(MIN_STEPS, EPOCHS.get(model, FACTORY_EPOCHS) * pace)
        side = min(axes.height, axes.width) if axes else 0
        shift = round(side * SHIFT_OF_SIDE) if config.shift is None else config.shift
        total = config.epochs * pace if config.epochs else steps
        return cls(total, batch, pace, shift, config.rotate, config.held_out, config.patience)


def batches(
    slices: Sequence[Slice], schedule: Schedule, axes: Axes | None, device: torch.device
) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield each step's records (teachers, batch, *shape) and y (teachers, batch, ...), each teacher's
    own."""
    draws = [_Draws.of(part, schedule) for part in slices]
    rows = _by_step([draw.rows for draw in draws], device)
    X = _pad([part.X for part in slices], device)
    y = _pad([part.y for part in slices], device)
    teachers = torch.arange(len(slices), device=device)[:, None]
    if axes is None or schedule.shift == schedule.rotate == 0:
        for step in rows:
            yield X[teachers, step], y[teachers, step]
        return
    images = TeacherImages(X, axes, schedule.shift)
    moves = _by_step([draw.moves for draw in draws], device)
    turns = _by_step([draw.turns for draw in draws], device) if schedule.rotate else [None] * len(rows)
    for step, move, turn in zip(rows, moves, turns, strict=True):
        yield images.cut(step, move, turn), y[teachers, step]


@dataclass(frozen=True)
class _Draws:
    """The random numbers of one teacher's steps.

    Attributes:
        rows: int64 (steps, batch), consecutive permutations of the slice.
        moves: int64 (steps, batch, 2), shifts of images in pixels.
        turns: float32 (steps, batch), rotations in degrees.
    """

    rows: NDArray[np.int64]
    moves: NDArray[np.int64]
    turns: NDArray[np.float32]

    @classmethod
    def of(cls, part: Slice, schedule: Schedule) -> "_Draws":
        """Draw from the slice's entropy."""
        random = np.random.default_rng(part.entropy)
        shape = (schedule.steps, schedule.batch)
        total = schedule.steps * schedule.batch
        # Do not change the order of draws: a seed would give other teachers.
        passes = [random.permutation(len(part.y)) for _ in range(math.ceil(total / len(part.y)))]
        moves = random.integers(0, 2 * schedule.shift + 1, (*shape, 2))
        turns = random.uniform(-schedule.rotate, schedule.rotate, shape).astype(np.float32)
        return cls(np.concatenate(passes)[:total].reshape(shape), moves, turns)


def _by_step(drawn: Sequence[NDArray[Any]], device: torch.device) -> Tensor:
    """Stack the teachers' draws (steps, batch, ...) to (steps, teachers, batch, ...)."""
    return torch.from_numpy(np.stack(drawn, axis=1)).to(device)


def _pad(parts: Sequence[NDArray[np.float32] | NDArray[np.int64]], device: torch.device) -> Tensor:
    """Stack slices, padded to the longest; the padding is never drawn."""
    return torch.nn.utils.rnn.pad_sequence([torch.from_numpy(part) for part in parts], True).to(device)
