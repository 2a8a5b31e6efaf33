"""A party's teachers, ready to vote."""

import shutil
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ostraka.common.datasets.label_columns import UNKNOWN
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.files.durable import room_in
from ostraka.common.learning.device import HOST, Device
from ostraka.common.learning.encoders import Encoder, load_encoder
from ostraka.common.task import Task
from ostraka.services.teachers.guard import VoteGuard, Votes, device_gone
from ostraka.services.teachers.manifest import ALL, TeachersManifest
from ostraka.services.teachers.thresholds import Thresholds


class Models(Protocol):
    """Trained models of one library."""

    def predict(self, X: NDArray[np.float32], guard: VoteGuard, rows: slice) -> Votes:
        """Return votes (rows, Q), or scores (rows, Q, labels), of these models on records (Q, F).

        The guard handles failures; raises `server.device_gone`.
        """
        ...

    def save(self, folder: Path) -> None:
        """Write the models into an existing folder."""
        ...

    def memory_bytes(self) -> int:
        """Return the bytes that GPUs hold for them."""
        ...

    def unload(self) -> None:
        """Free GPU memory that the next prediction can fill again."""
        ...


class NoModels:
    """The models of a party without teachers, whose records answer only sums."""

    def predict(self, X: NDArray[np.float32], guard: VoteGuard, rows: slice) -> Votes:
        """Return no votes: (0, Q) or (0, Q, labels)."""
        return guard.fallback(0, len(X))

    def save(self, folder: Path) -> None:
        """Write nothing."""

    def memory_bytes(self) -> int:
        """Return 0."""
        return 0

    def unload(self) -> None:
        """Do nothing."""


class Ensemble:
    """All teachers of one party, with their manifest; used by one thread at a time."""

    def __init__(
        self,
        manifest: TeachersManifest,
        models: Models,
        encoder: Encoder | None = None,
        thresholds: Thresholds | None = None,
    ) -> None:
        self.manifest = manifest
        self.models = models
        self.thresholds = thresholds
        self.encoder = encoder
        self._guard = VoteGuard(manifest.classes, multi_label=manifest.multi_label)

    def predict(self, X: NDArray[np.float32], rows: slice = ALL) -> Votes:
        """Return the votes of these teachers on records (Q, F) as `Task.prepare` returns them.

        Votes are class indices, int64 (teachers, Q); a model that fails, or whose output is not a class,
        votes for class 0. Multi-label, they are scores, float32 (teachers, Q, labels) in [0, 1], and a label
        is positive from 0.5, whatever the teacher's threshold. A model that fails, or with a score that is
        not a number, votes for no label; so do all on labels that the manifest abstains from.

        Raises:
            OstrakaError: `server.device_gone` if models, or the encoder, also fail on a record of zeros;
                `model.invalid` if the encoder fails only on these records.
        """
        teachers = range(self.manifest.teachers)[rows]
        if len(X) == 0:
            return self._guard.fallback(len(teachers), 0)
        features = _encode(self.encoder, X) if self.encoder else X
        votes = self.models.predict(features, self._guard, rows)
        if self.thresholds is not None:
            votes = self.thresholds.shift(votes, rows)
        for place, teacher in enumerate(teachers):
            if teacher in self.manifest.constants:
                votes[place] = self.manifest.constants[teacher]
        if self.manifest.abstains:
            votes[..., list(self.manifest.abstains)] = 0
        return votes

    def require_task(self, task: Task) -> None:
        """Raise `task.mismatch` unless the teachers were trained for exactly this task."""
        if self.manifest.task_digest != task.digest.hex():
            raise OstrakaError(
                ErrorCode.TASK_MISMATCH,
                f"The teachers were trained for another task than '{task.name}' as it stands in task.toml: "
                "restore that file, or run `ostraka party train` again.",
            )

    def save(self, folder: Path) -> None:
        """Write models and manifest into `folder`, replacing any previous ensemble.

        If writing fails, the previous ensemble stays and nothing else is left; raises `storage.full`.
        """
        partial = folder.with_name(folder.name + ".partial")
        shutil.rmtree(partial, ignore_errors=True)
        # Written next to the old ensemble and renamed at the end, so a full disk leaves the old one intact.
        try:
            with room_in(folder.parent):
                self._write(partial)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise
        shutil.rmtree(folder, ignore_errors=True)
        partial.rename(folder)

    def _write(self, folder: Path) -> None:
        folder.mkdir(parents=True, mode=0o700)
        self.models.save(folder)
        if self.thresholds is not None:
            self.thresholds.save(folder)
        self.manifest.save(folder)

    @classmethod
    def load(cls, folder: Path, device: Device = HOST) -> "Ensemble":
        """Read what `save` wrote; models and encoder compute on this device.

        Raises `model.invalid` if it is missing, damaged or untrusted, or its encoder has changed.
        """
        manifest = TeachersManifest.load(folder)
        encoder = _same_encoder(manifest, device) if manifest.encoder else None
        tuned = manifest.thresholds != "none"
        thresholds = Thresholds.load(folder, manifest.teachers, manifest.classes) if tuned else None
        return cls(manifest, load_models(folder, manifest, device), encoder, thresholds)


def load_models(folder: Path, manifest: TeachersManifest, device: Device = HOST) -> Models:
    """Load the models of a folder; only their own library is imported."""
    if manifest.library == "none":
        return NoModels()
    if manifest.library == "torch":
        from ostraka.services.teachers.nets import Networks

        return Networks.load(folder, manifest, device)
    if manifest.library == "exported":
        from ostraka.services.teachers.exported.models import Exported

        return Exported.load(folder, manifest, device)
    from ostraka.services.teachers.estimators import Estimators

    return Estimators.load(folder, manifest)


def _encode(encoder: Encoder, X: NDArray[np.float32]) -> NDArray[np.float32]:
    try:
        return encoder.encode(X)
    except OstrakaError:
        try:
            encoder.width(X.shape[1])
        except OstrakaError as exc:
            raise device_gone(type(exc.__cause__ or exc).__name__) from exc
        raise


def _same_encoder(manifest: TeachersManifest, device: Device) -> Encoder:
    """Return the encoder that the teachers were trained with."""
    encoder = load_encoder(manifest.encoder, device)
    if encoder.sha256.hex() != manifest.encoder_sha256:
        raise OstrakaError(
            ErrorCode.MODEL_INVALID,
            f"The encoder {manifest.encoder} has other weights than when the teachers were trained: restore "
            "them, or run `ostraka party train` again.",
        )
    return encoder


def accuracy(votes: Votes, y: NDArray[np.int64], classes: int) -> float:
    """Return the share of queries whose plurality of votes (teachers, Q) is y (Q,); lower classes win
    ties."""
    counts = np.stack([(votes == label).sum(axis=0) for label in range(classes)])
    return float((counts.argmax(axis=0) == y).mean())


def label_accuracy(scores: Votes, y: NDArray[np.int64]) -> float:
    """Return the share of the known labels y (Q, k) that most teachers' scores (teachers, Q, k) predict.

    A score is positive from 0.5; a label needs more than half of the teachers.
    """
    positives = (scores >= np.float32(0.5)).sum(axis=0)
    return float(np.equal(2 * positives > len(scores), y)[y != UNKNOWN].mean())
