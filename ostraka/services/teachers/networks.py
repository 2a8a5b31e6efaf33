"""Built-in networks, small enough for slices of tens to hundreds of records."""

from collections.abc import Callable, Mapping
from typing import TypeVar

import torch
from torch import Tensor, nn

from ostraka.common.learning.factories import invalid_model
from ostraka.common.learning.precision import LogitLayer
from ostraka.common.learning.shape import Axes, image_axes

HIDDEN = 128
"""Units of the hidden layer: more would only overfit a slice of some hundred records."""
CHANNELS = 16
"""Channels of the first convolution, and half of those of the others: few, like `HIDDEN`."""
SQUARE_HIDDEN = 64
"""Units that square: squares are the cost of encrypted evaluation, so there are few."""
SQUARE_CHANNELS = 8
"""Channels of the convolution that squares, few for the same reason."""
STAGES = (16, 32, 64)
"""Channels of a resnet's stages; every stage after the first halves the image."""
NORMALISED = 8
"""Number of channel groups that a resnet normalises per record: small batches have no useful mean, and a
record's vote must not depend on the other records of the batch."""
_LARGE_SIDE = 16
"""Minimum side, in pixels, for a stride in the first convolution: a quarter of the work, with enough
positions left."""
_CONSTANT = 1e-6
"""Standard deviation, relative to the mean, up to which values count as equal."""


L = TypeVar("L", nn.Linear, nn.Conv2d)


class Scaler(nn.Module):
    """Scales a teacher's own slice to mean 0 and deviation 1; constant features become 0."""

    mean: Tensor
    factor: Tensor

    def __init__(self, shape: tuple[int, ...]) -> None:
        """Start as the identity: one scale per column of a table, or a single one for a tensor."""
        super().__init__()
        size = shape if len(shape) == 1 else (1,) * len(shape)
        self.register_buffer("mean", torch.zeros(size))
        self.register_buffer("factor", torch.ones(size))

    def fit(self, X: Tensor) -> None:
        """Use mean and deviation of records (N, *shape)."""
        axes = 0 if X.dim() == 2 else tuple(range(X.dim()))
        # In float32, sums over a whole slice would lose digits.
        values = X.double()
        mean = values.mean(axes).reshape(self.mean.shape)
        deviation = values.std(axes, correction=0).reshape(self.mean.shape)
        self.mean.copy_(mean)
        self.factor.copy_(torch.where(deviation > _CONSTANT * mean.abs(), 1 / deviation, 0.0))

    def forward(self, X: Tensor) -> Tensor:
        """Return scaled records, in their shape."""
        return (X - self.mean) * self.factor


class AsImages(nn.Module):
    """Converts records of an image's shape to (Q, channels, height, width)."""

    def __init__(self, axes: Axes) -> None:
        super().__init__()
        self._axes = axes

    def forward(self, X: Tensor) -> Tensor:
        """Return the same values, channels first."""
        channels, height, width, last = self._axes
        return X.movedim(-1, 1) if last else X.reshape(-1, channels, height, width)


class Square(nn.Module):
    """The square of every value: the activation function of encrypted evaluation."""

    def forward(self, X: Tensor) -> Tensor:
        """Return squares, in their shape."""
        return X * X


class Residual(nn.Module):
    """Two convolutions whose output is added to their input, which is converted to the same shape."""

    def __init__(self, before: int, channels: int, stride: int) -> None:
        """Take the input's channels, the output's channels, and the stride."""
        super().__init__()
        self._change = nn.Sequential(
            nn.Conv2d(before, channels, 3, stride=stride, padding=1, bias=False),
            nn.GroupNorm(NORMALISED, channels),
            nn.ReLU(),
            nn.Conv2d(channels, channels, 3, padding=1, bias=False),
            nn.GroupNorm(NORMALISED, channels),
        )
        same = before == channels and stride == 1
        self._input = nn.Identity() if same else nn.Conv2d(before, channels, 1, stride=stride, bias=False)

    def forward(self, X: Tensor) -> Tensor:
        """Map images (Q, before, height, width) to (Q, channels, height / stride, width / stride)."""
        changed: Tensor = (self._change(X) + self._input(X)).relu()
        return changed


