"""The network of teachers and students on MNIST in Mühl and Boenisch 2022, Table 1."""

from torch import nn

CHANNELS = 32  # as in Table 1, like the next
HIDDEN = 100  # units of the layer before the last


def network(shape: tuple[int, ...], classes: int) -> nn.Module:
    """Return an untrained network for images (height, width), initialized as in the paper."""
    height, width = (side - 2 for side in shape)
    pooled = CHANNELS * (height // 2) * (width // 2)
    last = nn.Linear(HIDDEN, classes)
    net = nn.Sequential(
        nn.Unflatten(1, (1, shape[0])),
        nn.Conv2d(1, CHANNELS, 3),
        nn.ReLU(),
        nn.BatchNorm2d(CHANNELS),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(pooled, HIDDEN),
        nn.ReLU(),
        nn.BatchNorm1d(HIDDEN),
        last,
    )
    for layer in net:
        if isinstance(layer, nn.Conv2d | nn.Linear):
            nn.init.kaiming_uniform_(layer.weight, nonlinearity="relu")
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
    nn.init.xavier_uniform_(last.weight)
    return net
