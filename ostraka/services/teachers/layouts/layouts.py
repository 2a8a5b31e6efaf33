"""Layouts of many networks on cores or a GPU, by kind of model and of device."""

import math
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Literal, Protocol

import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state

from ostraka.services.teachers.layouts.layers import Grouped, Products, are_grouped, are_products
from ostraka.services.teachers.layouts.workers import groups, threads


class Stack(Protocol):
    """Networks as one; what one computes depends on its own weights and records alone."""

    def parameters(self) -> list[Tensor]:
        """Return the tensors that an optimizer changes."""
        ...

    def each(self, X: Tensor) -> Tensor:
        """Logits (networks, N, classes) of every network on records of its own, (networks, N, *shape)."""
        ...

    def all(self, X: Tensor) -> Tensor:
        """Logits (networks, N, classes) of every network on the same records (N, *shape)."""
        ...

    def unstack(self) -> None:
        """Give every network its weights back."""
        ...


class Alone:
    """One network as it is."""

    def __init__(self, net: nn.Module) -> None:
        self._net = net

    def parameters(self) -> list[Tensor]:
        """Return the tensors that an optimizer changes."""
        return list(self._net.parameters())

    def each(self, X: Tensor) -> Tensor:
        """Logits (1, N, classes) on records (1, N, *shape)."""
        return self.all(X[0])

    def all(self, X: Tensor) -> Tensor:
        """Logits (1, N, classes) on records (N, *shape)."""
        logits: Tensor = self._net(X)
        return logits[None]

    def unstack(self) -> None:
        """Nothing: the network has its weights."""


class Mapped:
    """Networks mapped by torch.func over shared weight tensors, whose first axis counts networks."""

    def __init__(self, nets: Sequence[nn.Module]) -> None:
        """Take networks of one architecture; they keep their own weights until `unstack`."""
        self._nets = nets
        self._weights, self._buffers = stack_module_state(list(nets))

    def parameters(self) -> list[Tensor]:
        """Return the tensors that an optimizer changes."""
        return list(self._weights.values())

    def each(self, X: Tensor) -> Tensor:
        """Logits (networks, N, classes) of every network on records of its own, (networks, N, *shape)."""
        return torch.vmap(self._call, in_dims=(0, 0, 0))(self._weights, self._buffers, X)

    def all(self, X: Tensor) -> Tensor:
        """Logits (networks, N, classes) of every network on the same records (N, *shape)."""
        return torch.vmap(self._call, in_dims=(0, 0, None))(self._weights, self._buffers, X)

    def unstack(self) -> None:
        """Give every network its weights back."""
        with torch.no_grad():
            for row, net in enumerate(self._nets):
                for name, weight in net.named_parameters():
                    weight.copy_(self._weights[name][row])

    def _call(self, weights: dict[str, Tensor], buffers: dict[str, Tensor], X: Tensor) -> Tensor:
        logits: Tensor = functional_call(self._nets[0], (weights, buffers), (X,))
        return logits


Layout = Literal["loop", "workers", "stacked", "products", "grouped"]
"""One network after another; one a thread; several by torch.func, batched products or convolution groups."""
Device = Literal["cpu", "gpu"]
Work = Literal["training", "prediction"]
TOGETHER = 8
"""Networks in one stack on a CPU, at most: more of them, with what an optimizer keeps, leave its cache."""
LINEAR = ("logistic", "mlp", "square-mlp")
CONVOLUTIONAL = ("cnn", "square-cnn")
ON_GPU: Mapping[str, Layout] = {
    **dict.fromkeys(LINEAR, "products"),
    **dict.fromkeys(CONVOLUTIONAL, "stacked"),
    "resnet": "stacked",
}
FASTEST: Mapping[tuple[Device, Work], Mapping[str, Layout]] = {
    ("cpu", "training"): {
        **dict.fromkeys(LINEAR, "products"),
        **dict.fromkeys(CONVOLUTIONAL, "grouped"),
        "resnet": "workers",
    },
    ("cpu", "prediction"): {
        **dict.fromkeys(LINEAR, "products"),
        **dict.fromkeys(CONVOLUTIONAL, "workers"),
    },
    ("gpu", "training"): ON_GPU,
    ("gpu", "prediction"): ON_GPU,
}
"""What was found fastest, docs/teachers.md has the figures; on GPUs as yet unmeasured."""
UNKNOWN: Mapping[Work, Layout] = {"training": "loop", "prediction": "workers"}
"""Layouts that any module bears: in training a factory's may draw from torch's one generator of a process."""


def best_device() -> torch.device:
    """Return a GPU where there is one, else the CPU."""
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")


def low_precision(device: torch.device) -> AbstractContextManager[object]:
    """Inside, products are of bfloat16 on a CUDA GPU that computes with it; elsewhere nothing changes."""
    if device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False):
        return torch.autocast("cuda", torch.bfloat16)
    return nullcontext()


def fastest(model: str, device: torch.device, work: Work) -> Layout:
    """Return the layout that is fastest for networks of this model; `UNKNOWN` where it was not measured."""
    return FASTEST["cpu" if device.type == "cpu" else "gpu", work].get(model, UNKNOWN[work])


@dataclass(frozen=True)
class Arrangement:
    """Which networks are together.

    Attributes:
        layout: how those together are evaluated.
        parts: rows of networks, each part a stack.
        workers: parts that are evaluated at a time, each by a thread of its own.
    """

    layout: Layout
    parts: Sequence[Sequence[int]]
    workers: int

    @classmethod
    def of(cls, layout: Layout, networks: int, device: torch.device) -> "Arrangement":
        """Stacks of nearly equal size, several for each core of a CPU and one for a GPU."""
        cpu = device.type == "cpu"
        if layout in ("loop", "workers"):
            return cls(layout, groups(networks, networks), threads() if cpu and layout == "workers" else 1)
        stacks = threads() * math.ceil(networks / threads() / TOGETHER) if cpu else 1
        return cls(layout, groups(networks, stacks), threads() if cpu else 1)


def make_stack(layout: Layout, nets: Sequence[nn.Module]) -> Stack:
    """Networks of one part as they are evaluated; by torch.func where the layout does not know their layers.

    One a thread, convolutions have their channels last, which oneDNN is much faster at; torch.func cannot
    normalise groups of channels then.
    """
    if layout == "products" and are_products(nets[0]):
        return Products(nets)
    if layout == "grouped" and are_grouped(nets[0]):
        return Grouped(nets)
    if len(nets) > 1:
        for net in nets:
            _order(net, torch.contiguous_format)
        return Mapped(nets)
    if layout == "workers":
        _order(nets[0], torch.channels_last)
    return Alone(nets[0])


def _order(net: nn.Module, order: torch.memory_format) -> None:
    """Put the weights of convolutions in this order in memory."""
    net.to(memory_format=order)  # type: ignore[call-overload]
