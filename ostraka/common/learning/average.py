"""Weights averaged over the steps of a training."""

import copy

import torch
from torch import Tensor, nn


class MovingAverage:
    """A network whose weights follow another's, each step a little."""

    def __init__(self, net: nn.Module, decay: float) -> None:
        """Start as the network is; `decay` is the part of the average that a step keeps in the end."""
        self.net = copy.deepcopy(net)
        """The average."""
        self._decay = decay
        self._own, self._owned = _numbers(self.net), _numbers(net)
        self._counts = list(zip(_counts(self.net), _counts(net), strict=True))

    @torch.no_grad()
    def follow(self, step: int) -> None:
        """Move towards the network after a step, counted from 0: keep less in the first ones."""
        decay = min(self._decay, (1 + step) / (10 + step))
        torch._foreach_lerp_(self._own, self._owned, 1 - decay)
        for own, count in self._counts:
            own.copy_(count)


def _numbers(net: nn.Module) -> list[Tensor]:
    return [value for value in _state(net) if value.is_floating_point()]


def _counts(net: nn.Module) -> list[Tensor]:
    return [value for value in _state(net) if not value.is_floating_point()]


def _state(net: nn.Module) -> list[Tensor]:
    return [value.detach() for value in (*net.parameters(), *net.buffers())]
