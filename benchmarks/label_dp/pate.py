"""PATE-FM: teachers that know all features and a few labels each, and the cost of their votes.

Tang et al. 2022, 4.2.2.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from benchmarks.filtering import spend
from benchmarks.label_dp.data import Features, Labels
from ostraka.client.students.fixmatch import FixMatch
from ostraka.common.learning.data import Labelled
from ostraka.common.learning.learning import Learning
from ostraka.common.mechanism import Confident
from ostraka.common.privacy import budget_rdp, epsilon, propose_order
from ostraka.common.sharing.ring import Ring
from ostraka.guardian.mechanisms import release
from ostraka.guardian.noise import ExactNoise

DELTA = 1e-5  # of every epsilon in docs/label-dp-measured.md
QUERIES = 2000
"""Maximum number of training records that are asked about."""
LEARNING = Learning(steps=60, evaluations=1)
"""Training of one teacher."""
FRACTION_BITS = 16


@dataclass(frozen=True)
class Votes:
    """Votes of teachers on some training records.

    Attributes:
        rows: the records in the order in which they are asked, int64 (Q,).
        cast: votes, uint8 (teachers, Q).
        classes: number of classes.
    """

    rows: NDArray[np.int64]
    cast: NDArray[np.uint8]
    classes: int

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """Return the histogram of every query, (Q, classes)."""
        return np.stack([(self.cast == label).sum(axis=0) for label in range(self.classes)], axis=1)

    @property
    def mechanism(self) -> Confident:
        """Threshold and deviations of Papernot et al. 2018 for MNIST, scaled to the number of teachers."""
        n = len(self.cast)
        return Confident(threshold=0.8 * n, sigma1=0.6 * n, sigma2=0.16 * n)


@dataclass(frozen=True)
class Labelling:
    """Labels released within a budget.

    Attributes:
        rows: training records with a label.
        y: their labels.
        asked: number of records that were asked about.
        worst_case: epsilon at DELTA for any votes.
    """

    rows: NDArray[np.int64]
    y: Labels
    asked: int
    worst_case: float


def cast_votes(embedding: Features, y: Labels, classes: int, teachers: int, seed: int) -> Votes:
    """Train teachers on disjoint labels and all features; features of images are embedded."""
    random = np.random.default_rng(seed)
    rows = random.permutation(len(y))[:QUERIES]
    parts = np.array_split(random.permutation(len(y)), teachers)
    cast = np.empty((teachers, len(rows)), np.uint8)
    for teacher, part in enumerate(parts):
        student = FixMatch(classes=classes, learning=LEARNING, seed=teacher)
        cast[teacher] = student.learn_from(Labelled(embedding[part], y[part]), embedding).predict(
            embedding[rows]
        )
    return Votes(rows, cast, classes)


def within(votes: Votes, budget: float) -> Labelling:
    """Ask in order until the next query might exceed (budget, DELTA) by the exact accountant.

    Every check is charged. Cost and stop depend on the votes, as in Tang et al. 2022 and Papernot et al.
    2018.
    """
    ring = Ring(64)
    sums = ring.wrap(votes.counts << FRACTION_BITS)
    teachers = np.full(len(sums), len(votes.cast) << FRACTION_BITS)
    answers = release(
        sums,
        votes.mechanism,
        ExactNoise(),
        ring,
        classes=votes.classes,
        totals=teachers,
    )
    answered = answers.answered[:, 0]
    order = propose_order(budget, DELTA)
    counts = votes.counts.astype(np.float64)
    limit = budget_rdp(budget, DELTA, order)
    spent = spend(counts, answered, votes.mechanism, order, limit)
    given = np.flatnonzero(answered[: spent.asked])
    worst_case = epsilon(spent.worst, order, DELTA)
    return Labelling(votes.rows[given], answers.labels[given, 0], spent.asked, worst_case)
