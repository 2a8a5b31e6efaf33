"""Teachers trained elsewhere: one file of torch.export or TorchScript for each."""

import hashlib
import shutil
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.export.passes import move_to_device_pass

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.services.teachers.exported.archives import Archive, HarmfulError
from ostraka.services.teachers.guard import VoteGuard, Votes
from ostraka.services.teachers.layouts.gpu_memory import MicroBatches
from ostraka.services.teachers.layouts.layouts import best_device
from ostraka.services.teachers.manifest import ALL, TeachersManifest, unreadable
from ostraka.services.teachers.nets import scores, winners

TRIED = (1, 2, 3)
"""Records that a model must take at a time: one size alone would tell nothing of others."""
ROUNDING = 0.05
"""Part of the largest logit by which a record's may differ with how many are asked together."""
_Model = Callable[[Tensor], Tensor]


class Exported:
    """Exported networks of records (Q, *shape) to logits (Q, classes); not for several threads at once.

    Attributes:
        digests: SHA-256 of every model's file, hexadecimal.
    """

    def __init__(self, files: Sequence[Path], shape: tuple[int, ...], classes: int) -> None:
        """Read the models in the order of their teachers, on a GPU where there is one.

        Raises:
            OstrakaError: `model.invalid` for a file that is none, that may not be loaded, or whose model does
                not turn any number of records into logits, each by itself.
        """
        self._files = files
        self._shape = shape
        self._device = best_device()
        self._micro = MicroBatches(self._device)
        self.digests = tuple(_digest(file) for file in files)
        self._models = [_read(file, self._device) for file in files]
        for file, model in zip(files, self._models, strict=True):
            self._try(file, model, classes)

    @torch.inference_mode()
    def predict(self, X: NDArray[np.float32], guard: VoteGuard, rows: slice = ALL) -> Votes:
        """Votes (rows, Q), or scores (rows, Q, labels), of these models on flat records (Q, F)."""
        read = scores if guard.multi_label else winners
        votes = [guard.votes(partial(self._votes, model, read), X, 1) for model in self._models[rows]]
        return np.concatenate(votes)

    def _votes(self, model: _Model, read: _Model, X: NDArray[np.float32]) -> Votes:
        records = torch.from_numpy(np.ascontiguousarray(X)).reshape(-1, *self._shape)
        parts = self._micro.evaluate(lambda some: read(model(some)), records)
        return torch.cat(parts)[None].cpu().numpy()

    def save(self, folder: Path) -> None:
        """Copy the files."""
        for row, file in enumerate(self._files):
            shutil.copyfile(file, _place(folder, row))

    @classmethod
    def load(cls, folder: Path, manifest: TeachersManifest) -> "Exported":
        """Read them; raise `model.invalid` where a file is missing, or another than the manifest says."""
        files = [_place(folder, row) for row in range(manifest.teachers)]
        for file, digest in zip(files, manifest.files, strict=True):
            if _digest(file) != digest:
                raise unreadable(file)
        return cls(files, manifest.shape, manifest.classes)

    def _try(self, file: Path, model: _Model, classes: int) -> None:
        """Asks about a record of zeros, alone and beside others: a vote may not depend on these."""
        alone, *beside = [self._first_logits(file, model, classes, records) for records in TRIED]
        allowed = ROUNDING * alone.abs().max()
        if any(bool(((logits - alone).abs() > allowed).any()) for logits in beside):
            raise not_hosted(file, "gives a record other logits each time, or beside other records")

    @torch.inference_mode()
    def _first_logits(self, file: Path, model: _Model, classes: int, records: int) -> Tensor:
        """Logits (classes,) of zeros, asked before ones, zeros, ... until they are so many records."""
        values = torch.arange(records, device=self._device) % 2
        asked = values.float().reshape(-1, *[1] * len(self._shape)).expand(-1, *self._shape).contiguous()
        try:
            logits = model(asked)
            found = tuple(logits.shape)
        except Exception as exc:
            problem = f"cannot take {records} records of shape {self._shape} ({type(exc).__name__})"
            raise not_hosted(file, problem) from exc
        if found != (records, classes):
            raise not_hosted(file, f"gives shape {found} for {records} records and {classes} classes")
        return logits[0].float()


def not_hosted(file: Path, problem: str) -> OstrakaError:
    """Return the refusal of a file of an exported model."""
    return OstrakaError(
        ErrorCode.MODEL_INVALID,
        f"{file} {problem}: export it with torch.export.save or torch.jit.save, in evaluation mode, with a "
        "dynamic number of records of the task's shape, giving one logit for each class.",
    )


def _read(file: Path, device: torch.device) -> _Model:
    try:
        return _load_archive(Archive.read(file), device)
    except HarmfulError as exc:
        raise not_hosted(file, str(exc)) from exc
    except Exception as exc:
        raise not_hosted(file, f"cannot be loaded ({type(exc).__name__})") from exc


def _load_archive(archive: Archive, device: torch.device) -> _Model:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "`torch.jit", DeprecationWarning)
        if archive.script:
            script: _Model = torch.jit.load(archive.repack(), map_location=device).eval()  # type: ignore[no-untyped-call]
            return script
    program = torch.export.load(archive.repack())
    if device.type != "cpu":
        program = move_to_device_pass(program, device)
    module: _Model = program.module(check_guards=False)
    return module


def _digest(file: Path) -> str:
    try:
        with file.open("rb") as content:
            return hashlib.file_digest(content, "sha256").hexdigest()
    except OSError as exc:
        raise not_hosted(file, "cannot be read") from exc


def _place(folder: Path, row: int) -> Path:
    return folder / f"model-{row:04d}.pt2"
