"""A network that learns digits in few steps of plain gradient descent, as joint training does."""

import torch
from torch import nn

from ostraka.common.learning.shape import image_axes
from ostraka.services.teachers.networks import AsImages

MODEL = "benchmarks.heterogeneity.quick:quick"
CHANNELS = 8  # few, so ten teachers train in minutes on two cores


def quick(shape: tuple[int, ...], classes: int) -> nn.Module:
    """Build two convolutions and a linear layer, with per-record normalisation between them."""
    axes = image_axes(shape)
    assert axes is not None
    layers = nn.Sequential(
        AsImages(axes),
        nn.GroupNorm(1, axes.channels, affine=False),
        nn.Conv2d(axes.channels, CHANNELS, 5, stride=2, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.GroupNorm(4, CHANNELS, affine=False),
        nn.Conv2d(CHANNELS, 4 * CHANNELS, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.GroupNorm(1, 4 * CHANNELS, affine=False),
        nn.Flatten(),
    )
    with torch.no_grad():
        width = layers(torch.zeros(1, *shape)).shape[1]
    return nn.Sequential(layers, nn.Linear(width, classes))
