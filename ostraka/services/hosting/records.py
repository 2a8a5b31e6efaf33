"""Answers from a party's own labelled records: counts by cluster, or randomised labels."""

import secrets
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from ostraka.common.datasets import Dataset
from ostraka.common.datasets.label_columns import UNKNOWN
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning.encoders import Encoder
from ostraka.common.mechanism import RandRes, RandResLabels
from ostraka.common.task import Task
from ostraka.services.hosting.ballots import WORK_BYTES
from ostraka.services.teachers.manifest import GROUP, TeachersManifest
from ostraka.services.teachers.record_lookup import Known

NOT_DRAWN = -1
"""Marks a label that a record does not answer."""
NO_GROUP = -1
"""Marks a record that is in no sum, because enough other records of the same person are."""
_WORD_BYTES = 8


def randomize(
    y: NDArray[np.int64],
    classes: int,
    epsilon: float,
    random: Callable[[int], bytes] = secrets.token_bytes,
) -> NDArray[np.int64]:
    """Return each of the labels `y`, int64 (N,), with `RandRes.truth`'s probability, else any other class.

    The probability is rounded down to a multiple of 2^-64 and the other classes are exactly equally likely,
    so the draw is `epsilon`-label-DP; `random(n)` returns n random bytes. Raises `plan.invalid` for an
    epsilon that is not positive, or so small that labels would be meaningless.
    """
    response = RandRes(epsilon=epsilon)
    response.check_classes(classes)
    kept = _words(len(y), random) < np.uint64(response.truth_steps(classes))
    others = _below(classes - 1, len(y), random)
    return np.where(kept, y, others + (others >= y))


