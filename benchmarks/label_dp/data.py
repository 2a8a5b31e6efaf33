"""Records with shared features and private labels, and test records."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from benchmarks.published import DATA
from ostraka.common.datasets import Dataset as Records
from ostraka.common.datasets import digits, from_arrays, load_splits
from ostraka.common.learning.shape import Shape
from ostraka.common.task import infer_task

Features = NDArray[np.float32]
Labels = NDArray[np.int64]


class Dataset(StrEnum):
    """The data sets; digits come with scikit-learn, and pairs are two digits side by side."""

    DIGITS = "digits"
    PAIRS = "pairs"
    OPTDIGITS = "optdigits"
    MNIST = "mnist"
    ADULT = "adult"


CLASSES = {
    Dataset.DIGITS: 10,
    Dataset.PAIRS: 100,
    Dataset.OPTDIGITS: 10,
    Dataset.MNIST: 10,
    Dataset.ADULT: 2,
}
LEARNED_FROM = 1400
"""Number of digits for the training pairs; test pairs use the others."""


@dataclass(frozen=True)
class Size:
    """How much of a dataset is used, and how it is divided.

    Attributes:
        train: number of records with private labels.
        test: number of test records.
        clusters: number of clusters of all features.
        embedding: steps of SimCLR, whose embedding is clustered and used by teachers; 0: features are used.
        teachers: number of teachers of PATE-FM.
        steps: training steps of every student.
        seeds: number of repetitions.
        network: of every student.
    """

    train: int
    test: int
    clusters: int
    embedding: int
    teachers: int
    steps: int
    seeds: int
    network: str = "auto"


SIZES = {
    Dataset.DIGITS: Size(1400, 397, clusters=10, embedding=400, teachers=100, steps=400, seeds=3),
    Dataset.MNIST: Size(20_000, 2000, clusters=20, embedding=150, teachers=200, steps=200, seeds=1),
    Dataset.ADULT: Size(20_000, 5000, clusters=20, embedding=0, teachers=200, steps=300, seeds=1),
}


@dataclass(frozen=True)
class Split:
    """Prepared records, flat float32 rows, drawn by a seed.

    Attributes:
        X: public features, (N, F).
        y: their private labels, int64 (N,).
        X_test: features of the test records, also public.
        y_test: their labels.
        shape: of one record.
        classes: number of classes.
    """

    X: Features
    y: Labels
    X_test: Features
    y_test: Labels
    shape: Shape
    classes: int


def available(dataset: Dataset) -> bool:
    """Whether the data exist: in ../shared/data beside the checkout, except digits and pairs."""
    return dataset in (Dataset.DIGITS, Dataset.PAIRS) or (DATA / f"{dataset}.npz").exists()


def load(dataset: Dataset, size: Size, seed: int) -> Split:
    """Return `size.train` and `size.test` records."""
    train, test = _draw(dataset, size, np.random.default_rng(seed))
    task = infer_task(train, dataset.value, test)
    X = task.prepare(train.X)
    shape = train.shape or X.shape[1:]
    return Split(X, train.labels(), task.prepare(test.X), test.labels(), shape, CLASSES[dataset])


def _draw(dataset: Dataset, size: Size, random: np.random.Generator) -> tuple[Records, Records]:
    if dataset is Dataset.DIGITS:
        records = digits()
        order = random.permutation(len(records))
        return records.take(order[: size.train]), records.take(order[size.train :][: size.test])
    if dataset is Dataset.PAIRS:
        records = digits()
        order = random.permutation(len(records))
        parts = records.take(order[:LEARNED_FROM]), records.take(order[LEARNED_FROM:])
        return _pairs(parts[0], size.train, random), _pairs(parts[1], size.test, random)
    train, test = (
        part.take(random.permutation(len(part))[:count])
        for part, count in zip(load_splits(DATA / f"{dataset}.npz"), (size.train, size.test), strict=True)
    )
    return (_images(train), _images(test)) if dataset is Dataset.OPTDIGITS else (train, test)


def _pairs(records: Records, count: int, random: np.random.Generator) -> Records:
    """Return pairs of digits, images (8, 16), class 10 a + b."""
    left, right = (records.take(random.integers(len(records), size=count)) for _ in range(2))
    images = np.concatenate([part.X.reshape(-1, 8, 8) for part in (left, right)], axis=2)
    y = 10 * left.labels() + right.labels()
    return from_arrays(images, y, classes=tuple(f"{label:02}" for label in range(CLASSES[Dataset.PAIRS])))


def _images(records: Records) -> Records:
    return from_arrays(records.X.reshape(-1, 8, 8), records.labels(), classes=records.classes)
