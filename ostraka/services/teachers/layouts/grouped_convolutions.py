"""Networks of convolutions, each of them one convolution whose groups of channels are the networks."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ostraka.services.teachers.layouts.layers import Chain, Convolutions, Linears, leaves
from ostraka.services.teachers.networks import AsImages, Scaler, Square

PLACE_BY_PLACE = (nn.ReLU, nn.MaxPool2d, nn.AvgPool2d, Square)
"""What has no weights and mixes no channels."""


class Grouped(Chain):
    """Networks of a scaler, convolutions, one flattening and linear layers.

    Images are (N, networks * channels, height, width), their channels last in memory, which oneDNN is much
    faster at; after the flattening values are (networks, N, features).
    """

    def __init__(self, nets: Sequence[nn.Module]) -> None:
        """Take networks of one architecture; they keep their own weights until `unstack`."""
        self._networks = len(nets)
        scalers, images, *layers = zip(*map(leaves, nets), strict=True)
        super().__init__([self._step(same) for same in layers])
        self._mean = torch.stack([scaler.mean for scaler in scalers])[:, None]
        self._factor = torch.stack([scaler.factor for scaler in scalers])[:, None]
        self._images: AsImages = images[0]

    def each(self, X: Tensor) -> Tensor:
        """Logits (networks, N, classes) of every network on records of its own, (networks, N, *shape)."""
        scaled = (X - self._mean) * self._factor
        images = self._images(scaled.transpose(0, 1).flatten(0, 1))
        images = images.reshape(X.shape[1], -1, *images.shape[2:])
        return self.run(images.contiguous(memory_format=torch.channels_last))

    def all(self, X: Tensor) -> Tensor:
        """Logits (networks, N, classes) of every network on the same records (N, *shape)."""
        return self.each(X.expand(self._networks, *X.shape))

    def _step(self, same: Sequence[nn.Module]) -> object:
        if isinstance(same[0], nn.Conv2d):
            return Convolutions(same)  # type: ignore[arg-type]
        if isinstance(same[0], nn.Linear):
            return Linears(same)  # type: ignore[arg-type]
        return self._flatten if isinstance(same[0], nn.Flatten) else same[0]

    def _flatten(self, values: Tensor) -> Tensor:
        return values.reshape(len(values), self._networks, -1).transpose(0, 1)


def are_grouped(net: nn.Module) -> bool:
    """Whether `Grouped` can evaluate networks like this one."""
    scaler, *layers = leaves(net)
    places = [place for place, layer in enumerate(layers) if isinstance(layer, nn.Flatten)]
    if not isinstance(scaler, Scaler) or len(places) != 1 or not isinstance(layers[0], AsImages):
        return False
    before, after = layers[1 : places[0]], layers[places[0] + 1 :]
    return all(isinstance(layer, PLACE_BY_PLACE) or _is_plain(layer) for layer in before) and all(
        isinstance(layer, nn.Linear | nn.ReLU | Square) for layer in after
    )


def _is_plain(layer: nn.Module) -> bool:
    """Whether a layer is a convolution over all channels of images with a border of zeros."""
    return (
        isinstance(layer, nn.Conv2d)
        and layer.groups == 1
        and layer.bias is not None
        and layer.padding_mode == "zeros"
    )