def logistic(shape: tuple[int, ...], classes: int) -> nn.Module:
    """Build multinomial logistic regression."""
    return nn.Sequential(nn.Flatten(), LogitLayer(torch.Size(shape).numel(), classes))


def mlp(shape: tuple[int, ...], classes: int) -> nn.Module:
    """Build a network with one hidden layer of `HIDDEN` units."""
    features = torch.Size(shape).numel()
    return nn.Sequential(nn.Flatten(), nn.Linear(features, HIDDEN), nn.ReLU(), LogitLayer(HIDDEN, classes))


def square_mlp(shape: tuple[int, ...], classes: int) -> nn.Module:
    """Build a network with one hidden layer of `SQUARE_HIDDEN` units that square."""
    first = _gentle(nn.Linear(torch.Size(shape).numel(), SQUARE_HIDDEN))
    return nn.Sequential(nn.Flatten(), first, Square(), LogitLayer(SQUARE_HIDDEN, classes))


def cnn(shape: tuple[int, ...], classes: int) -> nn.Module:
    """Build a network of three convolutions and a linear layer; stride 2 for images from 16 pixels.

    Raises:
        OstrakaError: `model.invalid` for records that are not images of at least 4 by 4.
    """
    axes = _images("cnn", shape)
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
    return _with_linear(convolutions, shape, classes)


def resnet(shape: tuple[int, ...], classes: int) -> nn.Module:
    """Build a residual network of seven convolutions in three stages, averaged (He et al., 2016).

    Raises:
        OstrakaError: `model.invalid` for records that are not images of at least 4 by 4.
    """
    axes = _images("resnet", shape)
    first = nn.Conv2d(axes.channels, STAGES[0], 3, padding=1)
    widths = zip((STAGES[0], *STAGES[:-1]), STAGES, (1, 2, 2), strict=True)
    stages = (Residual(before, channels, stride) for before, channels, stride in widths)
    average = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())
    return nn.Sequential(AsImages(axes), first, *stages, average, LogitLayer(STAGES[-1], classes))


def square_cnn(shape: tuple[int, ...], classes: int) -> nn.Module:
    """Build a network of one convolution that squares, pooling, and a linear layer; stride to about 8 by 8.

    Raises:
        OstrakaError: `model.invalid` for records that are not images of at least 4 by 4.
    """
    axes = _images("square-cnn", shape)
    side = min(axes.height, axes.width)
    stride = max(1, side // 8)
    kernel = 5 if side >= _LARGE_SIDE else 3
    convolution = _gentle(nn.Conv2d(axes.channels, SQUARE_CHANNELS, kernel, stride=stride))
    squares = nn.Sequential(
        AsImages(axes), convolution, Square(), nn.AvgPool2d(2, ceil_mode=True), nn.Flatten()
    )
    return _with_linear(squares, shape, classes)


def _images(model: str, shape: tuple[int, ...]) -> Axes:
    """Return the axes of images of at least 4 by 4; raise `model.invalid` for other records."""
    axes = image_axes(shape)
    if axes is None or min(axes.height, axes.width) < 4:
        raise invalid_model(
            model, f"takes images of at least 4 by 4, and the task's records are of shape {shape}"
        )
    return axes


def _with_linear(features: nn.Module, shape: tuple[int, ...], classes: int) -> nn.Module:
    with torch.no_grad():
        width = features(torch.zeros(1, *shape)).shape[1]
    return nn.Sequential(features, LogitLayer(width, classes))


def _gentle(layer: L) -> L:
    """Divide the layer's initial weights by three, so squares are hardly above one."""
    with torch.no_grad():
        layer.weight.mul_(1 / 3)
    return layer


BUILDERS: Mapping[str, Callable[[tuple[int, ...], int], nn.Module]] = {
    "logistic": logistic,
    "mlp": mlp,
    "cnn": cnn,
    "resnet": resnet,
    "square-mlp": square_mlp,
    "square-cnn": square_cnn,
}
