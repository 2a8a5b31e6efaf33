"""Networks whose corresponding layers are one operation: batched matrix products and grouped convolutions."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from ostraka.common.learning.device import CPU, has_bfloat16
from ostraka.common.learning.precision import LogitLayer, ends_in_logits, whole_precision
from ostraka.services.teachers.networks import AsImages, Scaler, Square


class Weights:
    """The weights and biases of the same layer of all networks, as two tensors."""

    weight: Tensor
    bias: Tensor

    def __init__(self, layers: Sequence[nn.Linear | nn.Conv2d]) -> None:
        """Take the layers, which keep their own weights until `unstack`; they must have biases."""
        self._layers = layers
        self._networks = len(layers)

    @torch.no_grad()
    def unstack(self) -> None:
        """Copy the weights back to every layer."""
        weights = self.weight.chunk(self._networks)
        biases = self.bias.chunk(self._networks)
        for layer, weight, bias in zip(self._layers, weights, biases, strict=True):
            assert layer.bias is not None  # noqa: S101 - the constructor's condition
            layer.weight.copy_(weight.reshape_as(layer.weight))
            layer.bias.copy_(bias.reshape_as(layer.bias))


class Linears(Weights):
    """Linear layers: one batched matrix product."""

    def __init__(self, layers: Sequence[nn.Linear], place: torch.device | None = None) -> None:
        """Take the layers; weights (networks, outputs, inputs)."""
        super().__init__(layers)
        self.weight = torch.stack([layer.weight.detach() for layer in layers]).to(place).requires_grad_()
        self.bias = torch.stack([layer.bias.detach() for layer in layers]).to(place).requires_grad_()
        self._last = isinstance(layers[0], LogitLayer)

    def __call__(self, values: Tensor) -> Tensor:
        """Return outputs (networks, N, outputs) for values (networks, N, inputs); logits are float32."""
        if not self._last:
            return torch.baddbmm(self.bias[:, None], values, self.weight.mT)
        with whole_precision(values.device):
            return torch.baddbmm(self.bias[:, None], values.to(self.weight.dtype), self.weight.mT)


class Convolutions(Weights):
    """Convolutions: one convolution with a group of channels per network."""

    def __init__(self, layers: Sequence[nn.Conv2d], place: torch.device | None = None) -> None:
        """Take the layers; weights (networks * outputs, inputs, height, width), channels last."""
        super().__init__(layers)
        weight = torch.cat([layer.weight.detach() for layer in layers]).to(place)
        self.weight = weight.contiguous(memory_format=torch.channels_last).requires_grad_()
        self.bias = torch.cat([layer.bias.detach() for layer in layers if layer.bias is not None]).to(place)
        self.bias.requires_grad_()

    def __call__(self, values: Tensor) -> Tensor:
        """Return images (N, networks * outputs, ...) for images (N, networks * inputs, ...)."""
        like = self._layers[0]
        assert isinstance(like, nn.Conv2d)  # noqa: S101 - the constructor took it
        return functional.conv2d(
            values, self.weight, self.bias, like.stride, like.padding, like.dilation, self._networks
        )


class Chain:
    """A sequence of steps of several networks; a `Stack` once it has `each` and `all`."""

    def __init__(self, steps: Sequence[Any]) -> None:
        self._steps = steps

    @property
    def weights(self) -> list[Weights]:
        """The steps with weights."""
        return [step for step in self._steps if isinstance(step, Weights)]

    def parameters(self) -> list[Tensor]:
        """Return the tensors that an optimizer changes."""
        return [tensor for step in self.weights for tensor in (step.weight, step.bias)]

    def unstack(self) -> None:
        """Copy the weights back to every network."""
        for step in self.weights:
            step.unstack()

    def run(self, values: Tensor, done: int = 0) -> Tensor:
        """Apply the steps to values, skipping the first `done` of them."""
        for step in self._steps[done:]:
            values = step(values)
        return values


def leaves(net: nn.Module) -> list[Any]:
    """Return the basic modules of a network, in order."""
    return [module for module in net.modules() if not isinstance(module, nn.Sequential)]


KNOWN = (nn.Linear, nn.ReLU, Square)
"""Linear layers, and element-wise modules without weights."""
MIN_ROWS = 32
"""Number of records from which oneDNN's matrix product was faster than torch's own on a CPU."""


class Products(Chain):
    """Networks of a scaler, linear layers and element-wise modules between them."""

    def __init__(self, nets: Sequence[nn.Module], place: torch.device | None = None) -> None:
        """Take networks of one architecture; they keep their own weights until `unstack`.

        If a place is given, the stack is there, for evaluation only.
        """
        self._networks = len(nets)
        scalers, first, *others = zip(*(_flat(net) for net in nets), strict=True)
        super().__init__([Linears(first), *(_step(same, place) for same in others)])
        self._mean = torch.stack([scaler.mean.flatten()[None] for scaler in scalers])
        self._factor = torch.stack([scaler.factor.flatten()[None] for scaler in scalers])
        self._folded: tuple[Tensor, Tensor] | None = None
        if place is not None:
            low = bool(others) and has_bfloat16(place) and ends_in_logits(nets[0])
            self._folded = self._fold(place, torch.bfloat16 if low else torch.float32)
            # Folded weights are not stored twice.
            self._steps = [None, *self._steps[1:]]

    def each(self, X: Tensor) -> Tensor:
        """Return logits (networks, N, classes) of every network on its own records, (networks, N, *shape)."""
        return self.run((X.flatten(2) - self._mean) * self._factor)

    def all(self, X: Tensor) -> Tensor:
        """Return logits (networks, N, classes) of every network on the same records (N, *shape).

        The first layers of all networks, with their scalers, are one product. For evaluation only, because
        the weights are fixed at the first call.
        """
        self._folded = self._folded or self._fold(X.device, torch.float32)
        weight, bias = self._folded
        with whole_precision(X.device):
            values = _product(X.flatten(1).to(weight.dtype), weight, bias)
        return self.run(values.reshape(len(X), self._networks, -1).transpose(0, 1), done=1)

    @torch.no_grad()
    def _fold(self, place: torch.device, kind: torch.dtype) -> tuple[Tensor, Tensor]:
        """Return weights (networks * outputs, features) and biases of the first layers for unscaled
        records."""
        first = self.weights[0]
        # On the CPU: some GPUs have no float64.
        weight = first.weight.cpu().double() * self._factor.cpu()
        bias = first.bias.cpu().double() - (weight * self._mean.cpu()).sum(dim=2)
        return weight.float().flatten(0, 1).to(place, kind), bias.float().flatten().to(place, kind)


def are_products(net: nn.Module) -> bool:
    """Whether `Products` can evaluate networks like this one."""
    scaler, *layers = _flat(net)
    starts = isinstance(scaler, Scaler) and isinstance(next(iter(layers), None), nn.Linear)
    return starts and all(isinstance(layer, KNOWN) for layer in layers)


def _flat(net: nn.Module) -> list[Any]:
    """Return the network's basic modules without flattening, for flat records."""
    return [leaf for leaf in leaves(net) if not isinstance(leaf, nn.Flatten)]


