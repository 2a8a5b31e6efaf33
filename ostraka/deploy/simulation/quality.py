"""The quality of students next to baselines, and counts of labels and records by class or label."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ostraka.client.learners.fit import LearnerName
from ostraka.common.datasets import Dataset
from ostraka.common.learning.accuracy import METRICS, LabelFigures, Metrics, measure, share
from ostraka.common.learning.gain import Gain
from ostraka.common.sharing.ballots import YES
from ostraka.common.task import Task
from ostraka.common.validation import FrozenModel
from ostraka.deploy.simulation.settings_parts import RecordSettings
from ostraka.services.teachers.config import TEACHERS
from ostraka.services.teachers.ensemble import Ensemble


class SumModel(FrozenModel):
    """A model of noisy sums over all parties' records, on test records.

    Attributes:
        asked: whether parties were asked over the services; else noise was drawn in this process.
        learner: the learner, and the `reason` for it.
        epsilon: the plan's largest epsilon over all parties' budgets.
        rounds: answered sums, of `rounds_planned`.
        records: in the sums, each counted with its weight.
        tells: what parties learn about the querying party's own records.
        notes: what the querying party must know, in sentences.
        metrics: of a model of classes or labels; None for numbers, as is `gain`.
        gain: over own records alone, and over the most frequent class.
    """

    asked: bool
    learner: LearnerName
    reason: str
    epsilon: float
    rounds: int
    rounds_planned: int
    records: float
    tells: tuple[str, ...]
    notes: tuple[str, ...]
    metrics: Metrics | None = None
    gain: Gain | None = None


class Quality(FrozenModel):
    """Figures on test records, as a whole and label by label.

    ``own`` is the student of own data alone and ``after`` the student that also has released labels, both
    means over the querying parties, or the ``model`` of sums if parties were asked for them. ``ensemble`` is
    all parties' teachers together, asked without any privacy about ``ensemble_records`` of the test records.
    ``constant`` always predicts the most frequent class, and ``pooled`` learned from all records together
    without any privacy, if it was computed.
    """

    own: Metrics
    after: Metrics
    ensemble: Metrics
    ensemble_records: int
    constant: Metrics
    pooled: Metrics | None = None
    model: SumModel | None = None

    @property
    def rows(self) -> tuple[tuple[str, Metrics], ...]:
        """Models that are also compared label by label, by their displayed names."""
        asked = self.model is not None and self.model.asked
        return (
            ("own data alone", self.own),
            ("a model of sums" if asked else "with released labels", self.after),
            ("all teachers, not private", self.ensemble),
        )

    @property
    def others(self) -> tuple[tuple[str, Metrics], ...]:
        """Models that are compared only as a whole."""
        drawn = self.model is not None and not self.model.asked
        named = (
            ("a model of sums, same budget", self.model.metrics if self.model and drawn else None),
            ("all records, not private", self.pooled),
            ("the most frequent class", self.constant),
        )
        return tuple((name, metrics) for name, metrics in named if metrics is not None)


class QuerierQuality(FrozenModel):
    """One of several querying parties: its queries, and its student on test records before and after."""

    party: str
    labelled: int
    queries: int
    asked: int
    answered: int
    before: Metrics
    after: Metrics


class RoundQuality(FrozenModel):
    """One of several rounds: its queries, the student after it on test records, and all costs so far.

    ``epsilon_worst_case`` is the epsilon of all rounds so far, for the party that paid most.
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


MAX_TESTED = 2000
"""Number of test records for all teachers: a vote of each costs as much as many students' answers."""


def quality_rows(quality: Quality) -> Iterator[Sequence[str]]:
    """Yield a row of metrics for every compared model."""
    for name, metrics in (*quality.rows, *quality.others):
        yield name, *(share(getattr(metrics, metric)) for metric in METRICS)


def sample_tested(test: Dataset, seed: int) -> Dataset:
    """Return the test records for the teachers: all, or `MAX_TESTED` drawn by the seed."""
    if len(test) <= MAX_TESTED:
        return test
    rows = np.random.default_rng(seed).choice(len(test), MAX_TESTED, replace=False)
    return test.take(np.sort(rows))


def ensemble_metrics(parties: Sequence[Path], task: Task, test: Dataset) -> Metrics:
    """Return figures of all teachers of these sites together on test records, counting votes without noise.

    A class or label scores the fraction of teachers that vote for it, so the plurality is predicted; ties go
    to the first class. Only a simulation may look at these votes.
    """
    X = task.prepare(test.X)
    shares = [_votes(Ensemble.load(site / TEACHERS).predict(X), task) for site in parties]
    return measure(test.labels(), np.concatenate(shares).mean(axis=0), task.classes)


