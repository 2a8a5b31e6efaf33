"""Accuracy of students on test records, next to baselines."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ostraka.client.students.accuracy import LabelFigures, Metrics, measure
from ostraka.common.datasets import Dataset
from ostraka.common.sharing.ballots import YES
from ostraka.common.task import Task
from ostraka.common.validation import FrozenModel
from ostraka.services.teachers.config import TEACHERS
from ostraka.services.teachers.ensemble import Ensemble

METRICS = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "auc": "AUC",
    "map": "mAP",
}
"""Figures of a student, with the names that people know them by."""


class Quality(FrozenModel):
    """Figures on test records, on the whole and label by label.

    ``own`` is the student of own data alone and ``after`` the one of released labels as well, both means over
    the querying parties; ``ensemble`` are all parties' teachers together, asked without any privacy
    about ``ensemble_records`` of the test records.
    """

    own: Metrics
    after: Metrics
    ensemble: Metrics
    ensemble_records: int

    @property
    def rows(self) -> tuple[tuple[str, Metrics], ...]:
        """What is compared, by the names that people read."""
        return (
            ("own data alone", self.own),
            ("with released labels", self.after),
            ("all teachers, not private", self.ensemble),
        )


class QuerierQuality(FrozenModel):
    """One of several querying parties: what it asked, and its student on test records before and after."""

    party: str
    labelled: int
    queries: int
    asked: int
    answered: int
    before: Metrics
    after: Metrics


class RoundQuality(FrozenModel):
    """One of several rounds: what it asked, the student after it on test records, and all costs so far.

    ``epsilon_worst_case`` is of all rounds so far, of the party that paid most.
    """

    round: int
    mechanism: str
    queries: int
    asked: int
    answered: int
    by_student: int
    epsilon_worst_case: float
    accuracy: float | None
    balanced_accuracy: float | None


def mean_metrics(metrics: Sequence[Metrics]) -> Metrics:
    """Return the mean of the figures of at least one student, label by label."""
    if len(metrics) == 1:
        return metrics[0]
    each = zip(*(one.labels for one in metrics), strict=True)
    return Metrics(
        accuracy=float(np.mean([one.accuracy for one in metrics])),
        balanced_accuracy=float(np.mean([one.balanced_accuracy for one in metrics])),
        auc=_mean([one.auc for one in metrics]),
        map=_mean([one.map for one in metrics]),
        labels=tuple(map(_mean_figures, each)),
    )


def _mean_figures(figures: tuple[LabelFigures, ...]) -> LabelFigures:
    return LabelFigures(
        name=figures[0].name,
        support=figures[0].support,
        accuracy=float(np.mean([one.accuracy for one in figures])),
        balanced_accuracy=float(np.mean([one.balanced_accuracy for one in figures])),
        auc=_mean([one.auc for one in figures]),
        average_precision=_mean([one.average_precision for one in figures]),
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


MOST_TESTED = 2000
"""Test records that all teachers are asked about: a vote of each costs as much as many students' answers."""


def sampled(test: Dataset, seed: int) -> Dataset:
    """Return the test records that teachers are asked about: all, or `MOST_TESTED` drawn by the seed."""
    if len(test) <= MOST_TESTED:
        return test
    rows = np.random.default_rng(seed).choice(len(test), MOST_TESTED, replace=False)
    return test.take(np.sort(rows))


def ensemble_metrics(parties: Sequence[Path], task: Task, test: Dataset) -> Metrics:
    """Figures of all teachers of these sites together on test records, their votes counted without noise.

    A class or label scores the share of teachers that vote for it, so that the plurality is predicted; ties
    go to the first class. A simulation may look at these votes, and nobody else.
    """
    X = task.prepare(test.X)
    shares = [_votes(Ensemble.load(site / TEACHERS).predict(X), task) for site in parties]
    return measure(test.labels(), np.concatenate(shares).mean(axis=0), task.classes)


def _votes(predicted: NDArray[np.float32] | NDArray[np.int64], task: Task) -> NDArray[np.bool_]:
    """Which classes each teacher votes for, (teachers, records, classes)."""
    if task.multi_label:
        return np.greater_equal(predicted, YES)
    return np.equal(predicted[..., None], np.arange(len(task.classes)))
