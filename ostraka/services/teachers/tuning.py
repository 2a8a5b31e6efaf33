"""Thresholds tuned for each teacher separately, so a record affects only its own teacher's."""

from collections.abc import Sequence

import numpy as np

from ostraka.common.datasets import Dataset
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.task import Task
from ostraka.services.teachers.assignment import Slice
from ostraka.services.teachers.config import TrainingConfig
from ostraka.services.teachers.ensemble import Models
from ostraka.services.teachers.guard import VoteGuard
from ostraka.services.teachers.record_lookup import Known
from ostraka.services.teachers.thresholds import Thresholds, tune_teacher


def tune(
    models: Models, config: TrainingConfig, slices: Sequence[Slice], public: Slice | None
) -> Thresholds | None:
    """Tune all models' thresholds on public records, else each on its own slice; None unless configured.

    If the configuration holds out records, only those of a slice are used, because the network has memorized
    the others.

    Raises:
        OstrakaError: `config.invalid` for thresholds in a single-label task.
    """
    require_labels(config, multi_label=slices[0].y.ndim > 1)
    if config.thresholds == "none":
        return None
    labels = slices[0].y.shape[1]
    guard = VoteGuard(labels, multi_label=True)
    values = []
    for teacher, own in enumerate(slices):
        part = public or _unseen(own, config.held_out)
        records = part.X.reshape(len(part.X), -1)
        (scores,) = models.predict(records, guard, slice(teacher, teacher + 1))
        values.append(tune_teacher(config.thresholds, scores, part.y))
    return Thresholds(np.stack(values))


def require_labels(config: TrainingConfig, *, multi_label: bool) -> None:
    """Raise `config.invalid` for thresholds in a single-label task."""
    if config.thresholds != "none" and not multi_label:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            f'Thresholds "{config.thresholds}" are for multi-label tasks, and this one has one class for a '
            'record: set thresholds to "none" in [training] of site.toml.',
        )


def require_others(public: Dataset, own: Dataset, task: Task) -> None:
    """Raise `config.invalid` if `public` records, by their features, are among a party's own.

    Such a record would affect every teacher's threshold, but is charged for its own teacher only.
    """
    if (Known(task.prepare(own.X)).find(task.prepare(public.X)) >= 0).any():
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            "Some records of threshold_data are this party's own, and all its teachers would learn from "
            "them: leave them out, or tune on each teacher's own slice, without threshold_data in "
            "[training] of site.toml.",
        )


def _unseen(part: Slice, share: float) -> Slice:
    """Return the held-out part of this slice; all of it if that is empty."""
    if not share:
        return part
    from ostraka.services.teachers.fitting import hold_out

    held = hold_out(part, share)[1]
    return held if len(held.y) else part
