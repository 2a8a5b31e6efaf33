"""Trained networks: their votes, and their weights on disk."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from services.teachers.fitting import compose
from services.teachers.groups import ALL
from services.teachers.guard import Guard, Votes
from services.teachers.manifest import TeachersManifest, unreadable
from services.teachers.stack import Stack, best_device, pays
from services.teachers.workers import THREADS, groups, run_each

FILE = "weights.safetensors"
MICRO_BATCH = {"cpu": 128, "cuda": 4096}
"""Records evaluated at a time, by kind of device."""


class Networks:
    """Trained networks of one architecture, on a GPU where there is one; not for several threads at once."""

    def __init__(
        self, nets: Sequence[nn.Module], shape: tuple[int, ...], device: torch.device, *, stacked: bool
    ) -> None:
        """Takes networks of records (Q, *shape) to logits; `stacked` ones are evaluated together."""
        self._device = device
        self._nets = [net.to(self._device).eval() for net in nets]
        self._shape = shape
        self._workers = THREADS if device.type == "cpu" else 1
        self._stacked = stacked
        self._stacks: dict[tuple[int, int, int], list[tuple[Stack, int]]] = {}

    @classmethod
    def of(cls, model: str, shape: tuple[int, ...], nets: Sequence[nn.Module]) -> "Networks":
        """Takes trained networks, on the best device, stacked where that is faster for the model."""
        device = best_device()
        return cls(nets, shape, device, stacked=pays(model, device))

    @property
    def nets(self) -> Sequence[nn.Module]:
        """The networks, in the order of their teachers."""
        return self._nets

    def predict(self, X: NDArray[np.float32], guard: Guard, rows: slice = ALL) -> Votes:
        """Votes (rows, Q), or scores (rows, Q, labels), of these networks on flat records (Q, F)."""
        records = torch.from_numpy(np.ascontiguousarray(X)).to(self._device).reshape(-1, *self._shape)
        parts = torch.split(records, MICRO_BATCH[self._device.type])

        read = _scores if guard.multi_label else _winners

        def votes(stack: tuple[Stack, int]) -> Votes:
            return guard.votes(lambda: _votes(stack[0], parts, read), stack[1], len(X))

        return np.concatenate(run_each(votes, self._stacks_of(rows), self._workers))

    def _stacks_of(self, rows: slice) -> list[tuple[Stack, int]]:
        """These networks as they are evaluated, with how many each stack has; kept, since cliques stay."""
        key = rows.indices(len(self._nets))
        if key not in self._stacks:
            nets = self._nets[rows]
            parts = groups(len(nets), self._workers if self._stacked else len(nets))
            self._stacks[key] = [(Stack([nets[row] for row in part]), len(part)) for part in parts]
        return self._stacks[key]

    def save(self, folder: Path) -> None:
        """Writes all weights to one file, the networks counted by the first axis."""
        states = [net.state_dict() for net in self._nets]
        weights = {name: torch.stack([state[name].cpu() for state in states]) for name in states[0]}
        save_file(weights, folder / FILE)

    @classmethod
    def load(cls, folder: Path, manifest: TeachersManifest) -> "Networks":
        """Reads them; raises `model.invalid` where the file is damaged or of other networks."""
        path = folder / FILE
        try:
            weights = load_file(path)
        except (OSError, SafetensorError) as exc:
            raise unreadable(path) from exc
        nets = [_restored(manifest, weights, row, path) for row in range(manifest.teachers)]
        return cls.of(manifest.model, manifest.shape, nets)


@torch.inference_mode()
def _votes(stack: Stack, parts: Sequence[Tensor], read: Callable[[Tensor], Tensor]) -> NDArray[Any]:
    return np.concatenate([read(stack.all(part)).cpu().numpy() for part in parts], axis=1)


def _winners(logits: Tensor) -> Tensor:
    """Largest logit's class; -1, which is no class, where a logit is no number."""
    broken = ~logits.isfinite().all(dim=-1)
    return logits.argmax(dim=-1).masked_fill(broken, -1)


def _scores(logits: Tensor) -> Tensor:
    """Each label's probability; NaN where a logit is no number."""
    return logits.sigmoid().masked_fill(~logits.isfinite(), torch.nan)


def _restored(manifest: TeachersManifest, weights: dict[str, Tensor], row: int, path: Path) -> nn.Module:
    net = compose(manifest.model, manifest.shape, manifest.classes)
    try:
        net.load_state_dict({name: stacked[row] for name, stacked in weights.items()})
    except (RuntimeError, IndexError) as exc:
        raise unreadable(path) from exc
    return net
