"""The rows of the tables: how labels become private, and how a student learns from them."""

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.caching import digest
from benchmarks.label_dp.baselines import Alibi
from benchmarks.label_dp.data import Features, Labels, Size, Split
from benchmarks.label_dp.one_hot import log_likelihoods, noisy_one_hot
from benchmarks.label_dp.pate import DELTA, FRACTION_BITS, Votes, cast_votes, within
from benchmarks.label_dp.rr_with_prior import randomize_with_prior
from benchmarks.label_dp.settings import (
    ALIBI,
    DENOISE_SSL,
    LP_2ST,
    NOISE_CLUSTER,
    NON_PRIVATE,
    PATE_FM,
    PATE_FM_LEARNERS,
    STUDENTS,
    embedding_key,
    learning_of,
    records,
    settings,
    votes_key,
)
from ostraka.client.students.label_dp.calibrate import noise_cluster_sigma
from ostraka.client.students.label_dp.clustering import cluster
from ostraka.client.students.label_dp.denoise_ssl import label_counts, purify
from ostraka.client.students.label_dp.simclr import embed
from ostraka.client.students.neural import Neural
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning.data import Labelled
from ostraka.common.mechanism import NoiseCluster
from ostraka.common.sharing.ring import Ring
from ostraka.guardian.mechanisms import release
from ostraka.guardian.noise import ExactNoise
from ostraka.services.hosting.records import randomize


@dataclass(frozen=True)
class Measure:
    """The result of one method.

    Attributes:
        accuracy: of the student, or of the clusters' labels, on the test records; None without a student.
        private: fraction of training records with right private labels.
        learned: number of labels that the student learned from.
        worst_case: epsilon for any votes, if the budget is spent by actual costs.
        seconds: duration.
    """

    accuracy: float | None
    private: float | None = None
    learned: int | None = None
    worst_case: float | None = None
    seconds: float = 0.0


