"""Factories of networks that DP-SGD can and cannot train."""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn


def grouped(shape: tuple[int, ...], classes: int) -> nn.Module:
    inputs = int(np.prod(shape))
    return nn.Sequential(
        nn.Linear(inputs, 16), nn.GroupNorm(4, 16), nn.Tanh(), nn.Dropout(0.1), nn.Linear(16, classes)
    )


class Scaled(nn.Module):
    """A layer that Opacus has no rule for."""

    def __init__(self, features: int, classes: int, dropped: float = 0.0) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(features))
        self.dropout = nn.Dropout(dropped)
        self.last = nn.Linear(features, classes)

    def forward(self, X: Tensor) -> Tensor:
        out: Tensor = self.last(self.dropout(X * self.scale))
        return out


def scaled(shape: tuple[int, ...], classes: int) -> nn.Module:
    return Scaled(shape[0], classes)


def scaled_by_chance(shape: tuple[int, ...], classes: int) -> nn.Module:
    return Scaled(shape[0], classes, dropped=0.2)


def normalised(shape: tuple[int, ...], classes: int) -> nn.Module:
    return nn.Sequential(nn.Linear(shape[0], 8), nn.BatchNorm1d(8), nn.Linear(8, classes))


def normalised_without_weights(shape: tuple[int, ...], classes: int) -> nn.Module:
    layer = nn.BatchNorm1d(8, affine=False, track_running_stats=False)
    return nn.Sequential(nn.Linear(shape[0], 8), layer, nn.Linear(8, classes))


class Centred(nn.Module):
    """Subtracts the mean of the batch, during training only."""

    def forward(self, X: Tensor) -> Tensor:
        return X - X.mean(dim=0) if self.training else X


def centred(shape: tuple[int, ...], classes: int) -> nn.Module:
    return nn.Sequential(Centred(), nn.Linear(shape[0], classes))


class Remembering(nn.Module):
    """Keeps the last record that it saw."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.last: Any
        self.register_buffer("last", torch.zeros(features))

    def forward(self, X: Tensor) -> Tensor:
        if self.training:
            self.last = X[-1].detach().clone()
        return X


def remembering(shape: tuple[int, ...], classes: int) -> nn.Module:
    return nn.Sequential(Remembering(shape[0]), nn.Linear(shape[0], classes))


class Idle(nn.Module):
    """Has a weight that it does not use."""

    def __init__(self, features: int, classes: int) -> None:
        super().__init__()
        self.used, self.idle = nn.Linear(features, classes), nn.Linear(features, classes)

    def forward(self, X: Tensor) -> Tensor:
        out: Tensor = self.used(X)
        return out


def idle(shape: tuple[int, ...], classes: int) -> nn.Module:
    return Idle(shape[0], classes)


def frozen(shape: tuple[int, ...], classes: int) -> nn.Module:
    return nn.Linear(shape[0], classes).requires_grad_(False)
