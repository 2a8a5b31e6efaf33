"""Training of a party's teachers from its records, group by group; a killed training is resumed."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from ostraka.common.datasets import Dataset
from ostraka.common.errors import OstrakaError
from ostraka.common.files.durable import room_in
from ostraka.common.learning.device import HOST, Device
from ostraka.common.task import Task
from ostraka.services.teachers.assignment import Slice
from ostraka.services.teachers.config import Progress, TrainingConfig
from ostraka.services.teachers.ensemble import Ensemble, Models, load_models
from ostraka.services.teachers.manifest import TeachersManifest
from ostraka.services.teachers.preparation import prepare
from ostraka.services.teachers.recipes import FitGroups, fit_here

GROUP = 48
"""Number of teachers that are trained and stored together: the most that a killed training loses."""


def groups(teachers: int) -> list[range]:
    """Split the teachers 0, 1, ... into groups of nearly equal size, at most `GROUP`."""
    parts = np.array_split(np.arange(teachers), -(-teachers // GROUP))
    return [range(int(part[0]), int(part[-1]) + 1) for part in parts]


class Finished:
    """The finished groups of a training, in a folder that is needed until the ensemble is saved.

    A group counts if its manifest is this training's: the same records, settings, seed, task, encoder and
    version. Other groups are trained again.
    """

    def __init__(self, folder: Path | None, manifest: TeachersManifest, device: Device) -> None:
        self._folder = folder
        self._manifest = manifest
        self._device = device

    def models(self, rows: range) -> Models | None:
        """Return the group's models, None if they are not finished."""
        if self._folder is None:
            return None
        folder = _group(self._folder, rows)
        try:
            same = TeachersManifest.load(folder) == self._manifest
            return self._load(folder, len(rows)) if same else None
        except OstrakaError:
            return None

    def keep(self, rows: range, models: Models) -> Models:
        """Write a trained group, its manifest last, and return it as it will be loaded again."""
        if self._folder is None:
            return models
        folder = _group(self._folder, rows)
        shutil.rmtree(folder, ignore_errors=True)
        with room_in(self._folder.parent):
            folder.mkdir(parents=True, mode=0o700)
            models.save(folder)
            # Last, because a group counts as finished once its manifest exists.
            self._manifest.save(folder)
        return self._load(folder, len(rows))

    def _load(self, folder: Path, teachers: int) -> Models:
        return load_models(folder, self._manifest.model_copy(update={"teachers": teachers}), self._device)


def _group(folder: Path, rows: range) -> Path:
    return folder / f"{rows.start:04d}-{rows.stop:04d}"


def join(parts: Sequence[Any], manifest: TeachersManifest, device: Device = HOST) -> Models:
    """Return all models of a training, in the order of their groups."""
    if len(parts) == 1:
        return cast(Models, parts[0])
    if manifest.library == "torch":
        from ostraka.services.teachers.nets import Networks

        nets = [net for part in parts for net in part.nets]
        return Networks.of(manifest.model, manifest.shape, nets, device)
    from ostraka.services.teachers.estimators import Estimators

    return Estimators.join(parts)


def train(
    dataset: Dataset,
    task: Task,
    config: TrainingConfig,
    *,
    seed: int,
    progress: Progress | None = None,
    public: Dataset | None = None,
    shared: Dataset | None = None,
    unfinished: Path | None = None,
    device: Device = HOST,
    fit_groups: FitGroups | None = None,
) -> Ensemble:
    """Train teachers on slices of the records, which are disjoint except with upsampling.

    Scalers, batches and initial weights are a teacher's own: changing one record changes only the teachers
    that it was given to. On one machine, the same records and seed give the same teachers. A teacher whose
    slice has one class votes for it. Multi-label networks learn every label with its own cross-entropy; a
    label is positive from one half.

    Args:
        dataset: labelled records of the task.
        task: the task.
        config: which models, how many.
        seed: of slices and training.
        progress: called with the steps done and their total, from several threads, one at a time.
        public: labelled public records, on which thresholds are tuned; None: each teacher's own slice.
        shared: records whose features all sites know, and whose labels are not used; teachers learn from them
            by FixMatch besides their slices. The features of `dataset` must be known as well. None: no
            FixMatch.
        unfinished: folder for finished teachers, from which the same training resumes after it was killed;
            remove it once the ensemble is saved. None: nothing is stored.
        device: where teachers learn and vote, and encoders run.
        fit_groups: trains groups of teachers elsewhere, as `fit_on_ray` does; None: they are trained here.
            With shared features they always are.

    Raises:
        OstrakaError: `task.mismatch`, `data.*` for records that do not fit the task, `data.too_few` for fewer
            records than teachers, `data.missing` or `config.invalid` for consent as `assign` does,
            `config.invalid` for settings that do not apply to the model, `model.invalid` if the model cannot
            be built or trained.
    """
    prepared = prepare(dataset, task, config, seed=seed, public=public, shared=shared, device=device)
    if prepared.shared is not None:
        from ostraka.services.teachers.semi_supervised import fit_on_shared

        fit_groups = fit_on_shared(prepared.shared, device)
    finished = Finished(unfinished, prepared.manifest, device)
    fit_groups = fit_groups or fit_here(device)
    models = _fit_missing(
        prepared.slices, prepared.manifest, config, progress or _silent, finished, fit_groups
    )
    return prepared.ensemble(join(models, prepared.manifest, device))


def _fit_missing(
    parts: Sequence[Slice],
    manifest: TeachersManifest,
    config: TrainingConfig,
    progress: Progress,
    finished: Finished,
    fit_groups: FitGroups,
) -> list[Models]:
    """Return the trained models of each group of slices, in order."""
    rows = groups(len(parts))
    models = {group: known for group in rows if (known := finished.models(group)) is not None}
    missing = [group for group in rows if group not in models]
    slices = [parts[group.start : group.stop] for group in missing]
    told = _after(progress, len(rows) - len(missing), len(missing))
    for group, fitted in zip(missing, fit_groups(slices, manifest, config, told), strict=True):
        models[group] = finished.keep(group, fitted)
    return [models[group] for group in rows]


def _after(progress: Progress, finished: int, missing: int) -> Progress:
    """Report the progress of the missing groups as progress of all groups."""
    return lambda done, total: progress(finished * total + missing * done, (finished + missing) * total)


def _silent(done: int, total: int) -> None:
    """Do nothing."""
