"""Distribution of a party's records to its teachers, before training."""

import hashlib
import importlib.metadata
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ostraka.common.crypto.linear.products import MAX_PRODUCT_FEATURES
from ostraka.common.datasets import Dataset
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning.device import HOST, Device
from ostraka.common.learning.encoders import Encoder, load_encoder
from ostraka.common.task import Task
from ostraka.common.task.persons import Persons
from ostraka.services.teachers.assignment import Assignment, Rows, Slice, assign
from ostraka.services.teachers.config import TrainingConfig, is_file
from ostraka.services.teachers.ensemble import Ensemble, Models, NoModels
from ostraka.services.teachers.factory import build
from ostraka.services.teachers.manifest import TeachersManifest
from ostraka.services.teachers.options import Together
from ostraka.services.teachers.tuning import require_labels, require_others, tune


@dataclass(frozen=True)
class Prepared:
    """The input of training.

    Attributes:
        config: the training settings.
        slices: each teacher's records.
        manifest: of the future ensemble.
        encoder: the public network that encodes their input.
        public: labelled public records, on which thresholds are tuned; None: each teacher's own slice.
        shared: features that all sites know, as models take them, from which teachers learn by FixMatch;
            None: they do not.
    """

    config: TrainingConfig
    slices: Sequence[Slice] = field(repr=False)
    manifest: TeachersManifest
    encoder: Encoder | None = field(repr=False)
    public: Slice | None = field(repr=False)
    shared: NDArray[np.float32] | None = field(repr=False)

    def ensemble(self, models: Models) -> Ensemble:
        """Return the trained models, one per slice, as an ensemble; tune their thresholds."""
        thresholds = tune(models, self.config, self.slices, self.public)
        return Ensemble(self.manifest, models, self.encoder, thresholds)


def prepare(
    dataset: Dataset,
    task: Task,
    config: TrainingConfig,
    *,
    seed: int,
    public: Dataset | None = None,
    shared: Dataset | None = None,
    together: Together | Literal[""] = "",
    device: Device = HOST,
) -> Prepared:
    """Return slices of the records, and the declaration of the teachers that learn from them.

    Teachers that learn `together` with other parties' know more classes than their slices have, so none of
    them always votes for one class.

    Raises:
        OstrakaError: `task.mismatch`, `data.*` for records that do not fit the task, `data.too_few` for fewer
            records than teachers, `data.missing` or `config.invalid` for consent as `assign` does,
            `model.invalid` if the model cannot be built, `config.invalid` if it cannot be trained jointly,
            for thresholds in a single-label task or on own records, or as `abstentions` does.
    """
    require_labels(config, multi_label=task.multi_label)
    abstains = _abstains(task, config, joint=bool(together))
    encoder = find_encoder(config, task, device)
    X, y = features(dataset, task, encoder, abstains)
    persons = Persons.of(task, dataset)
    assigned = assign(dataset, config, seed, None if persons is None else persons.of_record)
    if config.head == "square":
        _require_products(X.shape[1:])
    parts = [Slice(X[rows], y[rows], (seed, teacher)) for teacher, rows in enumerate(assigned.slices)]
    model = config.model_for(X.shape[1:])
    library = _library(model, X.shape[1:], len(task.classes), joint=bool(together))
    known = None if shared is None else inputs(shared, task, encoder)
    shown = None if public is None else Slice(*features(public, task, encoder, abstains), entropy=(seed,))
    if public is not None:
        require_others(public, dataset, task)
    constants = {row: part.constant for row, part in enumerate(parts) if part.constant is not None}
    manifest = TeachersManifest(
        **describe(dataset, task, config, assigned, encoder),
        teachers=len(parts),
        model=model,
        library=library,
        training=training_words(model),
        seed=seed,
        slices_sha256=slices_digest(assigned.slices),
        slice_sizes=tuple(map(len, assigned.slices)),
        shape=X.shape[1:],
        constants={} if together else constants,
        variant=config.variant,
        head=config.head or "",
        together=together,
        abstains=abstains,
        shared_features=shared is not None,
        shared_sha256=features_digest(known) if known is not None else "",
        persons=0 if persons is None else len(persons),
        whole_persons=task.persons,
    )
    return Prepared(config, parts, manifest, encoder, shown, known)


