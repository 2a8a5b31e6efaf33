"""An encoder for tests: it inverts the first feature."""

import torch
from torch import nn


def turned() -> nn.Module:
    network = nn.Linear(2, 2)
    with torch.no_grad():
        network.weight.copy_(torch.tensor([[-1.0, 0.0], [0.0, 1.0]]))
        network.bias.copy_(torch.tensor([1.0, 0.0]))
    return network
