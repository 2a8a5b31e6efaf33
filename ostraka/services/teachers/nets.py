"""Trained networks: their votes, and their weights on disk."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from ostraka.common.learning.device import HOST, Device, free_memory
from ostraka.common.learning.micro_batches import MicroBatches
from ostraka.common.learning.precision import low_precision
from ostraka.services.teachers.fitting import compose
from ostraka.services.teachers.guard import VoteGuard, Votes, device_gone
from ostraka.services.teachers.layouts.layouts import (
    Arrangement,
    Layout,
    Stack,
    fastest,
    make_stack,
    run_each,
)
from ostraka.services.teachers.manifest import ALL, TeachersManifest, unreadable

FILE = "weights.safetensors"


@dataclass(frozen=True)
class _Placed:
    """A stack, its number of networks, and its batch size."""

    stack: Stack
    networks: int
    micro: MicroBatches


class Networks:
    """Trained networks of one architecture, and their stacks on a device; not thread-safe.

    A GPU holds each weight once, in its stack; the networks themselves stay in the host's memory.
    """

    def __init__(
        self, nets: Sequence[nn.Module], shape: tuple[int, ...], device: Device, layout: Layout
    ) -> None:
        """Take networks of records (Q, *shape) to logits, and their layout."""
        self._device = device
        self._nets = [net.cpu().eval() for net in nets]
        self._shape = shape
        self._layout = layout
        self._stacks: dict[tuple[int, int, int], tuple[list[_Placed], int]] = {}

    @classmethod
    def of(
        cls, model: str, shape: tuple[int, ...], nets: Sequence[nn.Module], device: Device = HOST
    ) -> "Networks":
        """Take trained networks, in the fastest layout for the model on the device."""
        return cls(nets, shape, device, fastest(model, device, "prediction"))

    @property
    def nets(self) -> Sequence[nn.Module]:
        """The networks, in the order of their teachers."""
        return self._nets

    def predict(self, X: NDArray[np.float32], guard: VoteGuard, rows: slice = ALL) -> Votes:
        """Return votes (rows, Q), or scores (rows, Q, labels), of these networks on flat records (Q, F).

        Raises `server.device_gone` if the device cannot hold their weights, or fails on zeros.
        """
        read = scores if guard.multi_label else winners

        def votes(placed: _Placed) -> Votes:
            return guard.votes(lambda part: self._votes(placed, part, read), X, placed.networks)

        try:
            stacks, workers = self._stacks_of(rows)
        except RuntimeError as exc:
            raise device_gone(type(exc).__name__) from exc
        return np.concatenate(run_each(votes, stacks, workers))

    @torch.inference_mode()
    def _votes(self, placed: "_Placed", X: NDArray[np.float32], read: Callable[[Tensor], Tensor]) -> Votes:
        records = torch.from_numpy(np.ascontiguousarray(X)).reshape(-1, *self._shape)
        with low_precision(self._nets[0], placed.micro.place):
            parts = placed.micro.evaluate(lambda part: read(placed.stack.all(part)), records)
        return torch.cat(parts, dim=1).cpu().numpy()

    def _stacks_of(self, rows: slice) -> tuple[list["_Placed"], int]:
        """Return the stacks of these networks and how many run in parallel; cached, as cohorts are
        constant."""
        key = rows.indices(len(self._nets))
        # Looked up once, because `unload` may clear the cache in between.
        found = self._stacks.get(key)
        if found is None:
            nets = self._nets[rows]
            arranged = Arrangement.of(self._layout, len(nets), self._device)
            micro = {place: MicroBatches(self._device, place) for place in arranged.places}
            stacks = [
                _Placed(make_stack(self._layout, [nets[row] for row in part], place), len(part), micro[place])
                for part, place in zip(arranged.parts, arranged.places, strict=True)
            ]
            found = self._stacks[key] = stacks, arranged.workers
        return found

    def memory_bytes(self) -> int:
        """Return the bytes that GPUs hold for the networks, once they have voted."""
        if self._device.is_cpu or not self._stacks:
            return 0
        return sum(value.numel() * value.element_size() for net in self._nets for value in net.parameters())

    def unload(self) -> None:
        """Free GPU memory; votes in progress keep it until they are done."""
        self._stacks = {}
        for place in self._device.places:
            # A failed GPU frees nothing, but the others do.
            with suppress(RuntimeError):
                free_memory(place)

    def save(self, folder: Path) -> None:
        """Write all weights to one file; the first axis is the network."""
        states = [net.state_dict() for net in self._nets]
        weights = {
            name: torch.stack([state[name].cpu() for state in states]).contiguous() for name in states[0]
        }
        save_file(weights, folder / FILE)

    @classmethod
    def load(cls, folder: Path, manifest: TeachersManifest, device: Device = HOST) -> "Networks":
        """Read the networks; raise `model.invalid` if the file is damaged or contains other networks."""
        path = folder / FILE
        try:
            weights = load_file(path)
        except (OSError, SafetensorError) as exc:
            raise unreadable(path) from exc
        # Built and checked once: that takes longer than reading the weights of all.
        made = compose(manifest.model, manifest.shape, manifest.classes)
        nets = [_restore(deepcopy(made), weights, row, path) for row in range(manifest.teachers)]
        return cls.of(manifest.model, manifest.shape, nets, device)


def winners(logits: Tensor) -> Tensor:
    """Return the class with the largest logit; -1, which is not a class, if a logit is not finite."""
    broken = ~logits.isfinite().all(dim=-1)
    return logits.argmax(dim=-1).masked_fill(broken, -1)


def scores(logits: Tensor) -> Tensor:
    """Return each label's probability; NaN if a logit is not finite."""
    return logits.float().sigmoid().masked_fill(~logits.isfinite(), torch.nan)


def _restore(net: nn.Module, weights: dict[str, Tensor], row: int, path: Path) -> nn.Module:
    try:
        net.load_state_dict({name: values[row] for name, values in weights.items()})
    except (RuntimeError, IndexError) as exc:
        raise unreadable(path) from exc
    return net
