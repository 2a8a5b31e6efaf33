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
    """Cores to use, OMP_NUM_THREADS of them where that is set when this is asked for the first time."""
    return torch.get_num_threads()


def groups(networks: int, parts: int) -> list[list[int]]:
    """Split indices 0..networks-1 into at most `parts` runs of nearly equal length."""
    return [part.tolist() for part in np.array_split(np.arange(networks), min(parts, networks))]


def run_each(work: Callable[[T], U], items: Sequence[T], workers: int) -> list[U]:
    """`work` of every item, in order, by at most `workers` threads.

    Several workers share the cores evenly: small networks gain nothing from sharing an operation, and lose
    much where cores are busy. That setting is the process's, so only one call runs at a time.
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
    """Tells how many steps are done; safe from several threads."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress = progress
        self._total = total
        self._done = 0
        # Guards both counts, and is held while they are told: who listens hears them in rising order.
        self._lock = threading.Lock()

    def expect(self, more: int) -> None:
        """Says that so many more will be done."""
        with self._lock:
            self._total += more

    def advance(self) -> None:
        """Count one step."""
        with self._lock:
            self._done += 1
            self._progress(self._done, self._total)


class PartOfSteps:
    """Counts the steps of one part of a training besides telling of them.

    Attributes:
        taken: how many of the part's steps are done.
    """

    def __init__(self, steps: StepCounter) -> None:
        self.taken = 0
        self._steps = steps

    def advance(self) -> None:
        """Count one step."""
        self.taken += 1
        self._steps.advance()


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

    def __init__(self, net: nn.Module, place: torch.device | None = None) -> None:
        """Take a network, or make a copy of it at another place."""
        there = place is None or place.type == CPU
        self._net = net if there else copy.deepcopy(net).to(place)

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
Kind = Literal["cpu", "gpu"]
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
"""What was found fastest, docs/teachers.md has the figures; on GPUs as yet unmeasured."""
UNKNOWN: Mapping[Work, Layout] = {"training": "loop", "prediction": "workers"}
"""Layouts that any module bears: in training a factory's may draw from torch's one generator of a process."""


def fastest(model: str, device: Device, work: Work) -> Layout:
    """Return the layout that is fastest for networks of this model; `UNKNOWN` where it was not measured."""
    return FASTEST["cpu" if device.is_cpu else "gpu", work].get(model, UNKNOWN[work])


@dataclass(frozen=True)
class Arrangement:
    """Which networks are together.

    Attributes:
        layout: how those together are evaluated.
        parts: rows of networks, each part a stack.
        places: where each part is evaluated.
        workers: parts that are evaluated at a time, each by a thread of its own.
    """

    layout: Layout
    parts: Sequence[Sequence[int]]
    places: Sequence[torch.device]
    workers: int

    @classmethod
    def of(cls, layout: Layout, networks: int, device: Device) -> "Arrangement":
        """Stacks of nearly equal size, several for each core of a CPU and one for each card."""
        cards = len(device.places)
        # In a loop networks may draw from torch's one generator of a process: none runs beside another.
        workers = 1 if layout == "loop" else threads() if device.is_cpu else cards
        if layout in ("loop", "workers"):
            parts = groups(networks, networks)
        else:
            stacks = threads() * math.ceil(networks / threads() / TOGETHER) if device.is_cpu else cards
            parts = groups(networks, stacks)
        return cls(layout, parts, [device.places[part % cards] for part in range(len(parts))], workers)


def make_stack(layout: Layout, nets: Sequence[nn.Module], place: torch.device | None = None) -> Stack:
    """Networks of one part as they are evaluated; by torch.func where the layout does not know their layers.

    Given a place, only the stack is there, for evaluation, and the networks stay where they are; none: the
    stack is where they are. One a thread, convolutions have their channels last, which oneDNN is much faster
    at; torch.func cannot normalise groups of channels then.
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
    """Put the weights of convolutions in this order in memory."""
    net.to(memory_format=order)  # type: ignore[call-overload]