def _step(same: Sequence[nn.Module], place: torch.device | None) -> object:
    """Return the step of the same layer of all networks on values (networks, N, ...)."""
    if isinstance(same[0], nn.Linear):
        return Linears(same, place)  # type: ignore[arg-type]
    return same[0]


def _product(X: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Return outputs (N, outputs)."""
    if X.device.type != CPU or len(X) < MIN_ROWS or not torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
        return functional.linear(X, weight, bias)
    return functional.linear(X.to_mkldnn(), weight, bias).to_dense()


PLACE_BY_PLACE = (nn.ReLU, nn.MaxPool2d, nn.AvgPool2d, Square)
"""Modules without weights that do not mix channels."""


class Grouped(Chain):
    """Networks of a scaler, convolutions, one flattening and linear layers.

    Images are (N, networks * channels, height, width), channels last in memory, which is much faster with
    oneDNN; after the flattening, values are (networks, N, features).
    """

    def __init__(self, nets: Sequence[nn.Module], place: torch.device | None = None) -> None:
        """Take networks of one architecture; they keep their own weights until `unstack`."""
        self._networks = len(nets)
        self._place = place
        scalers, images, *layers = zip(*map(leaves, nets), strict=True)
        super().__init__([self._step(same) for same in layers])
        self._mean = torch.stack([scaler.mean for scaler in scalers])[:, None].to(place)
        self._factor = torch.stack([scaler.factor for scaler in scalers])[:, None].to(place)
        self._images: AsImages = images[0]

    def each(self, X: Tensor) -> Tensor:
        """Return logits (networks, N, classes) of every network on its own records, (networks, N, *shape)."""
        scaled = (X - self._mean) * self._factor
        images = self._images(scaled.transpose(0, 1).flatten(0, 1))
        images = images.reshape(X.shape[1], -1, *images.shape[2:])
        return self.run(images.contiguous(memory_format=torch.channels_last))

    def all(self, X: Tensor) -> Tensor:
        """Return logits (networks, N, classes) of every network on the same records (N, *shape)."""
        return self.each(X.expand(self._networks, *X.shape))

    def _step(self, same: Sequence[nn.Module]) -> object:
        if isinstance(same[0], nn.Conv2d):
            return Convolutions(same, self._place)  # type: ignore[arg-type]
        return self._flatten if isinstance(same[0], nn.Flatten) else _step(same, self._place)

    def _flatten(self, values: Tensor) -> Tensor:
        return values.reshape(len(values), self._networks, -1).transpose(0, 1)


def are_grouped(net: nn.Module) -> bool:
    """Whether `Grouped` can evaluate networks like this one."""
    scaler, *layers = leaves(net)
    places = [place for place, layer in enumerate(layers) if isinstance(layer, nn.Flatten)]
    if not isinstance(scaler, Scaler) or len(places) != 1 or not isinstance(layers[0], AsImages):
        return False
    before = layers[1 : places[0]]
    after = layers[places[0] + 1 :]
    return all(isinstance(layer, PLACE_BY_PLACE) or _is_plain(layer) for layer in before) and all(
        isinstance(layer, nn.Linear | nn.ReLU | Square) for layer in after
    )


def _is_plain(layer: nn.Module) -> bool:
    """Whether a layer is an ungrouped convolution with a bias and zero padding."""
    return (
        isinstance(layer, nn.Conv2d)
        and layer.groups == 1
        and layer.bias is not None
        and layer.padding_mode == "zeros"
    )