def randomize_labels(
    y: NDArray[np.int64], epsilon: float, random: Callable[[int], bytes] = secrets.token_bytes
) -> NDArray[np.int64]:
    """Randomise some of each record's labels `y`, int64 (N, k) of 0 and 1; NOT_DRAWN replaces the others.

    The selection does not depend on any label. With a probability rounded down to a multiple of 2^-64 all
    selected labels are true, else each is a coin flip, so a record's answer is `epsilon`-label-DP; an unknown
    label counts as 0. `random(n)` returns n random bytes. Raises `plan.invalid` as `randomize` does.
    """
    records, labels = y.shape
    response = RandResLabels(epsilon=epsilon)
    response.check_classes(labels)
    told = _words(records, random) < np.uint64(response.told_steps(labels))
    coins = np.unpackbits(np.frombuffer(random(-(-y.size // 8)), np.uint8), count=y.size).reshape(y.shape)
    places = np.argsort(_words(y.size, random).reshape(y.shape), axis=1)
    answers = np.where(told[:, None], y == 1, coins).astype(np.int64)
    return np.where(places < response.drawn(labels), answers, NOT_DRAWN)


def _below(limit: int, count: int, random: Callable[[int], bytes]) -> NDArray[np.int64]:
    """Return `count` uniform integers from 0 below `limit`; words beyond its last multiple are drawn
    again."""
    ends = np.uint64(2**64 // limit * limit - 1)
    drawn = _words(count, random)
    while (beyond := np.flatnonzero(drawn > ends)).size:
        drawn[beyond] = _words(len(beyond), random)
    return (drawn % np.uint64(limit)).astype(np.int64)


def _words(count: int, random: Callable[[int], bytes]) -> NDArray[np.uint64]:
    """Return `count` uniform 64-bit words."""
    return np.frombuffer(random(_WORD_BYTES * count), dtype="<u8").astype(np.uint64)


_NUMBER_BYTES = 8


@dataclass(frozen=True)
class Records:
    """Labelled records that answer themselves: with votes, each at most once in a batch, or in sums.

    Attributes:
        X: float32 (N, F), prepared by `Task.prepare`, as queries are.
        y: int64 class indices, shape (N,); multi-label 0 and 1, (N, labels), or `UNKNOWN` if the party
            abstains; or numbers, float64 (N,).
        cohorts: each record's cohort, int64, shape (N,): records of a cohort vote on the same queries.
        classes: number of classes, or of labels; 1 if `y` are numbers.
        groups: each record's group, int64, shape (N,), as an index into the manifest, or `NO_GROUP`: sums are
            per group.
        codes: the values of the task's columns, float32 (N, columns), NaN if missing.
        features: the input of models and sums, float32 (N, F'): `X`, or the public encoder's output for it.
    """

    X: NDArray[np.float32] = field(repr=False)
    y: NDArray[np.int64 | np.float64] = field(repr=False)
    cohorts: NDArray[np.int64] = field(repr=False)
    classes: int
    groups: NDArray[np.int64] = field(repr=False)
    codes: NDArray[np.float32] = field(repr=False)
    features: NDArray[np.float32] = field(repr=False)

    @property
    def holds_classes(self) -> bool:
        """Whether `y` are classes or labels, not numbers."""
        return np.issubdtype(self.y.dtype, np.integer)

    @classmethod
    def of(
        cls,
        data: Dataset,
        path: Path,
        task: Task,
        manifest: TeachersManifest,
        encoder: Encoder | None = None,
        random: Callable[[int], bytes] = secrets.token_bytes,
        summed: NDArray[np.bool_] | None = None,
    ) -> Self:
        """Return the records that a party's manifest declares, from the file `path`, in a random order.

        Records that `summed` (N,) leaves out are in no sum; None: all are. Because of the random order, it
        says nothing about labels which of several records with equal features answers a query, even if the
        file is sorted by label. Raises `config.invalid` for other records than were declared to the guardian,
        and `model.invalid` if they do not fit the `encoder`.
        """
        declared = {group.name: group.records for group in manifest.groups}
        levels = (GROUP,) * len(data) if list(declared) == [GROUP] else data.consent or ()
        if Counter(levels) != declared:
            raise OstrakaError(
                ErrorCode.CONFIG_INVALID,
                f"{path} has {len(data)} records and `ostraka party train` had {manifest.records}, or "
                "levels of consent differ: name the same records in training.data of site.toml, or run "
                "`ostraka party train` again.",
            )
        order = np.argsort(np.frombuffer(random(_NUMBER_BYTES * len(data)), "<u8"))
        place = {group: i for i, group in enumerate(declared)}
        groups = np.array([place[level] for level in levels], dtype=np.int64)[order]
        cohort = {group: i for i, cohort in enumerate(manifest.cohorts) for group in cohort.groups}
        cohorts = np.array([cohort[group] for group in declared], dtype=np.int64)[groups]
        if summed is not None:
            groups = np.where(summed[order], groups, NO_GROUP)
        codes = data.X.reshape(len(data), -1)[order]
        y = data.targets()[order]
        if manifest.abstains:
            y[:, list(manifest.abstains)] = UNKNOWN
        X = task.prepare(codes)
        features = X if encoder is None else encoder.encode(X)
        return cls(X, y, cohorts, task.outputs, groups, codes, features)

    def nearest(self, centres: NDArray[np.float32], scheduled: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Count records by nearest centre and class, (centres, classes).

        The nearest centre is by squared Euclidean distance among all centres (Q, F); the first one if several
        are equally near. A record does not count if its cohort is not `scheduled` there, (cohorts, Q). Each
        record counts in at most one cell, whatever it is.
        """
        size = 1 + WORK_BYTES // (len(centres) * _NUMBER_BYTES)
        counted = np.zeros((len(centres), self.classes))
        for start in range(0, len(self.X), size):
            part = np.arange(start, min(start + size, len(self.X)))
            clusters = cdist(self.X[part], centres, "sqeuclidean").argmin(axis=1)
            self._count(counted, part, clusters, scheduled)
        return counted

    def members(
        self, members: NDArray[np.float32], clusters: NDArray[np.int32], scheduled: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Count the records among `members` (M, F) by cluster and class, (clusters, classes).

        A record counts in the cluster, of `clusters` (M,), of the member that has its features
        (`Known.find`): in at most one cell, whose row does not depend on its label.
        """
        counted = np.zeros((scheduled.shape[1], self.classes))
        found = self._known.find(members)
        self._count(counted, found[found >= 0], clusters[found >= 0], scheduled)
        return counted

    def responses(
        self,
        queries: NDArray[np.float32],
        scheduled: NDArray[np.bool_],
        epsilon: float,
        random: Callable[[int], bytes] = secrets.token_bytes,
    ) -> NDArray[np.float64]:
        """Return votes (Q, classes) for the randomised label of the record for each of `queries` (Q, F).

        No vote if there is no such record, or its cohort is not `scheduled` there.
        """
        voting, records = self._answering(queries, scheduled)
        drawn = randomize(self._labels[records], self.classes, epsilon, random)
        ballots = np.zeros((len(queries), self.classes))
        ballots[voting] = drawn[:, None] == np.arange(self.classes)
        return ballots

    def label_responses(
        self,
        queries: NDArray[np.float32],
        scheduled: NDArray[np.bool_],
        labels: Sequence[int],
        epsilon: float,
        random: Callable[[int], bytes] = secrets.token_bytes,
    ) -> NDArray[np.float64]:
        """Return randomised no and yes to `labels` (empty: all), as `responses`; (Q, 2 labels): noes
        first."""
        voting, records = self._answering(queries, scheduled)
        asked = np.array(labels or range(self.classes))
        drawn = randomize_labels(self._labels[np.ix_(records, asked)], epsilon, random)
        ballots = np.zeros((len(queries), 2 * len(asked)))
        ballots[voting] = np.hstack([drawn == 0, drawn == 1])
        return ballots

    def _answering(
        self, queries: NDArray[np.float32], scheduled: NDArray[np.bool_]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the queries that a record answers, and the record of each."""
        found = self._known.find(queries)
        known = np.flatnonzero(found >= 0)
        voting = known[scheduled[self.cohorts[found[known]], known]]
        return voting, found[voting]

    @property
    def _labels(self) -> NDArray[np.int64]:
        """The classes or labels; only records that have them are asked for votes."""
        return self.y.astype(np.int64, copy=False)

    @cached_property
    def _known(self) -> Known:
        return Known(self.X)

    def _count(
        self,
        counted: NDArray[np.float64],
        records: NDArray[np.int64],
        clusters: NDArray[np.integer[Any]],
        scheduled: NDArray[np.bool_],
    ) -> None:
        """Add each of these records to its cluster's count of its class."""
        voting = scheduled[self.cohorts[records], clusters]
        np.add.at(counted, (clusters[voting], self._labels[records[voting]]), 1)


@dataclass(frozen=True)
class AskedRecords:
    """Records asked about one batch; the ballot format determines which answer it uses.

    Attributes:
        records: the voting records.
        X: features of the queries (Q, F), or of members of clusters (M, F).
        clusters: the cluster of each member (M,); None: every row is a query.
        scheduled: which cohorts vote on which query, (cohorts, Q).
        labels: indices of the labels that are asked; empty: all.
        random: `random(n)` returns n random bytes.
    """

    records: Records = field(repr=False)
    X: NDArray[np.float32] = field(repr=False)
    clusters: NDArray[np.int32] | None = field(repr=False)
    scheduled: NDArray[np.bool_] = field(repr=False)
    labels: Sequence[int]
    random: Callable[[int], bytes]

    def counts(self) -> NDArray[np.float64]:
        """Return counts as `Records.members` if clusters are known, else as `Records.nearest`."""
        if self.clusters is None:
            return self.records.nearest(self.X, self.scheduled)
        return self.records.members(self.X, self.clusters, self.scheduled)

    def responses(self, epsilon: float) -> NDArray[np.float64]:
        """Return votes as `Records.responses` does."""
        return self.records.responses(self.X, self.scheduled, epsilon, self.random)

    def label_responses(self, epsilon: float) -> NDArray[np.float64]:
        """Return votes as `Records.label_responses` does."""
        return self.records.label_responses(self.X, self.scheduled, self.labels, epsilon, self.random)
