"""A training as numbers and tensors, saved in a file, so that it can resume after it was killed."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.files.durable import replace_durably

Part = Mapping[str, Tensor]


@dataclass(frozen=True, eq=False)
class State:
    """The state of a training.

    Attributes:
        notes: the part that JSON can represent.
        parts: its tensors, by part and name.
    """

    notes: Mapping[str, Any]
    parts: Mapping[str, Part] = field(repr=False)


_HEADER = "ostraka"


class Checkpoint:
    """A file of tensors with a JSON header (safetensors), always replaced as a whole; without a path no file.

    A file of any other training, or a damaged one, is not used and is replaced.
    """

    def __init__(self, path: Path | None, training: str) -> None:
        self._path = path
        self._training = training

    def save(self, state: State) -> None:
        """Save the current state of the training; raise `config.invalid` if it cannot be written."""
        if self._path is None:
            return
        tensors = {
            f"{part}/{name}": value.cpu().contiguous()
            for part, values in state.parts.items()
            for name, value in values.items()
        }
        header = json.dumps({"training": self._training, "notes": dict(state.notes)})
        _replace(self._path, save(tensors, {_HEADER: header}))

    def read(self) -> State | None:
        """Return the training's state in the file; None unless it is intact and of the same training."""
        if self._path is None or not self._path.exists():
            return None
        try:
            with safe_open(self._path, "pt") as file:
                header = json.loads(file.metadata()[_HEADER])
                if header["training"] != self._training:
                    return None
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            return State(header["notes"], _parts(tensors))
        except (OSError, SafetensorError, ValueError, KeyError, TypeError):
            return None

    def remove(self) -> None:
        """Remove the file of a finished training."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)


def _replace(path: Path, content: bytes) -> None:
    """Replace a checkpoint's file, and create its folder; raise `config.invalid` if that is impossible."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_durably(path, content)
    except OSError as exc:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            f"Cannot write the checkpoint {path} ({exc.strerror}): name another folder, or learn without.",
        ) from exc


def _parts(tensors: dict[str, Tensor]) -> dict[str, dict[str, Tensor]]:
    """Return tensors named "part/name", by part and name."""
    parts: dict[str, dict[str, Tensor]] = {}
    for name, value in tensors.items():
        part, _, rest = name.partition("/")
        parts.setdefault(part, {})[rest] = value
    return parts
