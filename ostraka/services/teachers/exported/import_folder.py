"""Teachers that a party trained elsewhere, hosted as they are."""

from collections.abc import Sequence
from pathlib import Path

from ostraka.common.datasets import Dataset
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning.encoders import load_encoder
from ostraka.common.task import Task
from ostraka.services.teachers.abstaining import abstentions
from ostraka.services.teachers.assignment import assign
from ostraka.services.teachers.config import FILE, TrainingConfig
from ostraka.services.teachers.ensemble import Ensemble
from ostraka.services.teachers.exported.models import Exported, not_hosted
from ostraka.services.teachers.manifest import TeachersManifest
from ostraka.services.teachers.preparation import describe, features, training_words
from ostraka.services.teachers.slices import Slice
from ostraka.services.teachers.tuning import require_others, tune

MEANT = {"teachers", "model", "encoder", "thresholds", "abstains", "consent"}
"""Settings that say something of models that are not trained here."""


def host(
    dataset: Dataset, task: Task, config: TrainingConfig, *, folder: Path, public: Dataset | None = None
) -> Ensemble:
    """Host the exported models that `config.model` names, one teacher per file, in the order of their names.

    The party vouches for what nobody can see here: that they were trained on these records, and each record
    went into one model. Otherwise its `max_votes_per_person` must be as many as a record went into.

    Args:
        dataset: the labelled records that the models were trained on.
        task: what is classified.
        config: where the models are, and whether thresholds are tuned.
        folder: that a relative path of theirs is in.
        public: labelled records of nobody's, on which thresholds are tuned.

    Raises:
        OstrakaError: `task.mismatch` or `data.*` for records that are not the task's, `data.too_few` for
            fewer records than models, `model.invalid` for files that are missing or cannot be hosted,
            `config.invalid` for settings of training, for thresholds without public records or on own ones,
            and as `abstentions` says.
    """
    _require_no_training(config, public)
    assert config.model is not None  # noqa: S101 - the caller found a file named there
    abstains = abstentions(task, config.abstains)
    encoder = load_encoder(config.encoder) if config.encoder else None
    X = features(dataset, task, encoder)[0]
    files = _files(folder / config.model.removeprefix(FILE))
    models = Exported(files, X.shape[1:], len(task.classes))
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
