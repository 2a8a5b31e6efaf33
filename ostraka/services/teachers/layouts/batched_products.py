"""Networks of linear layers, each layer one batched matrix product over all networks."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from ostraka.services.teachers.layouts.layers import Chain, Linears, leaves
from ostraka.services.teachers.networks import Scaler, Square

KNOWN = (nn.Linear, nn.ReLU, Square)
"""Layers, and what has no weights and works value by value."""
MIN_ROWS = 32
"""Records from which oneDNN's matrix product was faster than torch's own on a CPU."""


class Products(Chain):
    """Networks of a scaler, linear layers and what works value by value between them."""

    def __init__(self, nets: Sequence[nn.Module]) -> None:
        """Take networks of one architecture; they keep their own weights until `unstack`."""
        self._networks = len(nets)
        scalers, *layers = zip(*(_flat(net) for net in nets), strict=True)
        super().__init__([Linears(same) if isinstance(same[0], nn.Linear) else same[0] for same in layers])
        self._mean = torch.stack([scaler.mean.flatten()[None] for scaler in scalers])
        self._factor = torch.stack([scaler.factor.flatten()[None] for scaler in scalers])
        self._folded: tuple[Tensor, Tensor] | None = None

    def each(self, X: Tensor) -> Tensor:
        """Logits (networks, N, classes) of every network on records of its own, (networks, N, *shape)."""
        return self.run((X.flatten(2) - self._mean) * self._factor)

    def all(self, X: Tensor) -> Tensor:
        """Logits (networks, N, classes) of every network on the same records (N, *shape).

        On a CPU the first layers of all networks, their scalers within, are one product; for evaluation only,
        since weights are taken at the first call.
        """
        if X.device.type != "cpu":
            return self.each(X[None])
        self._folded = self._folded or self._fold()
        values = _product(X.flatten(1), *self._folded)
        return self.run(values.reshape(len(X), self._networks, -1).transpose(0, 1), done=1)

    @torch.no_grad()
    def _fold(self) -> tuple[Tensor, Tensor]:
        """Weights (networks * outputs, features) and biases of the first layers on records as they come."""
        first = self.weights[0]
        weight = first.weight.double() * self._factor
        bias = first.bias.double() - (weight * self._mean).sum(dim=2)
        return weight.float().flatten(0, 1), bias.float().flatten()


def are_products(net: nn.Module) -> bool:
    """Whether `Products` can evaluate networks like this one."""
    scaler, *layers = _flat(net)
    starts = isinstance(scaler, Scaler) and isinstance(next(iter(layers), None), nn.Linear)
    return starts and all(isinstance(layer, KNOWN) for layer in layers)


def _flat(net: nn.Module) -> list[Any]:
    """Return what the network does to records that are flat from the start."""
    return [leaf for leaf in leaves(net) if not isinstance(leaf, nn.Flatten)]


def _product(X: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Return outputs (N, outputs) on a CPU."""
    if len(X) < MIN_ROWS or not torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
        return functional.linear(X, weight, bias)
    return functional.linear(X.to_mkldnn(), weight, bias).to_dense()