def declare_records(
    dataset: Dataset, task: Task, config: TrainingConfig, *, seed: int, device: Device = HOST
) -> Ensemble:
    """Return the declaration of records that answer only sums, as an ensemble without teachers.

    Raises `task.mismatch`, `data.*` for records that do not fit the task, `model.invalid` if they do not fit
    the encoder, `config.invalid` as `abstentions`.
    """
    task.check(dataset)
    encoder = find_encoder(config, task, device)
    persons = Persons.of(task, dataset)
    assigned = assign(dataset, config, seed, None if persons is None else persons.of_record)
    features = len(task.features)
    manifest = TeachersManifest(
        **describe(dataset, task, config, assigned, encoder) | {"thresholds": "none"},
        teachers=0,
        model="",
        library="none",
        training=training_words("no teachers"),
        seed=seed,
        shape=(encoder.width(features),) if encoder else task.input.shape,
        abstains=abstentions(task, config.abstains),
        persons=0 if persons is None else len(persons),
        whole_persons=task.persons,
    )
    return Ensemble(manifest, NoModels(), encoder)


def find_encoder(config: TrainingConfig, task: Task, device: Device) -> Encoder | None:
    """Return the encoder that the configuration names, else the task's projection, if there is one.

    Raises `model.invalid` and `device.*` as `load_encoder` does.
    """
    name = config.encoder or task.encoder
    return load_encoder(name, device) if name else None


def describe(
    dataset: Dataset, task: Task, config: TrainingConfig, assigned: Assignment, encoder: Encoder | None
) -> dict[str, Any]:
    """Return a manifest's fields on records, task and settings, wherever teachers were trained."""
    return {
        "records": len(dataset),
        "task_digest": task.digest.hex(),
        "config": config.settings,
        "data_sha256": records_digest(dataset),
        "classes": task.outputs,
        "multi_label": task.multi_label,
        "mixed": assigned.mixed,
        "encoder": encoder.name if encoder else "",
        "encoder_sha256": encoder.sha256.hex() if encoder else "",
        "thresholds": config.thresholds,
        "groups": assigned.groups,
    }


def training_words(what: str) -> str:
    """Return a manifest's text on how teachers were trained."""
    return f"{what}, ostraka {importlib.metadata.version('ostraka')}"


