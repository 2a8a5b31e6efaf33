"""Trained networks: their votes, and their weights on disk."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from ostraka.services.teachers.fitting import compose
from ostraka.services.teachers.guard import VoteGuard, Votes, device_gone
from ostraka.services.teachers.layouts.gpu_memory import MicroBatches
from ostraka.services.teachers.layouts.layouts import (
    Arrangement,
    Layout,
    Stack,
    best_device,
    fastest,
    low_precision,
    make_stack,
    run_each,
)
from ostraka.services.teachers.manifest import ALL, TeachersManifest, unreadable

FILE = "weights.safetensors"


class Networks:
    """Trained networks of one architecture, on a GPU where there is one; not for several threads at once."""

    def __init__(
        self, nets: Sequence[nn.Module], shape: tuple[int, ...], device: torch.device, layout: Layout
    ) -> None:
        """Take networks of records (Q, *shape) to logits, and how they are evaluated."""
        self._device = device
        self._nets = [net.to(device).eval() for net in nets]
        self._shape = shape
        self._layout = layout
        self._micro = MicroBatches(device)
        self._stacks: dict[tuple[int, int, int], list[tuple[Stack, int]]] = {}

    @classmethod
    def of(cls, model: str, shape: tuple[int, ...], nets: Sequence[nn.Module]) -> "Networks":
        """Take trained networks, on the best device, in the layout that is fastest for the model there."""
        device = best_device()
        return cls(nets, shape, device, fastest(model, device, "prediction"))

    @property
    def nets(self) -> Sequence[nn.Module]:
        """The networks, in the order of their teachers."""
        return self._nets

    def predict(self, X: NDArray[np.float32], guard: VoteGuard, rows: slice = ALL) -> Votes:
        """Votes (rows, Q), or scores (rows, Q, labels), of these networks on flat records (Q, F)."""
        read = scores if guard.multi_label else winners

        def votes(stack: tuple[Stack, int]) -> Votes:
            return guard.votes(lambda part: self._votes(stack[0], part, read), X, stack[1])

        stacks, workers = self._stacks_of(rows)
        return np.concatenate(run_each(votes, stacks, workers))

    @torch.inference_mode()
    def _votes(self, stack: Stack, X: NDArray[np.float32], read: Callable[[Tensor], Tensor]) -> NDArray[Any]:
        records = torch.from_numpy(np.ascontiguousarray(X)).reshape(-1, *self._shape)
        # From pinned memory records are copied while earlier ones are computed.
        if self._device.type == "cuda":
            records = records.pin_memory()
        with low_precision(self._device):
            parts = self._micro.evaluate(lambda part: read(stack.all(part)), records)
        return torch.cat(parts, dim=1).cpu().numpy()

    def _stacks_of(self, rows: slice) -> tuple[list[tuple[Stack, int]], int]:
        """Return these networks as evaluated, with how many each stack has; kept, since cohorts stay."""
        nets = self._nets[rows]
        arranged = Arrangement.of(self._layout, len(nets), self._device)
        key = rows.indices(len(self._nets))
        if key not in self._stacks:
            self._stacks[key] = [
                (make_stack(self._layout, [nets[row] for row in part]), len(part)) for part in arranged.parts
            ]
        return self._stacks[key], arranged.workers

    def save(self, folder: Path) -> None:
        """Write all weights to one file, the networks counted by the first axis."""
        states = [net.state_dict() for net in self._nets]
        weights = {
            name: torch.stack([state[name].cpu() for state in states]).contiguous() for name in states[0]
        }
        save_file(weights, folder / FILE)

    @classmethod
    def load(cls, folder: Path, manifest: TeachersManifest) -> "Networks":
        """Read them; raise `model.invalid` where the file is damaged or of other networks.

        Raises `server.device_gone` where the device does not take them.
        """
        path = folder / FILE
        try:
            weights = load_file(path)
        except (OSError, SafetensorError) as exc:
            raise unreadable(path) from exc
        # Made and tried once: that takes longer than to read the weights of all.
        made = compose(manifest.model, manifest.shape, manifest.classes)
        nets = [_restore(deepcopy(made), weights, row, path) for row in range(manifest.teachers)]
        try:
            return cls.of(manifest.model, manifest.shape, nets)
        except RuntimeError as exc:
            raise device_gone(type(exc).__name__) from exc


def winners(logits: Tensor) -> Tensor:
    """Largest logit's class; -1, which is no class, where a logit is no number."""
    broken = ~logits.isfinite().all(dim=-1)
    return logits.argmax(dim=-1).masked_fill(broken, -1)


def scores(logits: Tensor) -> Tensor:
    """Each label's probability; NaN where a logit is no number."""
    return logits.float().sigmoid().masked_fill(~logits.isfinite(), torch.nan)


def _restore(net: nn.Module, weights: dict[str, Tensor], row: int, path: Path) -> nn.Module:
    try:
        net.load_state_dict({name: values[row] for name, values in weights.items()})
    except (RuntimeError, IndexError) as exc:
        raise unreadable(path) from exc
    return net
