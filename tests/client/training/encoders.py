"""A public network for tests: it adds up features in pairs."""

import torch
from torch import nn


def pairs() -> nn.Module:
    network = nn.Linear(4, 2, bias=False)
    with torch.no_grad():
        network.weight.copy_(torch.tensor([[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]]))
    return network
