"""Networks of students: small enough to train in minutes on two cores."""

from typing import Literal

import torch
from torch import Tensor, nn

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning.factories import build_model, factory_of, invalid_model, is_factory, words_of
from ostraka.common.learning.precision import LogitLayer
from ostraka.common.learning.shape import Axes, Shape, picture_axes

Kind = Literal["auto", "linear", "mlp", "cnn", "small-mlp", "small-cnn"]
DTYPES = (torch.float32, torch.int64)
"""Types of a network's weights, and of its counts of batches."""
HIDDEN = 256
"""Units of a hidden layer: with `CHANNELS` small enough for two cores to train it in minutes."""
CHANNELS = (32, 32, 64)
SMALL_HIDDEN = 64
"""Units of the hidden layer of "small-mlp": noise on gradients grows with the root of the parameters."""
SMALL_CHANNELS = (16, 32)
"""Channels of the convolutions of "small-cnn", chosen for the same reason."""
_LARGE_SIDE = 16
"""Pixels from which the first convolution strides: smaller images, pooled twice, would shrink to a pixel."""


class RowsAsImages(nn.Module):
    """Turns flat rows into images (n, channels, height, width), laid out for the fastest convolutions."""

    def __init__(self, axes: Axes) -> None:
        super().__init__()
        self._axes = axes

    def forward(self, X: Tensor) -> Tensor:
        """Return the same values, channels first."""
        channels, height, width, last = self._axes
        if last:
            return X.reshape(-1, height, width, channels).movedim(-1, 1)
        images = X.reshape(-1, channels, height, width)
        return images.contiguous(memory_format=torch.channels_last)


def network(shape: Shape, outputs: int, kind: str = "auto", *, seed: int = 0) -> nn.Module:
    """Make a network from scaled flat rows (n, F) to logits (n, outputs), with first weights from `seed`.

    Args:
        shape: shape of one record: (F,), (height, width) or three axes with the channels first or last.
        outputs: number of classes, or of labels.
        kind: "mlp" for tables, "cnn" for images; "auto" selects one of these by the shape; "linear" for
            logistic regression; "small-mlp" and "small-cnn" treat every record separately, as sums of clipped
            gradients require; or a factory "module:function" that this process was asked to import.
        seed: seed of the first weights.

    Raises:
        OstrakaError: `model.invalid` for a cnn of records that are not images, and as in `_own`.
    """
    if is_factory(kind):
        return _own(kind, shape, outputs, seed)
    axes = picture_axes(shape)
    if kind in ("cnn", "small-cnn") and axes is None:
        raise OstrakaError(
            ErrorCode.MODEL_INVALID,
            f"A cnn takes images of at least 8 by 8, and records are of shape {shape}: take the mlp.",
        )
    if kind == "linear":
        return _linear(torch.Size(shape).numel(), outputs)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if kind == "small-mlp":
            return _small_mlp(torch.Size(shape).numel(), outputs)
        if kind == "small-cnn" and axes is not None:
            return _small_cnn(axes, outputs)
        return _cnn(axes, outputs) if axes and kind != "mlp" else _mlp(torch.Size(shape).numel(), outputs)


def _own(name: str, shape: Shape, outputs: int, seed: int) -> nn.Module:
    """Turn a factory's network, which takes records of their shape, (n, *shape), into one of flat rows.

    Raises `model.invalid` if the factory fails, or if its result is not a network from such records to finite
    logits (n, outputs) of single precision.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        made = build_model(name, factory_of(name), tuple(shape), outputs)
        if not isinstance(made, nn.Module):
            raise invalid_model(name, "gave no torch module")
        net = nn.Sequential(nn.Unflatten(1, tuple(shape)), made)
        try:
            with torch.no_grad():
                logits = net.eval()(torch.zeros(2, torch.Size(shape).numel()))
        except Exception as exc:
            raise invalid_model(name, f"cannot take records of shape {shape} ({words_of(exc)})") from exc
    whole = logits.shape == (2, outputs) and logits.isfinite().all()
    if not whole or any(value.dtype not in DTYPES for value in net.state_dict().values()):
        raise invalid_model(name, f"does not give {outputs} finite logits of single precision a record")
    return net.train()


def _linear(features: int, outputs: int) -> nn.Module:
    """Make a single layer, with weights of 0."""
    layer = LogitLayer(features, outputs)
    for weights in layer.parameters():
        nn.init.zeros_(weights)
    return layer


def _mlp(features: int, outputs: int) -> nn.Module:
    """Make a network with two hidden layers."""
    return nn.Sequential(*_dense(features, HIDDEN), *_dense(HIDDEN, HIDDEN), LogitLayer(HIDDEN, outputs))


def _small_mlp(features: int, outputs: int) -> nn.Module:
    """Make a network with one hidden layer."""
    return nn.Sequential(nn.Linear(features, SMALL_HIDDEN), nn.ReLU(), LogitLayer(SMALL_HIDDEN, outputs))


def _small_cnn(axes: Axes, outputs: int) -> nn.Module:
    """Make a network of two convolutions and a linear layer."""
    first, second = SMALL_CHANNELS
    features = nn.Sequential(
        RowsAsImages(axes),
        *(nn.Conv2d(axes.channels, first, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(first, second, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        nn.Flatten(),
    )
    with torch.no_grad():
        width = features(torch.zeros(1, axes.channels * axes.height * axes.width)).shape[1]
    return nn.Sequential(features, LogitLayer(width, outputs))


def _dense(before: int, after: int) -> tuple[nn.Module, ...]:
    return nn.Linear(before, after, bias=False), nn.BatchNorm1d(after), nn.ReLU()


def _cnn(axes: Axes, outputs: int) -> nn.Module:
    """Make three convolutions and a linear layer; the first strides over images of 16 pixels and more."""
    first, second, third = CHANNELS
    large = min(axes.height, axes.width) >= _LARGE_SIDE
    features = nn.Sequential(
        RowsAsImages(axes),
        *_convolution(axes.channels, first, 5, stride=2 if large else 1),
        *_convolution(first, second, 3, pooled=True),
        *_convolution(second, third, 3, pooled=True),
        nn.Flatten(),
    )
    with torch.no_grad():
        # In evaluation mode, so that these zeros do not affect the statistics of batches.
        width = features.eval()(torch.zeros(1, axes.channels * axes.height * axes.width)).shape[1]
    net = nn.Sequential(features, LogitLayer(width, outputs))
    return net.train().to(memory_format=torch.channels_last)  # type: ignore[call-overload, no-any-return]


def _convolution(
    before: int, after: int, side: int, *, stride: int = 1, pooled: bool = False
) -> tuple[nn.Module, ...]:
    """Make a convolution that is normalised after pooling, when only a quarter of the values is left."""
    convolution = nn.Conv2d(before, after, side, stride=stride, padding=side // 2, bias=False)
    pool = (nn.MaxPool2d(2),) if pooled else ()
    return convolution, *pool, nn.BatchNorm2d(after), nn.ReLU()
