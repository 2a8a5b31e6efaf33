"""A training kept in a file, so that it goes on where it was killed."""

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from common.files import replace_durably
from common.learning.data import Labelled
from common.learning.learning import Learning, Look
from common.learning.objective import Objective

if TYPE_CHECKING:
    from common.learning.loop import _Course

_HEADER = "ostraka"


class Checkpoint:
    """A file of tensors with a JSON header (safetensors), replaced whole; none: nothing is kept.

    A file of any other training, or a damaged one, is not used and is replaced.
    """

    def __init__(self, path: Path | None, training: str) -> None:
        """Takes the file, and the training's fingerprint."""
        self._path = path
        self._training = training

    def save(self, course: "_Course") -> None:
        """Keeps the training as it stands."""
        if self._path is None:
            return
        watch = course.watch
        header = {
            "training": self._training,
            "done": course.done,
            "waited": watch.waited,
            "best_step": watch.best_step,
            "looks": [asdict(look) for look in watch.looks],
        }
        self._path.parent.mkdir(parents=True, exist_ok=True)
        replace_durably(self._path, save(_tensors(course), {_HEADER: json.dumps(header)}))

    def restore(self, course: "_Course") -> None:
        """Puts the training where the file says it stood, if the file is of the same training."""
        found = self._read()
        if found is None:
            return
        header, tensors = found
        parts = _parts(tensors)
        course.net.load_state_dict(parts["net"])
        course.average.net.load_state_dict(parts["average"])
        course.random.set_state(parts["random"]["state"])
        course.draws.left = parts["left"]["labelled"].to(course.random.device)
        course.pool_draws.left = parts["left"]["unlabeled"].to(course.random.device)
        _restore_optimizer(course.optimizer, parts["optimizer"])
        course.done = header["done"]
        watch = course.watch
        watch.waited, watch.best_step = header["waited"], header["best_step"]
        watch.looks = [Look(**look) for look in header["looks"]]
        watch.best = parts.get("best", {})
        if "mistakes" in parts:
            watch.best_mistakes = parts["mistakes"]["best"].numpy()

    def remove(self) -> None:
        """Removes the file of a training that is done."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)

    def _read(self) -> tuple[dict[str, Any], dict[str, Tensor]] | None:
        if self._path is None or not self._path.exists():
            return None
        try:
            with safe_open(self._path, "pt") as file:
                header = json.loads(file.metadata()[_HEADER])
                if header["training"] != self._training:
                    return None
                return header, {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        except (OSError, SafetensorError, ValueError, KeyError, TypeError):
            return None


def fingerprint(
    net: nn.Module,
    objective: Objective,
    labelled: Labelled,
    unlabeled: NDArray[np.float32] | None,
    validation: Labelled | None,
    learning: Learning,
    seed: int,
) -> str:
    """SHA-256, hexadecimal, of all that a training depends on."""
    digest = hashlib.sha256(repr((objective, learning, seed, torch.__version__)).encode())
    for name, value in net.state_dict().items():
        _add(digest, name, value.cpu().numpy())
    records = {"labelled": labelled, "validation": validation}
    for name, part in records.items():
        for column in () if part is None else (part.X, part.targets(int(part.y.max(initial=0)) + 1)):
            _add(digest, name, column)
    if unlabeled is not None:
        _add(digest, "unlabeled", unlabeled)
    return digest.hexdigest()


def _add(digest: Any, name: str, values: NDArray[Any]) -> None:
    digest.update(f"{name} {values.shape} {values.dtype}".encode())
    digest.update(np.ascontiguousarray(values).tobytes())


def _tensors(course: "_Course") -> dict[str, Tensor]:
    """All that changes in a training, named "part/name"."""
    parts: dict[str, dict[str, Tensor]] = {
        "net": course.net.state_dict(),
        "average": course.average.net.state_dict(),
        "random": {"state": course.random.get_state()},
        "left": {"labelled": course.draws.left, "unlabeled": course.pool_draws.left},
        "optimizer": _optimizer(course.optimizer),
        "best": course.watch.best,
    }
    if course.watch.best_mistakes is not None:
        parts["mistakes"] = {"best": torch.from_numpy(course.watch.best_mistakes)}
    return {
        f"{part}/{name}": value.contiguous()
        for part, values in parts.items()
        for name, value in values.items()
    }


def _parts(tensors: dict[str, Tensor]) -> dict[str, dict[str, Tensor]]:
    parts: dict[str, dict[str, Tensor]] = {}
    for name, value in tensors.items():
        part, _, rest = name.partition("/")
        parts.setdefault(part, {})[rest] = value
    return parts


def _optimizer(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    state = optimizer.state_dict()["state"]
    return {f"{row}/{name}": value for row, values in state.items() for name, value in values.items()}


def _restore_optimizer(optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    state: dict[int, dict[str, Tensor]] = {}
    for name, value in tensors.items():
        row, _, rest = name.partition("/")
        state.setdefault(int(row), {})[rest] = value
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
