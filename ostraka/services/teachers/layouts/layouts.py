"""Layouts of many networks on cores or a GPU, by kind of model and of device."""

import copy
import math
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Literal, Protocol, TypeVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state

from ostraka.common.learning.device import CPU, Device
from ostraka.services.teachers.config import Progress
from ostraka.services.teachers.layouts.layers import Grouped, Products, are_grouped, are_products

T = TypeVar("T")
U = TypeVar("U")


@cache
def threads() -> int:
    """Return the number of cores to use: OMP_NUM_THREADS if set at the first call."""
    return torch.get_num_threads()


def groups(networks: int, parts: int) -> list[list[int]]:
    """Split indices 0..networks-1 into at most `parts` ranges of nearly equal length."""
    return [part.tolist() for part in np.array_split(np.arange(networks), min(parts, networks))]


def run_each(work: Callable[[T], U], items: Sequence[T], workers: int) -> list[U]:
    """Apply `work` to every item, in order, in at most `workers` threads.

    The workers share the cores evenly: splitting an operation of a small network gains nothing, and costs
    much if cores are busy. That setting is global to the process, so only one call runs at a time.
    """
    workers = min(workers, len(items))
    if workers == 1:
        return [work(item) for item in items]
    with _threads_each(max(1, threads() // workers)), ThreadPoolExecutor(workers) as pool:
        return list(pool.map(work, items))


@contextmanager
def _threads_each(share: int) -> Iterator[None]:
    torch.set_num_threads(share)
    try:
        yield
    finally:
        torch.set_num_threads(threads())


class StepCounter:
    """Reports how many steps are done; thread-safe."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress = progress
        self._total = total
        self._done = 0
        # Guards both counts, and is held during the callback, so reported counts never decrease.
        self._lock = threading.Lock()

    def expect(self, more: int) -> None:
        """Increase the total by `more` steps."""
        with self._lock:
            self._total += more

    def advance(self) -> None:
        """Count one step."""
        with self._lock:
            self._done += 1
            self._progress(self._done, self._total)


class PartOfSteps:
    """Counts the steps of one part of a training, and reports them.

    Attributes:
        taken: number of the part's steps that are done.
    """

    def __init__(self, steps: StepCounter) -> None:
        self.taken = 0
        self._steps = steps

    def advance(self) -> None:
        """Count one step."""
        self.taken += 1
        self._steps.advance()


class Stack(Protocol):
    """Several networks as one; each result depends only on that network's weights and records."""

    def parameters(self) -> list[Tensor]:
        """Return the tensors that an optimizer changes."""
        ...

    def each(self, X: Tensor) -> Tensor:
        """Return logits (networks, N, classes) of every network on its own records, (networks, N, *shape)."""
        ...

    def all(self, X: Tensor) -> Tensor:
        """Return logits (networks, N, classes) of every network on the same records (N, *shape)."""
        ...

    def unstack(self) -> None:
        """Copy the weights back to every network."""
        ...


class Alone:
    """A single network, unchanged."""

    def __init__(self, net: nn.Module, place: torch.device | None = None) -> None:
        """Take a network, or copy it to another place."""
        there = place is None or place.type == CPU
        self._net = net if there else copy.deepcopy(net).to(place)

    def parameters(self) -> list[Tensor]:
        """Return the tensors that an optimizer changes."""
        return list(self._net.parameters())

    def each(self, X: Tensor) -> Tensor:
        """Return logits (1, N, classes) on records (1, N, *shape)."""
        return self.all(X[0])

    def all(self, X: Tensor) -> Tensor:
        """Return logits (1, N, classes) on records (N, *shape)."""
        logits: Tensor = self._net(X)
        return logits[None]

    def unstack(self) -> None:
        """Do nothing: the network has its weights."""


class Mapped:
    """Networks mapped by torch.func over stacked weight tensors, whose first axis is the network."""

    def __init__(self, nets: Sequence[nn.Module], place: torch.device | None = None) -> None:
        """Take networks of one architecture; they keep their own weights until `unstack`."""
        self._nets = nets
        self._weights, self._buffers = stack_module_state(list(nets))
        if place is not None:
            self._weights = {name: value.detach().to(place) for name, value in self._weights.items()}
            self._buffers = {name: value.to(place) for name, value in self._buffers.items()}

    def parameters(self) -> list[Tensor]:
        """Return the tensors that an optimizer changes."""
        return list(self._weights.values())

    def each(self, X: Tensor) -> Tensor:
        """Return logits (networks, N, classes) of every network on its own records, (networks, N, *shape)."""
        return torch.vmap(self._call, in_dims=(0, 0, 0))(self._weights, self._buffers, X)

    def all(self, X: Tensor) -> Tensor:
        """Return logits (networks, N, classes) of every network on the same records (N, *shape)."""
        return torch.vmap(self._call, in_dims=(0, 0, None))(self._weights, self._buffers, X)

    def unstack(self) -> None:
        """Copy the weights back to every network."""
        with torch.no_grad():
            for row, net in enumerate(self._nets):
                for name, weight in net.named_parameters():
                    weight.copy_(self._weights[name][row])

    def _call(self, weights: dict[str, Tensor], buffers: dict[str, Tensor], X: Tensor) -> Tensor:
        logits: Tensor = functional_call(self._nets[0], (weights, buffers), (X,))
        return logits


Layout = Literal["loop", "workers", "stacked", "products", "grouped"]
"""One network after another; one per thread; several by torch.func, batched products or convolution
groups."""
Kind = Literal["cpu", "gpu"]
Work = Literal["training", "prediction"]
TOGETHER = 8
"""Maximum networks in a stack on a CPU: more of them, with the optimizer's state, exceed its cache."""
LINEAR = ("logistic", "mlp", "square-mlp")
CONVOLUTIONAL = ("cnn", "square-cnn")
ON_GPU: Mapping[str, Layout] = {
    **dict.fromkeys(LINEAR, "products"),
    **dict.fromkeys(CONVOLUTIONAL, "stacked"),
    "resnet": "stacked",
}
FASTEST: Mapping[tuple[Kind, Work], Mapping[str, Layout]] = {
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
"""The fastest layouts that were measured, see docs/teachers.md; GPUs were not measured yet."""
UNKNOWN: Mapping[Work, Layout] = {"training": "loop", "prediction": "workers"}
"""Layouts for any module: in training, a factory's module may use torch's global random generator."""


def fastest(model: str, device: Device, work: Work) -> Layout:
    """Return the fastest layout for networks of this model; `UNKNOWN` if it was not measured."""
    return FASTEST["cpu" if device.is_cpu else "gpu", work].get(model, UNKNOWN[work])


@dataclass(frozen=True)
class Arrangement:
    """Partition of networks into stacks.

    Attributes:
        layout: how the networks of a stack are evaluated.
        parts: indices of networks, one part per stack.
        places: the device of each part.
        workers: number of parts that are evaluated in parallel, one thread each.
    """

    layout: Layout
    parts: Sequence[Sequence[int]]
    places: Sequence[torch.device]
    workers: int

    @classmethod
    def of(cls, layout: Layout, networks: int, device: Device) -> "Arrangement":
        """Return stacks of nearly equal size, several per core of a CPU and one per GPU."""
        cards = len(device.places)
        # In a loop, networks may draw from torch's global generator, so they run one at a time.
        workers = 1 if layout == "loop" else threads() if device.is_cpu else cards
        if layout in ("loop", "workers"):
            parts = groups(networks, networks)
        else:
            stacks = threads() * math.ceil(networks / threads() / TOGETHER) if device.is_cpu else cards
            parts = groups(networks, stacks)
        return cls(layout, parts, [device.places[part % cards] for part in range(len(parts))], workers)


def make_stack(layout: Layout, nets: Sequence[nn.Module], place: torch.device | None = None) -> Stack:
    """Return the stack of one part's networks; with torch.func if the layout does not support their layers.

    If a place is given, only the stack is moved there, for evaluation; otherwise the stack is where the
    networks are. Networks in one thread each store their convolutions channels last, which is much faster
    with oneDNN; torch.func cannot do group normalisation in that format.
    """
    if layout == "products" and are_products(nets[0]):
        return Products(nets, place)
    if layout == "grouped" and are_grouped(nets[0]):
        return Grouped(nets, place)
    if len(nets) > 1:
        for net in nets:
            _order(net, torch.contiguous_format)
        return Mapped(nets, place)
    if layout == "workers":
        _order(nets[0], torch.channels_last)
    return Alone(nets[0], place)


def _order(net: nn.Module, order: torch.memory_format) -> None:
    """Store the weights of convolutions in this memory format."""
    net.to(memory_format=order)  # type: ignore[call-overload]
