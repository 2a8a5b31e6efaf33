"""A party's teachers, from its records."""

import importlib.metadata
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from common.datasets import Dataset
from common.encoders import Encoder, load_encoder
from common.task import Task
from services.teachers.assignment import assign
from services.teachers.config import HEAD_OF_MODEL, Progress, TrainingConfig
from services.teachers.digests import records_digest, slices_digest
from services.teachers.ensemble import Ensemble, Models
from services.teachers.factory import build
from services.teachers.manifest import TeachersManifest
from services.teachers.recipes import estimators, networks
from services.teachers.resume import Finished, groups, joined
from services.teachers.slices import Slice
from services.teachers.tuning import tune


def train(
    dataset: Dataset,
    task: Task,
    config: TrainingConfig,
    *,
    seed: int,
    progress: Progress | None = None,
    public: Dataset | None = None,
    unfinished: Path | None = None,
) -> Ensemble:
    """Teachers on slices of the records: disjoint, except that upsampling gives a record to several of them.

    Scalers, batches and first weights are a teacher's own: changing one record changes the teachers that it
    was given to and no other. The same records and seed give the same teachers on one machine. A teacher
    whose slice has one class votes for it. Networks of a multi-label task learn every label by its own
    cross-entropy; a label is positive from half.

    Args:
        dataset: labelled records of the task.
        task: what is classified.
        config: which models, how many.
        seed: of slices and training.
        progress: told how many steps are done, and of how many; called from several threads, one at a time.
        public: labelled records of nobody's, on which thresholds are tuned; none: each teacher's own slice.
        unfinished: folder in which teachers are kept as they are finished, for the same training to go on
            from after it was killed; to be removed once the ensemble is saved. None: nothing is kept.

    Raises:
        OstrakaError: `task.mismatch`, `data.*` for records that are not the task's, `data.too_few` for fewer
            records than teachers, `data.missing` or `config.invalid` for consent as `assign` says,
            `config.invalid` for what the model has no use for, `model.invalid` where the model cannot be
            built or trained.
    """
    encoder = load_encoder(config.encoder) if config.encoder else None
    X, y = prepared(dataset, task, encoder)
    assigned = assign(dataset, config, seed)
    parts = [Slice(X[rows], y[rows], (seed, teacher)) for teacher, rows in enumerate(assigned.slices)]
    model = config.model_for(X.shape[1:])
    manifest = TeachersManifest(
        teachers=len(parts),
        records=len(y),
        model=model,
        library=_library(model, X.shape[1:], len(task.classes)),
        training=f"{model}, ostraka {importlib.metadata.version('ostraka')}",
        task_digest=task.digest.hex(),
        seed=seed,
        config=config.settings,
        data_sha256=records_digest(dataset),
        slices_sha256=slices_digest(assigned.slices),
        slice_sizes=tuple(map(len, assigned.slices)),
        classes=len(task.classes),
        multi_label=task.multi_label,
        shape=X.shape[1:],
        constants={row: part.constant for row, part in enumerate(parts) if part.constant is not None},
        variant=config.variant,
        mixed=assigned.mixed,
        head=HEAD_OF_MODEL.get(model, ""),
        encoder=encoder.name if encoder else "",
        encoder_sha256=encoder.sha256.hex() if encoder else "",
        thresholds=config.thresholds,
        groups=assigned.groups,
    )
    models = _fitted(parts, manifest, config, progress or _silent, Finished(unfinished, manifest))
    shown = None if public is None else Slice(*prepared(public, task, encoder), entropy=(seed,))
    return Ensemble(manifest, models, encoder, tune(models, config, parts, shown))


def prepared(
    dataset: Dataset, task: Task, encoder: Encoder | None
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Records as models take them, (N, *shape), and their labels; checked against the task."""
    task.check(dataset)
    X = task.prepare(dataset.X)
    return encoder.encode(X) if encoder else X.reshape(-1, *task.input.shape), dataset.labels()


def _library(model: str, shape: tuple[int, ...], classes: int) -> Literal["torch", "sklearn"]:
    return "sklearn" if hasattr(build(model, shape, classes), "fit") else "torch"


def _fitted(
    parts: Sequence[Slice],
    manifest: TeachersManifest,
    config: TrainingConfig,
    progress: Progress,
    finished: Finished,
) -> Models:
    """One trained model for each slice."""
    fit = (networks if manifest.library == "torch" else estimators)(manifest, config)
    rows = groups(len(parts))
    models = []
    for place, group in enumerate(rows):
        told = _part(progress, place, len(rows))
        slices = parts[group.start : group.stop]
        models.append(finished.models(group, partial(fit, slices, told)))
    return joined(models, manifest)


def _part(progress: Progress, place: int, parts: int) -> Progress:
    """Tells of one of several equal parts as a part of the whole."""
    return lambda done, total: progress(place * total + done, parts * total)


def _silent(done: int, total: int) -> None:
    """Tells nobody."""