def features(
    dataset: Dataset, task: Task, encoder: Encoder | None, abstains: Sequence[int] = ()
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return records as models take them, (N, *shape), and their labels; checked against the task.

    Labels that the party abstains from are 0.
    """
    return inputs(dataset, task, encoder), hide_labels(dataset.labels(), abstains)


def inputs(dataset: Dataset, task: Task, encoder: Encoder | None) -> NDArray[np.float32]:
    """Return records as models take them, (N, *shape), labelled or not; checked against the task."""
    task.check(dataset)
    X = task.prepare(dataset.X)
    return encoder.encode(X) if encoder else X.reshape(-1, *task.input.shape)


def _require_products(shape: tuple[int, ...]) -> None:
    """Raise `model.invalid` for records with too many features to send all pairwise products."""
    features = math.prod(shape)
    if features > MAX_PRODUCT_FEATURES:
        raise OstrakaError(
            ErrorCode.MODEL_INVALID,
            f"Head square takes at most {MAX_PRODUCT_FEATURES} features and records have {features}: name "
            f"`projection = {MAX_PRODUCT_FEATURES}` in the task, at all sites, or choose another head.",
        )


def _abstains(task: Task, config: TrainingConfig, *, joint: bool) -> tuple[int, ...]:
    """Return the labels on which teachers do not vote; raise if there are any in joint training."""
    abstains = abstentions(task, config.abstains)
    if joint and abstains:
        raise _all_labels()
    return abstains


def _alone(model: str) -> OstrakaError:
    return OstrakaError(
        ErrorCode.CONFIG_INVALID,
        f"Networks that are trained here learn together, and {model} is none: give --model logistic, mlp or "
        "cnn, or train without --training.",
    )


def _all_labels() -> OstrakaError:
    return OstrakaError(
        ErrorCode.CONFIG_INVALID,
        "Teachers that learn together learn all labels: take abstains out of [training] in site.toml, or "
        "train without --training.",
    )


def _library(model: str, shape: tuple[int, ...], classes: int, *, joint: bool) -> Literal["torch", "sklearn"]:
    """Return the library of a model.

    Raise `config.invalid` if it cannot be trained jointly but should be, `model.invalid` if it is not
    allowed.
    """
    if joint and is_file(model):
        raise _alone(model)
    built = build(model, shape, classes)
    if not hasattr(built, "fit"):
        return "torch"
    if joint:
        raise _alone(model)
    _require_allowed(built, model)
    return "sklearn"


def _require_allowed(estimator: Any, model: str) -> None:
    """Refuse an estimator that could not be stored, before it is trained."""
    from ostraka.common.estimators.allowed import require_allowed
    from ostraka.common.estimators.boosters import library_of, require_keepable

    check = require_keepable if library_of(estimator) else require_allowed
    check(estimator, model)


def records_digest(dataset: Dataset) -> str:
    """Return the SHA-256 of records, labels and consent levels in order, hexadecimal."""
    y = dataset.targets()
    digest = hashlib.sha256(repr((dataset.X.shape, y.shape)).encode())
    digest.update(dataset.X.tobytes())
    digest.update(y.tobytes())
    digest.update("\n".join(dataset.consent or ()).encode())
    return digest.hexdigest()


def features_digest(X: NDArray[np.float32]) -> str:
    """Return the SHA-256 of prepared features in order, hexadecimal."""
    digest = hashlib.sha256(repr(X.shape).encode())
    digest.update(np.ascontiguousarray(X).tobytes())
    return digest.hexdigest()


def slices_digest(slices: Sequence[Rows]) -> str:
    """Return the SHA-256 of every teacher's rows of the records, teacher by teacher, hexadecimal."""
    digest = hashlib.sha256(repr([len(rows) for rows in slices]).encode())
    for rows in slices:
        digest.update(rows.astype(np.int64).tobytes())
    return digest.hexdigest()


def abstentions(task: Task, names: Sequence[str]) -> tuple[int, ...]:
    """Return the indices of these labels of a multi-label task, in rising order.

    Raises `config.invalid` for a single-label task, an unknown or repeated label, and if no label is left to
    vote on.
    """
    if not names:
        return ()
    problem = _abstention_problem(task, names)
    if problem is not None:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID, f"{problem}: correct abstains in [training] of site.toml."
        )
    return tuple(sorted(task.classes.index(name) for name in names))


def hide_labels(y: NDArray[np.int64], labels: Sequence[int]) -> NDArray[np.int64]:
    """Set these `labels` of y (N, k) to 0, so nothing is learned from them."""
    if not labels:
        return y
    cleared = y.copy()
    cleared[:, list(labels)] = 0
    return cleared


def _abstention_problem(task: Task, names: Sequence[str]) -> str | None:
    if not task.multi_label:
        return f"Parties abstain from labels, and the task '{task.name}' has one class for a record"
    unknown = [name for name in names if name not in task.classes]
    if unknown:
        return f"The task '{task.name}' has no label '{unknown[0]}' to abstain from"
    if len(set(names)) < len(names):
        return "A label to abstain from is named twice"
    if len(names) == len(task.classes):
        return f"A party that abstains from all labels of the task '{task.name}' has nothing to vote on"
    return None
