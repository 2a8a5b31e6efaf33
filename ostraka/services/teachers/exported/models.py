"""Teachers trained elsewhere: one file of torch.export or TorchScript per teacher."""

import hashlib
import shutil
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.export.passes import move_to_device_pass

from ostraka.common.datasets import Dataset
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning.device import CPU, HOST, Device
from ostraka.common.learning.micro_batches import MicroBatches
from ostraka.common.task import Task
from ostraka.services.teachers.assignment import Slice, assign
from ostraka.services.teachers.config import FILE, TrainingConfig
from ostraka.services.teachers.ensemble import Ensemble
from ostraka.services.teachers.exported.archives import Archive, HarmfulError
from ostraka.services.teachers.guard import VoteGuard, Votes
from ostraka.services.teachers.manifest import ALL, TeachersManifest, unreadable
from ostraka.services.teachers.nets import scores, winners
from ostraka.services.teachers.preparation import (
    abstentions,
    describe,
    features,
    find_encoder,
    training_words,
)
from ostraka.services.teachers.tuning import require_others, tune

TRIED = (1, 2, 3)
"""Batch sizes that a model must support: a single size would say nothing about others."""
ROUNDING = 0.05
"""Allowed difference of logits between batch sizes, as a fraction of the largest logit."""
_Model = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class _Placed:
    """A model, its device, and its batch size."""

    model: _Model
    micro: MicroBatches


class Exported:
    """Exported networks of records (Q, *shape) to logits (Q, classes); not thread-safe.

    Attributes:
        digests: SHA-256 of every model's file, hexadecimal.
    """

    def __init__(
        self, files: Sequence[Path], shape: tuple[int, ...], classes: int, device: Device = HOST
    ) -> None:
        """Read the models in the order of their teachers, and put each on one of the device's places.

        Raises:
            OstrakaError: `model.invalid` for a file that is not a model, that may not be loaded, or whose
                model does not map any number of records to logits, each record alone.
        """
        self._files = files
        self._shape = shape
        self.digests = tuple(_digest(file) for file in files)
        micro = {place: MicroBatches(device, place) for place in device.places}
        places = [device.places[row % len(device.places)] for row in range(len(files))]
        self._models = [
            _Placed(_read(file, place), micro[place]) for file, place in zip(files, places, strict=True)
        ]
        for file, model in zip(files, self._models, strict=True):
            self._try(file, model, classes)

    @torch.inference_mode()
    def predict(self, X: NDArray[np.float32], guard: VoteGuard, rows: slice = ALL) -> Votes:
        """Return votes (rows, Q), or scores (rows, Q, labels), of these models on flat records (Q, F)."""
        read = scores if guard.multi_label else winners
        votes = [guard.votes(partial(self._votes, placed, read), X, 1) for placed in self._models[rows]]
        return np.concatenate(votes)

    def _votes(self, placed: "_Placed", read: _Model, X: NDArray[np.float32]) -> Votes:
        records = torch.from_numpy(np.ascontiguousarray(X)).reshape(-1, *self._shape)
        parts = placed.micro.evaluate(lambda some: read(placed.model(some)), records)
        return torch.cat(parts)[None].cpu().numpy()

    def memory_bytes(self) -> int:
        """Return the bytes of the files, which is the GPU memory without the programs."""
        on_cards = any(placed.micro.place.type != CPU for placed in self._models)
        return sum(file.stat().st_size for file in self._files) if on_cards else 0

    def unload(self) -> None:
        """Do nothing: the programs stay where they were loaded."""

    def save(self, folder: Path) -> None:
        """Copy the files."""
        for row, file in enumerate(self._files):
            shutil.copyfile(file, _place(folder, row))

    @classmethod
    def load(cls, folder: Path, manifest: TeachersManifest, device: Device = HOST) -> "Exported":
        """Read the models; raise `model.invalid` if a file is missing or differs from the manifest."""
        files = [_place(folder, row) for row in range(manifest.teachers)]
        for file, digest in zip(files, manifest.files, strict=True):
            if _digest(file) != digest:
                raise unreadable(file)
        return cls(files, manifest.shape, manifest.classes, device)

    def _try(self, file: Path, model: "_Placed", classes: int) -> None:
        """Test a record of zeros, alone and with others: a vote must not depend on the other records."""
        alone, *beside = [self._first_logits(file, model, classes, records) for records in TRIED]
        allowed = ROUNDING * alone.abs().max()
        if any(bool(((logits - alone).abs() > allowed).any()) for logits in beside):
            raise not_hosted(file, "gives a record other logits each time, or beside other records")

    @torch.inference_mode()
    def _first_logits(self, file: Path, placed: "_Placed", classes: int, records: int) -> Tensor:
        """Return the logits (classes,) of zeros, in a batch of `records` alternating zeros and ones."""
        values = torch.arange(records, device=placed.micro.place) % 2
        asked = values.float().reshape(-1, *[1] * len(self._shape)).expand(-1, *self._shape).contiguous()
        try:
            logits = placed.model(asked)
            found = tuple(logits.shape)
        except Exception as exc:
            problem = f"cannot take {records} records of shape {self._shape} ({type(exc).__name__})"
            raise not_hosted(file, problem) from exc
        if found != (records, classes):
            raise not_hosted(file, f"gives shape {found} for {records} records and {classes} classes")
        return logits[0].float()