def _votes(predicted: NDArray[np.float32] | NDArray[np.int64], task: Task) -> NDArray[np.bool_]:
    """Return which classes each teacher votes for, (teachers, records, classes)."""
    if task.multi_label:
        return np.greater_equal(predicted, YES)
    return np.equal(predicted[..., None], np.arange(len(task.classes)))


class ClassCount(FrozenModel):
    """Results of the queries of one true class."""

    name: str
    right: int
    wrong: int
    unanswered: int


class LabelCount(ClassCount):
    """Results of the answers for one label of a multi-label task.

    Accuracy and balanced accuracy are those of the given answers; None if there are none.
    """

    accuracy: float | None
    balanced_accuracy: float | None


def count_classes(
    names: tuple[str, ...], truth: NDArray[np.int64], labels: NDArray[np.int64]
) -> tuple[ClassCount, ...]:
    """Count each class's right, wrong and missing answers; ``labels`` (Q,) is -1 for no answer."""
    return tuple(
        ClassCount(
            name=name,
            right=int(np.sum((truth == index) & (labels == index))),
            wrong=int(np.sum((truth == index) & (labels != index) & (labels >= 0))),
            unanswered=int(np.sum((truth == index) & (labels < 0))),
        )
        for index, name in enumerate(names)
    )


def count_labels(
    names: tuple[str, ...], truth: NDArray[np.int64], labels: NDArray[np.int64]
) -> tuple[LabelCount, ...]:
    """Count each label's right, wrong and missing answers; ``labels`` (Q, k) is -1 for no answer."""
    return tuple(map(_count_label, names, truth.T, labels.T))


def _count_label(name: str, truth: NDArray[np.int64], labels: NDArray[np.int64]) -> LabelCount:
    given = (labels >= 0) & (truth >= 0)
    known = truth >= 0
    right = truth[given] == labels[given]
    recalls = [right[truth[given] == bit].mean() for bit in np.unique(truth[given])]
    return LabelCount(
        name=name,
        right=int(right.sum()),
        wrong=int((~right).sum()),
        unanswered=int((known & ~given).sum()),
        accuracy=float(right.mean()) if len(right) else None,
        balanced_accuracy=_mean(recalls),
    )


def label_accuracy(counts: Iterable[ClassCount]) -> float | None:
    """Return the fraction of right answers; None if nothing was answered."""
    right, wrong = np.sum([(0, 0), *((count.right, count.wrong) for count in counts)], axis=0)
    return float(right / (right + wrong)) if right + wrong else None


def balanced_accuracy(classes: Iterable[ClassCount], labels: Iterable[LabelCount]) -> float | None:
    """Return the mean over classes of the fraction of right answers, or over labels of balanced accuracy.

    A class that was asked about and got no answer counts 0; None if nothing was answered at all.
    """
    asked = [count for count in classes if count.right + count.wrong + count.unanswered]
    answered = any(count.right + count.wrong for count in asked)
    of_classes = [count.right / max(1, count.right + count.wrong) for count in asked if answered]
    of_labels = [count.balanced_accuracy for count in labels if count.balanced_accuracy is not None]
    return _mean([*of_classes, *of_labels])


class Holding(FrozenModel):
    """One party's records.

    ``counts`` are the numbers of records of each class, or with each label, in the order of the task's
    classes.
    """

    party: str
    records: int
    counts: tuple[int, ...]


def count_holdings(sites: Sequence[str], shards: Sequence[Dataset], classes: int) -> tuple[Holding, ...]:
    """Count the records of every site's shard."""
    return tuple(
        Holding(party=site, records=len(shard), counts=tuple(_counts(shard, classes)))
        for site, shard in zip(sites, shards, strict=True)
    )


def split_words(records: RecordSettings) -> str:
    """Return how records were shared out, in the settings' names."""
    if records.similarity is not None:
        return f"{records.split}, {records.similarity:g}% of the records at random"
    if records.alpha is not None:
        return f"{records.split}, alpha {records.alpha:g}"
    if records.by is not None:
        return f"{records.split} {records.by}"
    return f"{records.split}, all records at random"


def _counts(shard: Dataset, classes: int) -> list[int]:
    y = shard.labels()
    counts = (y == 1).sum(axis=0) if shard.multi_label else np.bincount(y, minlength=classes)
    return [int(count) for count in counts]
