"""Counts by class or by label: every party's records, and released labels against the truth."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from ostraka.common.datasets import Dataset
from ostraka.common.validation import FrozenModel
from ostraka.deploy.simulation.settings import Settings


class ClassCount(FrozenModel):
    """How the queries of one true class fared."""

    name: str
    right: int
    wrong: int
    unanswered: int


class LabelCount(ClassCount):
    """How the answers for one label of a multi-label task fared.

    Accuracy and balanced accuracy are of the answers given; None where there are none.
    """

    accuracy: float | None
    balanced_accuracy: float | None


def count_classes(
    names: tuple[str, ...], truth: NDArray[np.int64], labels: NDArray[np.int64]
) -> tuple[ClassCount, ...]:
    """Count each class's right, wrong and missing answers; ``labels`` (Q,) is -1 where none was given."""
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
    """Count each label's right, wrong and missing answers; ``labels`` (Q, k) is -1 where none was given."""
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
    """Share of the answers that are right; None where nothing was answered."""
    right, wrong = np.sum([(0, 0), *((count.right, count.wrong) for count in counts)], axis=0)
    return float(right / (right + wrong)) if right + wrong else None


def balanced_accuracy(classes: Iterable[ClassCount], labels: Iterable[LabelCount]) -> float | None:
    """Mean over classes of the share of their answers that are right, or over labels of theirs.

    A class that was asked about and got no answer counts 0; None where nothing was answered at all.
    """
    asked = [count for count in classes if count.right + count.wrong + count.unanswered]
    answered = any(count.right + count.wrong for count in asked)
    of_classes = [count.right / max(1, count.right + count.wrong) for count in asked if answered]
    of_labels = [count.balanced_accuracy for count in labels if count.balanced_accuracy is not None]
    return _mean([*of_classes, *of_labels])


def _mean(values: list[float]) -> float | None:
    return float(np.mean(values)) if values else None


class Holding(FrozenModel):
    """One party's records.

    ``counts`` are those of each class, or of several labels those that have it; in the order of the task's
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


def split_words(settings: Settings) -> str:
    """How records were shared out, by the names of the settings."""
    if settings.similarity is not None:
        return f"{settings.split}, {settings.similarity:g}% of the records at random"
    if settings.alpha is not None:
        return f"{settings.split}, alpha {settings.alpha:g}"
    if settings.by is not None:
        return f"{settings.split} {settings.by}"
    return f"{settings.split}, all records at random"


def _counts(shard: Dataset, classes: int) -> list[int]:
    y = shard.labels()
    counts = (y == 1).sum(axis=0) if shard.multi_label else np.bincount(y, minlength=classes)
    return [int(count) for count in counts]
