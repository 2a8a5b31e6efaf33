"""Table 2 of Dziedzic et al. 2023: central learning without privacy, by DP-SGD, and from votes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.capc_multilabel.data import DELTA, Records, Setting, Split
from benchmarks.capc_multilabel.linear import Linear
from benchmarks.capc_multilabel.models import Said, balanced_accuracy
from benchmarks.capc_multilabel.noise import RepeatableNoise
from benchmarks.capc_multilabel.sessions import Mechanism, session
from benchmarks.dpsgd.data import PROBLEMS, Problem, standardise
from benchmarks.dpsgd.learning import dpsgd
from benchmarks.dpsgd.measures import Measure, measure
from ostraka.client.students.mixmatch import MixMatch
from ostraka.common.learning.data import Labelled
from ostraka.common.privacy import epsilon as epsilon_of

MIN_LABEL_SETS = 2
"""Minimum number of distinct label sets for a student."""
Probabilities = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Outcome:
    """The result of one method.

    Attributes:
        queries: number of queries labelled by votes; None for methods without votes.
        spent: epsilon of these votes, or of DP-SGD.
        worst_case: epsilon for any votes or records.
        measure: on test records, with threshold one half; None if fewer than two label sets were released,
            which is not enough to learn from.
        at_means: balanced accuracy with each label's threshold at its mean score on the unlabeled pool, which
            costs no privacy; None likewise.
    """

    queries: int | None
    spent: float | None
    worst_case: float | None
    measure: Measure | None
    at_means: float | None


Method = Callable[[Setting, Split, Said, float, int], Outcome]
"""Returns a method's outcome at an epsilon, for a seed."""
Student = Callable[
    [Records, NDArray[np.float32], Setting, int], Callable[[NDArray[np.float32]], Probabilities]
]
"""Returns a predictor, trained on labelled and unlabeled records of a dataset, for a seed."""


def without_privacy(setting: Setting, split: Split, said: Said, epsilon: float, seed: int) -> Outcome:
    """Train one model on all training records."""
    return Outcome(None, None, None, *_quality(split, said.initial, said.initial_pool))


def problem_of(setting: Setting) -> Problem:
    """Return the DP-SGD settings of a dataset."""
    (problem,) = (one for one in PROBLEMS if one.name == setting.name)
    return problem


def by_dpsgd(setting: Setting, split: Split, said: Said, epsilon: float, seed: int) -> Outcome:
    """Train by DP-SGD on all training records, scaled by the pool."""
    problem = problem_of(setting)
    private, test, pool = (
        standardise(X, split.pool.X) for X in (split.private.X, split.test.X, split.pool.X)
    )
    trained = dpsgd(
        private,
        split.private.y,
        epsilon,
        DELTA,
        classes=split.labels,
        network=problem.network,
        training=problem.training,
        seed=seed,
    )
    scores = trained.predict_proba(test), trained.predict_proba(pool)
    return Outcome(None, epsilon, epsilon, *_quality(split, *scores))


def by_votes(voting: Callable[[Setting], Mechanism], student: Student) -> Method:
    """Return a method: a student of the labels that a dataset's mechanism releases from all teachers'
    votes."""

    def method(setting: Setting, split: Split, said: Said, epsilon: float, seed: int) -> Outcome:
        random = np.random.default_rng(seed)
        order = random.permutation(len(split.pool.y))
        found = session(said.asked[:, order], voting(setting), epsilon, RepeatableNoise(random))
        asked = len(found.answers)
        X = split.pool.X[order]
        spent = epsilon_of(found.spent, found.order, DELTA)
        worst_case = epsilon_of(found.worst_case, found.order, DELTA)
        if len(np.unique(found.answers, axis=0)) < MIN_LABEL_SETS:
            return Outcome(asked, spent, worst_case, None, None)
        predict = student(Records(X[:asked], found.answers), X[asked:], setting, seed)
        return Outcome(
            asked, spent, worst_case, *_quality(split, predict(split.test.X), predict(split.pool.X))
        )

    return method


def mixmatch(
    labelled: Records, unlabeled: NDArray[np.float32], setting: Setting, seed: int
) -> Callable[..., Probabilities]:
    """Train a MixMatch student for labels."""
    student = MixMatch(classes=labelled.y.shape[1], learning=setting.student, seed=seed)
    return student.learn_from(Labelled(labelled.X, labelled.y), unlabeled).predict_proba


def linear(
    labelled: Records, unlabeled: NDArray[np.float32], setting: Setting, seed: int
) -> Callable[..., Probabilities]:
    """Train the teachers' kind of model, only on the released labels."""
    return Linear("balanced").fit(labelled.X, labelled.y).predict_proba


METHODS: Mapping[str, Method] = {
    "non-private": without_privacy,
    "DP-SGD": by_dpsgd,
    "Powerset PATE, MixMatch": by_votes(lambda setting: setting.powerset, mixmatch),
    "Powerset PATE, linear": by_votes(lambda setting: setting.powerset, linear),
    "Binary PATE, MixMatch": by_votes(lambda setting: setting.central, mixmatch),
    "Binary PATE, linear": by_votes(lambda setting: setting.central, linear),
}


def _quality(split: Split, tested: Probabilities, pool: Probabilities) -> tuple[Measure, float]:
    above = (tested >= pool.mean(axis=0)).astype(np.int64)
    return measure(split.test.y, tested.astype(np.float64)), balanced_accuracy(split.test.y, above)
