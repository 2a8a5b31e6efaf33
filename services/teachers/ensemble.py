"""A party's teachers, ready to vote."""

import shutil
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from common.errors import ErrorCode, OstrakaError
from common.task import Task
from protos.ostraka.v1 import common_pb2
from services.teachers.guard import Guard, Votes
from services.teachers.manifest import TeachersManifest

GROUP = "all"
"""Name of the one group that a party's records share a budget in."""


class Teacher(Protocol):
    """One model."""

    def predict(self, X: NDArray[np.float32]) -> Votes:
        """Class indices (Q,), or scores (Q, labels), of records (Q, F), as `Task.prepare` gives them."""
        ...


class Models(Protocol):
    """Trained models of one library."""

    def predict(self, X: NDArray[np.float32], guard: Guard) -> Votes:
        """Votes (models, Q), or scores (models, Q, labels), on records (Q, F); the guard takes failures."""
        ...

    def save(self, folder: Path) -> None:
        """Writes the models into an existing folder."""
        ...


class Ensemble:
    """All teachers of one party and what is known of them; one thread at a time asks it."""

    def __init__(self, manifest: TeachersManifest, models: Models) -> None:
        """Takes one model for each teacher."""
        self.manifest = manifest
        self._models = models
        self._guard = Guard(manifest.classes, multi_label=manifest.multi_label)

    @property
    def groups(self) -> list[common_pb2.Group]:
        """The records and teachers to declare: one group."""
        return [common_pb2.Group(name=GROUP, records=self.manifest.records, teachers=self.manifest.teachers)]

    @property
    def training(self) -> str:
        """How the teachers were trained, for people."""
        return self.manifest.training

    def predict(self, X: NDArray[np.float32]) -> Votes:
        """Every teacher's vote on records (Q, F) as `Task.prepare` gives them.

        Class indices, int64 (teachers, Q); a model that fails, or whose answer is no class, votes for class
        0. In multi-label tasks scores, float32 (teachers, Q, labels) in [0, 1], a label positive from 0.5; a
        model that fails, or one of whose scores is no number, votes for no label.
        """
        if len(X) == 0:
            return self._guard.fallback(self.manifest.teachers, 0)
        votes = self._models.predict(X, self._guard)
        for row, label in self.manifest.constants.items():
            votes[row] = label
        return votes

    def require_task(self, task: Task) -> None:
        """Raises `task.mismatch` unless the teachers were trained for this very task."""
        if self.manifest.task_digest != task.digest.hex():
            raise OstrakaError(
                ErrorCode.TASK_MISMATCH,
                f"The teachers were trained for another task than '{task.name}' as it stands in task.toml: "
                "restore that file, or run `ostraka party train` again.",
            )

    def save(self, folder: Path) -> None:
        """Writes models and manifest into `folder`, in place of whatever ensemble it held."""
        partial = folder.with_name(folder.name + ".partial")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True, mode=0o700)
        self._models.save(partial)
        self.manifest.save(partial)
        shutil.rmtree(folder, ignore_errors=True)
        partial.rename(folder)

    @classmethod
    def load(cls, folder: Path) -> "Ensemble":
        """Reads what `save` wrote; raises `model.invalid` where it is missing, damaged or untrusted."""
        manifest = TeachersManifest.load(folder)
        if manifest.library == "torch":
            from services.teachers.nets import Networks

            return cls(manifest, Networks.load(folder, manifest))
        from services.teachers.estimators import Estimators

        return cls(manifest, Estimators.load(folder, manifest))
