"""A party's teachers, from its records."""

import importlib.metadata
from collections.abc import Sequence
from typing import Literal

from common.datasets import Dataset
from common.encoders import load_encoder
from common.task import Task
from services.teachers.assignment import assign
from services.teachers.config import HEAD_OF_MODEL, Progress, TrainingConfig
from services.teachers.ensemble import Ensemble, Models
from services.teachers.factory import build
from services.teachers.manifest import TeachersManifest
from services.teachers.slices import Slice


def train(
    dataset: Dataset,
    task: Task,
    config: TrainingConfig,
    *,
    seed: int,
    progress: Progress | None = None,
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

    Raises:
        OstrakaError: `task.mismatch`, `data.*` for records that are not the task's, `data.too_few` for fewer
            records than teachers, `data.missing` or `config.invalid` for consent as `assign` says,
            `model.invalid` where the model cannot be built or trained.
    """
    task.check(dataset)
    X, y = task.prepare(dataset.X), dataset.labels()
    encoder = load_encoder(config.encoder) if config.encoder else None
    X = encoder.encode(X) if encoder else X.reshape(-1, *task.input.shape)
    assigned = assign(dataset, config, seed)
    parts = [Slice(X[rows], y[rows], (seed, teacher)) for teacher, rows in enumerate(assigned.slices)]
    model = config.model_for(X.shape[1:])
    library, models = _fitted(parts, model, len(task.classes), config, progress or _silent)
    manifest = TeachersManifest(
        teachers=len(parts),
        records=len(y),
        model=model,
        library=library,
        training=f"{model}, ostraka {importlib.metadata.version('ostraka')}",
        task_digest=task.digest.hex(),
        seed=seed,
        classes=len(task.classes),
        multi_label=task.multi_label,
        shape=X.shape[1:],
        constants={row: part.constant for row, part in enumerate(parts) if part.constant is not None},
        variant=config.variant,
        mixed=assigned.mixed,
        head=HEAD_OF_MODEL.get(model, ""),
        encoder=encoder.name if encoder else "",
        encoder_sha256=encoder.sha256.hex() if encoder else "",
        groups=assigned.groups,
    )
    return Ensemble(manifest, models, encoder)


def _fitted(
    parts: Sequence[Slice], model: str, classes: int, config: TrainingConfig, progress: Progress
) -> tuple[Literal["torch", "sklearn"], Models]:
    """Which library the model is of, and one trained on each slice."""
    if hasattr(build(model, parts[0].X.shape[1:], classes), "fit"):
        from services.teachers.estimators import fit_estimators

        return "sklearn", fit_estimators(parts, model, classes, progress)
    from services.teachers.fitting import fit_networks
    from services.teachers.nets import Networks

    nets = fit_networks(parts, model, classes, config, progress)
    return "torch", Networks.of(model, parts[0].X.shape[1:], nets)


def _silent(done: int, total: int) -> None:
    """Tells nobody."""
