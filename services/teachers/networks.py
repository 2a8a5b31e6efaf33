"""Built-in networks, small enough for slices of tens to hundreds of records."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import torch
from torch import Tensor, nn

from services.teachers.factory import invalid_model

HIDDEN = 128
CHANNELS = 16
_LARGE_SIDE = 16
_CONSTANT = 1e-6
"""Deviation, as a part of the mean, up to which values count as equal."""


class Axes(NamedTuple):
    """How one record is an image, whichever axis its channels are on."""

    channels: int
    height: int
    width: int
    channels_last: bool


def image_axes(shape: tuple[int, ...]) -> Axes | None:
    """The axes of images (height, width), (channels, height, width) or (height, width, channels), else None.

    Channels are last where the last axis is the shortest of three.
    """
    if len(shape) == 2:
        return Axes(1, shape[0], shape[1], False)
    if len(shape) != 3:
        return None
    if shape[2] < min(shape[:2]):
        return Axes(shape[2], shape[0], shape[1], True)
    return Axes(shape[0], shape[1], shape[2], False)


class Scaler(nn.Module):
    """Maps a teacher's own slice to mean 0 and deviation 1; what is constant in it becomes 0."""

    mean: Tensor
    factor: Tensor

    def __init__(self, shape: tuple[int, ...]) -> None:
        """Starts as the identity: per column of a table, one for all values of a tensor."""
        super().__init__()
        size = shape if len(shape) == 1 else (1,) * len(shape)
        self.register_buffer("mean", torch.zeros(size))
        self.register_buffer("factor", torch.ones(size))

    def fit(self, X: Tensor) -> None:
        """Takes mean and deviation of records (N, *shape)."""
        axes = 0 if X.dim() == 2 else tuple(range(X.dim()))
        mean, deviation = (part.reshape(self.mean.shape) for part in _moments(X.double(), axes))
        self.mean.copy_(mean)
        self.factor.copy_(torch.where(deviation > _CONSTANT * mean.abs(), 1 / deviation, 0.0))

    def forward(self, X: Tensor) -> Tensor:
        """Scaled records, in their shape."""
        return (X - self.mean) * self.factor


def _moments(X: Tensor, axes: int | tuple[int, ...]) -> tuple[Tensor, Tensor]:
    return X.mean(axes), X.std(axes, correction=0)


class AsImages(nn.Module):
    """Turns records of an image's shape into (Q, channels, height, width)."""

    def __init__(self, axes: Axes) -> None:
        """Takes where the channels are."""
        super().__init__()
        self._axes = axes

    def forward(self, X: Tensor) -> Tensor:
        """The same values, channels first."""
        channels, height, width, last = self._axes
        return X.movedim(-1, 1) if last else X.reshape(-1, channels, height, width)


def logistic(shape: tuple[int, ...], classes: int) -> nn.Module:
    """Multinomial logistic regression."""
    return nn.Sequential(nn.Flatten(), nn.Linear(torch.Size(shape).numel(), classes))


def mlp(shape: tuple[int, ...], classes: int) -> nn.Module:
    """One hidden layer of `HIDDEN` units."""
    features = torch.Size(shape).numel()
    return nn.Sequential(nn.Flatten(), nn.Linear(features, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, classes))


def cnn(shape: tuple[int, ...], classes: int) -> nn.Module:
    """Three convolutions and a linear layer; the first strides over images of 16 pixels and more.

    Raises:
        OstrakaError: `model.invalid` for records that are no images of at least 4 by 4.
    """
    axes = image_axes(shape)
    if axes is None or min(axes.height, axes.width) < 4:
        raise invalid_model(
            "cnn", f"takes images of at least 4 by 4, and the task's records are of shape {shape}"
        )
    stride = 2 if min(axes.height, axes.width) >= _LARGE_SIDE else 1
    convolutions = nn.Sequential(
        AsImages(axes),
        nn.Conv2d(axes.channels, CHANNELS, 5, stride=stride, padding=2),
        nn.ReLU(),
        nn.Conv2d(CHANNELS, 2 * CHANNELS, 3, padding=0 if stride == 2 else 1),
        nn.MaxPool2d(2),
        nn.ReLU(),
        nn.Conv2d(2 * CHANNELS, 2 * CHANNELS, 3, padding=0 if stride == 2 else 1),
        nn.ReLU(),
        nn.Flatten(),
    )
    with torch.no_grad():
        features = convolutions(torch.zeros(1, *shape)).shape[1]
    return nn.Sequential(convolutions, nn.Linear(features, classes))


BUILDERS: Mapping[str, Callable[[tuple[int, ...], int], nn.Module]] = {
    "logistic": logistic,
    "mlp": mlp,
    "cnn": cnn,
}
