"""The same layer of several networks as one operation, and chains of them."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional


class Weights:
    """The weights and biases of the same layer of all networks, as two tensors."""

    weight: Tensor
    bias: Tensor

    def __init__(self, layers: Sequence[nn.Linear | nn.Conv2d]) -> None:
        """Take the layers, which keep their own weights until `unstack`; they have biases."""
        self._layers = layers
        self._networks = len(layers)

    @torch.no_grad()
    def unstack(self) -> None:
        """Give every layer its weights back."""
        weights, biases = self.weight.chunk(self._networks), self.bias.chunk(self._networks)
        for layer, weight, bias in zip(self._layers, weights, biases, strict=True):
            assert layer.bias is not None  # noqa: S101 - the constructor's condition
            layer.weight.copy_(weight.reshape_as(layer.weight))
            layer.bias.copy_(bias.reshape_as(layer.bias))


class Linears(Weights):
    """Linear layers: one batched matrix product."""

    def __init__(self, layers: Sequence[nn.Linear]) -> None:
        """Take the layers; weights (networks, outputs, inputs)."""
        super().__init__(layers)
        self.weight = torch.stack([layer.weight.detach() for layer in layers]).requires_grad_()
        self.bias = torch.stack([layer.bias.detach() for layer in layers]).requires_grad_()

    def __call__(self, values: Tensor) -> Tensor:
        """Return outputs (networks, N, outputs) for values (networks, N, inputs)."""
        return torch.baddbmm(self.bias[:, None], values, self.weight.mT)


class Convolutions(Weights):
    """Convolutions: one of as many groups of channels as there are networks."""

    def __init__(self, layers: Sequence[nn.Conv2d]) -> None:
        """Take the layers; weights (networks * outputs, inputs, height, width), channels last."""
        super().__init__(layers)
        weight = torch.cat([layer.weight.detach() for layer in layers])
        self.weight = weight.contiguous(memory_format=torch.channels_last).requires_grad_()
        self.bias = torch.cat([layer.bias.detach() for layer in layers if layer.bias is not None])
        self.bias.requires_grad_()

    def __call__(self, values: Tensor) -> Tensor:
        """Images (N, networks * outputs, ...) for images (N, networks * inputs, ...)."""
        like = self._layers[0]
        assert isinstance(like, nn.Conv2d)  # noqa: S101 - the constructor took it
        return functional.conv2d(
            values, self.weight, self.bias, like.stride, like.padding, like.dilation, self._networks
        )


class Chain:
    """What several networks do, step after step; a `Stack` once it has `each` and `all`."""

    def __init__(self, steps: Sequence[Any]) -> None:
        """Take functions of values, some of them `Weights`."""
        self._steps = steps

    @property
    def weights(self) -> list[Weights]:
        """The steps that learn."""
        return [step for step in self._steps if isinstance(step, Weights)]

    def parameters(self) -> list[Tensor]:
        """Return the tensors that an optimizer changes."""
        return [tensor for step in self.weights for tensor in (step.weight, step.bias)]

    def unstack(self) -> None:
        """Give every network its weights back."""
        for step in self.weights:
            step.unstack()

    def run(self, values: Tensor, done: int = 0) -> Tensor:
        """Return what the steps make of values, after the first `done` of them."""
        for step in self._steps[done:]:
            values = step(values)
        return values


def leaves(net: nn.Module) -> list[Any]:
    """Return what a chain of modules does, in order."""
    return [module for module in net.modules() if not isinstance(module, nn.Sequential)]
