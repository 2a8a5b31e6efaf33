"""Networks with per-record gradients: no batch normalisation."""

import torch
from torch import nn

SIDE = 28  # of MNIST's images, in pixels


def linear(features: int, outputs: int) -> nn.Module:
    """Build logistic regression that starts at 0."""
    layer = nn.Linear(features, outputs)
    nn.init.zeros_(layer.weight)
    nn.init.zeros_(layer.bias)
    return layer


def tanh_cnn(features: int, outputs: int) -> nn.Module:
    """Build two convolutions with tanh for flat 28 by 28 images, the small network of Papernot et al.
    2021."""
    return nn.Sequential(
        nn.Unflatten(1, (1, SIDE, SIDE)),
        nn.Conv2d(1, 16, 8, stride=2, padding=2),
        nn.Tanh(),
        nn.MaxPool2d(2, 1),
        nn.Conv2d(16, 32, 4, stride=2),
        nn.Tanh(),
        nn.MaxPool2d(2, 1),
        nn.Flatten(),
        nn.Linear(32 * 4 * 4, 32),
        nn.Tanh(),
        nn.Linear(32, outputs),
    )


def loss_of(logits: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Return the mean over records of cross-entropy: of class indices (N,), or summed over labels (N, k)."""
    if y.ndim == 1:
        return nn.functional.cross_entropy(logits, y)
    each = nn.functional.binary_cross_entropy_with_logits(logits, y.to(logits.dtype), reduction="none")
    return each.sum(dim=1).mean()