def not_hosted(file: Path, problem: str) -> OstrakaError:
    """Return the error for the file of an exported model."""
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
        # Loading TorchScript is deprecated in torch, but many still have such files.
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


MEANT = {"teachers", "model", "encoder", "thresholds", "abstains", "consent"}
"""Settings that also apply to models trained elsewhere."""


def host(
    dataset: Dataset,
    task: Task,
    config: TrainingConfig,
    *,
    folder: Path,
    public: Dataset | None = None,
    device: Device = HOST,
) -> Ensemble:
    """Host the exported models that `config.model` names, one teacher per file, in the order of their names.

    The party vouches for what cannot be checked here: that the models were trained on these records, each
    record for one model. Otherwise `max_votes_per_person` must be the number of models that a record was used
    for.

    Args:
        dataset: the labelled records that the models were trained on.
        task: the task.
        config: where the models are, and whether thresholds are tuned.
        folder: base of a relative path.
        public: labelled public records, on which thresholds are tuned.
        device: where models and encoder are tested.

    Raises:
        OstrakaError: `task.mismatch` or `data.*` for records that do not fit the task, `data.too_few` for
            fewer records than models, `model.invalid` for files that are missing or cannot be hosted,
            `config.invalid` for settings of training, for thresholds without public records or on own ones,
            and as `abstentions` does.
    """
    _require_no_training(config, public)
    assert config.model is not None  # noqa: S101 - the caller found a file named there
    abstains = abstentions(task, config.abstains)
    encoder = find_encoder(config, task, device)
    X = features(dataset, task, encoder)[0]
    files = _files(folder / config.model.removeprefix(FILE))
    models = Exported(files, X.shape[1:], len(task.classes), device)
    assigned = assign(dataset, config.model_copy(update={"teachers": len(files)}), 0)
    manifest = TeachersManifest(
        **describe(dataset, task, config, assigned, encoder),
        teachers=len(files),
        model=config.model,
        library="exported",
        training=training_words("trained elsewhere"),
        seed=0,
        shape=X.shape[1:],
        files=models.digests,
        abstains=abstains,
    )
    shown = (
        [] if public is None else [Slice(*features(public, task, encoder, abstains), entropy=())] * len(files)
    )
    if public is not None:
        require_others(public, dataset, task)
    thresholds = tune(models, config, shown, shown[0]) if shown else None
    return Ensemble(manifest, models, encoder, thresholds)


def _require_no_training(config: TrainingConfig, public: Dataset | None) -> None:
    unused = config.settings.model_dump(exclude_defaults=True).keys() - MEANT
    if unused:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            f"{min(unused)} is for training, and {config.model} is hosted as it is: take it out of "
            "[training] in site.toml, or name a model to train.",
        )
    if config.thresholds != "none" and public is None:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            "Which records an exported model was trained on is not known here, so its thresholds are tuned "
            "on public ones: name them as threshold_data in [training] of site.toml, or set thresholds to "
            '"none".',
        )


def _files(path: Path) -> Sequence[Path]:
    """Return the file, or all files of a folder."""
    files = sorted(found for found in path.iterdir() if found.is_file()) if path.is_dir() else [path]
    if not files:
        raise not_hosted(path, "is a folder without files")
    return files