class Bench:
    """One draw of a dataset; shared inputs of several methods are made once."""

    def __init__(self, split: Split, size: Size, seed: int, cache: Path) -> None:
        self._split = split
        self._size = size
        self._seed = seed
        self._cache = cache
        cache.mkdir(parents=True, exist_ok=True)

    def measure(self, method: str, epsilon: float | None) -> Measure:
        """Return the measure of a method."""
        if epsilon is None:
            return self._test(NON_PRIVATE, Labelled(self._split.X, self._split.y), Measure(None, 1.0))
        if method == NOISE_CLUSTER:
            return self._noise_cluster(epsilon)
        if method == PATE_FM:
            return self._pate_fm(epsilon)
        if method == ALIBI:
            return self._alibi(epsilon)
        if method == LP_2ST:
            return self._learn_with_doubts(method, self._two_stages(epsilon))
        if method not in PATE_FM_LEARNERS:
            return self._learn_with_doubts(method, self._randomize(epsilon))
        y = self._predict_by_student(epsilon)
        return Measure(None) if y is None else self._learn_with_doubts(method.removeprefix(f"{PATE_FM}+"), y)

    def _learn_with_doubts(self, learner: str, y: Labels) -> Measure:
        """Measure a student of private labels (N,) of all training records, some of them wrong.

        There is no student if DenoiseSSL keeps labels of a single class.
        """
        found = Measure(None, float((y == self._split.y).mean()))
        labelled = Labelled(self._split.X, y)
        if learner == DENOISE_SSL:
            train = self._assignments[: len(y)]
            try:
                kept, rest = purify(labelled, self._split.X, train, self._split.classes)
            except OstrakaError as refused:
                if refused.code != ErrorCode.DATA_TOO_FEW:
                    raise
                return found
            return self._test(learner, kept, found, rest)
        return self._test(learner, labelled, found)

    def _randomize(self, epsilon: float) -> Labels:
        """Return labels by RandRes, the same for every student."""
        file = self._cache / f"labels-{epsilon:g}-{digest(*records(self._size))}.npy"
        if not file.exists():
            np.save(file, randomize(self._split.y, self._split.classes, epsilon))
        return np.asarray(np.load(file), np.int64)

    def _two_stages(self, epsilon: float) -> Labels:
        """Return labels of one half by RandRes, of the other by RRWithPrior with the first's student as
        prior.

        Each label is randomised once, and the prior does not depend on the second half. The budgets of
        disjoint records compose in parallel: epsilon-label-DP in all (LP-MST of Ghazi et al. 2021, two
        stages).
        """
        split = self._split
        order = np.random.default_rng(self._seed).permutation(len(split.y))
        first, second = np.array_split(order, 2)
        y = self._randomize(epsilon)
        early = self._learn(LP_2ST, Labelled(split.X[first], y[first]), None)
        y[second] = randomize_with_prior(split.y[second], early.predict_proba(split.X[second]), epsilon)
        return y

    def _alibi(self, epsilon: float) -> Measure:
        """Measure ALIBI; private labels are the most likely classes given the noisy one-hot labels."""
        split = self._split
        noisy = noisy_one_hot(split.y, split.classes, epsilon, ExactNoise())
        likelihoods = log_likelihoods(noisy, epsilon)
        labelled = Labelled(split.X, likelihoods.argmax(axis=1))
        found = Measure(None, float((labelled.y == split.y).mean()))
        student = Alibi(likelihoods, **self._student_parameters(ALIBI)).learn_from(labelled)
        return self._score(student, replace(found, learned=len(labelled)))

    def _noise_cluster(self, epsilon: float) -> Measure:
        """Label every cluster as a guardian does; test records have the label of their cluster."""
        split = self._split
        assignments = self._assignments
        train = assignments[: len(split.y)]
        test = assignments[len(split.y) :]
        counts = label_counts(train, split.y, self._size.clusters, split.classes)
        mechanism = NoiseCluster(sigma=noise_cluster_sigma(epsilon, DELTA))
        ring = Ring(64)
        totals = np.full(len(counts), len(split.y) << FRACTION_BITS)
        answers = release(
            ring.wrap(counts << FRACTION_BITS),
            mechanism,
            ExactNoise(),
            ring,
            classes=split.classes,
            totals=totals,
        )
        labels = answers.labels[:, 0]
        return Measure(
            accuracy=float((labels[test] == split.y_test).mean()),
            private=float((labels[train] == split.y).mean()),
        )

    def _pate_fm(self, epsilon: float) -> Measure:
        labelling = within(self._votes, epsilon)
        given = Labelled(self._split.X[labelling.rows], labelling.y)
        found = Measure(None, learned=len(given), worst_case=labelling.worst_case)
        if len(np.unique(given.y)) < 2:
            return found
        rest = np.delete(self._split.X, labelling.rows, axis=0)
        return self._test(PATE_FM, given, found, rest)

    def _predict_by_student(self, epsilon: float) -> Labels | None:
        """Return the predictions of PATE-FM's student for training records; None if it has too few labels."""
        file = self._cache / f"{PATE_FM}-{epsilon:g}-{digest(*settings(PATE_FM, self._size))}.npy"
        if not file.exists():
            labelling = within(self._votes, epsilon)
            if len(np.unique(labelling.y)) < 2:
                return None
            given = Labelled(self._split.X[labelling.rows], labelling.y)
            student = self._learn(PATE_FM, given, np.delete(self._split.X, labelling.rows, axis=0))
            np.save(file, student.predict(self._split.X))
        return np.asarray(np.load(file), np.int64)

    def _test(self, method: str, labelled: Labelled, found: Measure, rest: Features | None = None) -> Measure:
        """Train and test a student; PATE-FM's private labels are its predictions for training records."""
        return self._score(self._learn(method, labelled, rest), replace(found, learned=len(labelled)))

    def _score(self, student: Neural, found: Measure) -> Measure:
        split = self._split
        private = student.score(split.X, split.y) if found.private is None else found.private
        return replace(found, accuracy=student.score(split.X_test, split.y_test), private=private)

    def _learn(self, method: str, labelled: Labelled, rest: Features | None) -> Neural:
        return STUDENTS[method](**self._student_parameters(method)).learn_from(labelled, rest)

    def _student_parameters(self, method: str) -> dict[str, Any]:
        """Return the parameters of all students."""
        split = self._split
        size = self._size
        learning = learning_of(STUDENTS[method], size.steps)
        return {
            "shape": split.shape,
            "classes": split.classes,
            "network": size.network,
            "learning": learning,
            "seed": self._seed,
        }

    @cached_property
    def _embedding(self) -> Features:
        """Return all features, the test records' last; embedded if the dataset's settings say so."""
        features = np.concatenate([self._split.X, self._split.X_test])
        if not self._size.embedding:
            return features
        file = self._cache / f"embedding-{digest(*embedding_key(self._size))}.npy"
        if not file.exists():
            steps = self._size.embedding
            np.save(file, embed(features, self._split.shape, seed=self._seed, steps=steps))
        return np.asarray(np.load(file), np.float32)

    @cached_property
    def _assignments(self) -> NDArray[np.int32]:
        shape = self._embedding.shape[1:]
        return cluster(self._embedding, shape, self._size.clusters, seed=self._seed)

    @cached_property
    def _votes(self) -> Votes:
        file = self._cache / f"votes-{digest(*votes_key(self._size))}.npz"
        classes = self._split.classes
        if not file.exists():
            private = self._embedding[: len(self._split.y)]
            votes = cast_votes(private, self._split.y, classes, self._size.teachers, self._seed)
            np.savez(file, rows=votes.rows, cast=votes.cast)
        with np.load(file) as arrays:
            return Votes(arrays["rows"], arrays["cast"], classes)
