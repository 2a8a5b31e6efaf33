"""Training group by group: a training that was killed goes on after the last group it finished."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from ostraka.common.errors import OstrakaError
from ostraka.common.files.storage import room_in
from ostraka.services.teachers.ensemble import Models, load_models
from ostraka.services.teachers.manifest import TeachersManifest

GROUP = 48
"""Teachers trained, and kept, at a time: what a killed training loses at most."""


def groups(teachers: int) -> list[range]:
    """Split the teachers 0, 1, ... into groups of nearly equal size, at most `GROUP`."""
    parts = np.array_split(np.arange(teachers), -(-teachers // GROUP))
    return [range(int(part[0]), int(part[-1]) + 1) for part in parts]


class Finished:
    """The groups that a training finished, in a folder that is only of use until the ensemble is saved.

    A group counts where its manifest is the one of this training: the same records, settings, seed, task,
    encoder and version. Any other is trained again.
    """

    def __init__(self, folder: Path | None, manifest: TeachersManifest) -> None:
        """Take the folder, None to keep nothing, and what is trained."""
        self._folder = folder
        self._manifest = manifest

    def models(self, rows: range) -> Models | None:
        """Return the group's models, None where they are not finished."""
        if self._folder is None:
            return None
        folder = _group(self._folder, rows)
        try:
            same = TeachersManifest.load(folder) == self._manifest
            return self._load(folder, len(rows)) if same else None
        except OstrakaError:
            return None

    def keep(self, rows: range, models: Models) -> Models:
        """Write a trained group, its manifest last, and return it as it will be found again."""
        if self._folder is None:
            return models
        folder = _group(self._folder, rows)
        shutil.rmtree(folder, ignore_errors=True)
        with room_in(self._folder.parent):
            folder.mkdir(parents=True, mode=0o700)
            models.save(folder)
            self._manifest.save(folder)
        return self._load(folder, len(rows))

    def _load(self, folder: Path, teachers: int) -> Models:
        return load_models(folder, self._manifest.model_copy(update={"teachers": teachers}))


def _group(folder: Path, rows: range) -> Path:
    return folder / f"{rows.start:04d}-{rows.stop:04d}"


def joined(parts: Sequence[Any], manifest: TeachersManifest) -> Models:
    """All models of a training, in the order of their groups."""
    if len(parts) == 1:
        return cast(Models, parts[0])
    if manifest.library == "torch":
        from ostraka.services.teachers.nets import Networks

        return Networks.of(manifest.model, manifest.shape, [net for part in parts for net in part.nets])
    from ostraka.services.teachers.estimators import Estimators

    return Estimators.joined(parts)
