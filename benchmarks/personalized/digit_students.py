"""Students of MNIST, trained on produced labels: that of Mühl and Boenisch 2022, and others of Ostraka."""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.personalized.data import Split
from benchmarks.personalized.networks import answers
from benchmarks.personalized.variants import Produced
from ostraka.client.students.registry import make_student, student_class
from ostraka.common.learning.data import Labelled
from ostraka.services.teachers.assignment import Slice
from ostraka.services.teachers.batches import MAX_BATCH
from ostraka.services.teachers.config import TrainingConfig

NETWORK = "benchmarks.personalized.paper_network:network"
CLASSES = 10  # MNIST's
ROTATE = 7.5
"""Maximum rotation of images in degrees, as in the paper; it shifts them by two pixels, as all networks here
do."""
PASSES = 20
"""Passes over the labels; more for few labels, up to `MIN_STEPS`. The paper does not state a number."""
MIN_STEPS = 400  # a few labels seen twenty times give too few steps to leave the initial weights
VAT_STEPS = 300
"""Steps of virtual adversarial training, whose default takes three times as long."""

Student = Callable[[Produced, Split, int], NDArray[np.int64]]
"""Trains on the produced labels, with a seed; returns its classes (T,) for the test records."""


def accuracy(student: Student, produced: Produced, split: Split, random: np.random.Generator) -> float:
    """Return a student's accuracy on the test records; 0 if there is no label to train on.

    If all labels are of one class, the student always predicts that class.
    """
    known = np.unique(produced.labels)
    if len(known) < 2:
        return float(np.isin(split.test.y, known).mean())
    said = student(produced, split, int(random.integers(2**31)))
    return float((said == split.test.y).mean())


def network(
    produced: Produced, split: Split, seed: int, model: str = NETWORK, least: int = MIN_STEPS
) -> NDArray[np.int64]:
    """Train a network on the labels alone."""
    learned = Slice(split.public.X[produced.rows], produced.labels, (seed,))
    passes = max(PASSES, math.ceil(least / math.ceil(len(produced.labels) / MAX_BATCH)))
    config = TrainingConfig(teachers=1, epochs=passes, rotate=ROTATE)
    said: NDArray[np.int64] = answers([learned], model, CLASSES, config, split.test.X)[0]
    return said


def vat(produced: Produced, split: Split, seed: int, steps: int = VAT_STEPS) -> NDArray[np.int64]:
    """Train by virtual adversarial training, also on the public records without a label."""
    learning = replace(student_class("vat").default_learning, steps=steps)
    student = make_student(
        "vat", shape=split.public.X.shape[1:], classes=CLASSES, learning=learning, seed=seed
    )
    X, test = (part.X.reshape(len(part.X), -1) for part in (split.public, split.test))
    labelled = Labelled(X[produced.rows], produced.labels)
    student.learn_from(labelled, np.delete(X, produced.rows, axis=0))
    return np.asarray(student.predict(test))
