"""One configuration: an ensemble's votes released with noise, and students trained on the labels."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from benchmarks.heterogeneity.data import CLASSES, Records, Split
from benchmarks.heterogeneity.networks import Votes, answers
from benchmarks.heterogeneity.teachers import TEACHERS
from benchmarks.heterogeneity.voting import Answers, Mechanism, answer, costs, histograms
from ostraka.common.mechanism import Confident, LnMax
from ostraka.guardian.accounting.numerics.arguments import Bound, Floats

RUNS = 10
"""Number of runs over which Dodwadmath and Stich 2022 average."""
GAMMAS = (0.1, 0.5)
QUERIES = (100, 1000)
STUDENTS = 1000
"""Seed of students, different from the teachers'."""


@dataclass(frozen=True)
class Setting:
    """LNMax of Dodwadmath and Stich 2022, or Confident GNMax with noise of the same deviation.

    Attributes:
        gamma: of LNMax, or of the LNMax in the comparison.
        queries: number of queries.
        confident: whether it is Confident; its check needs half of the teachers.
    """

    gamma: float
    queries: int
    confident: bool

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism of votes."""
        if not self.confident:
            return LnMax(gamma=self.gamma)
        deviation = sqrt(2) / self.gamma
        return Confident(sigma1=deviation, sigma2=deviation, threshold=TEACHERS / 2)

    @property
    def name(self) -> str:
        """Name in the cache."""
        return f"{self.mechanism.kind}-{self.gamma:g}-{self.queries}"


@dataclass(frozen=True)
class Measure:
    """Averages over RUNS runs, each with its own queries and noise.

    Attributes:
        answered: number of queries that got a label.
        labels: fraction of right labels; None if there are none.
        students: accuracy on the test records of each run's student; empty if any run gave no label.
        worst_case: epsilon for any votes, including training; None without a guarantee.
        exact: epsilon of these votes, likewise.
    """

    answered: float
    labels: float | None
    students: tuple[float, ...]
    worst_case: float | None
    exact: float | None

    @property
    def student(self) -> float | None:
        """The mean over students, if there are any."""
        return fmean(self.students) if self.students else None


@dataclass(frozen=True)
class Run:
    """One labelling: public records asked, int64 (Q,), their histograms (Q, k), and the answers."""

    rows: NDArray[np.int64]
    counts: Floats
    answers: Answers

    def label(self, public: Records) -> Records:
        """Return the records that got a label, with that label."""
        given = self.answers.answered
        return Records(public.X[self.rows[given]], self.answers.labels[given])

    def right(self, public: Records) -> NDArray[np.bool_]:
        """Return which of the released labels are right."""
        given = self.answers.answered
        return np.asarray(public.y[self.rows[given]] == self.answers.labels[given], dtype=bool)


def settings() -> Iterator[Setting]:
    """Yield the columns of Table 1, for either mechanism."""
    for queries in QUERIES:
        for gamma in GAMMAS:
            for confident in (False, True):
                yield Setting(gamma, queries, confident)


def measure(votes: Votes, split: Split, setting: Setting, spent: Floats | None) -> Measure:
    """Return the measure of `votes` (teachers, public); training cost `spent`, None without a guarantee."""
    counts = histograms(votes, CLASSES)
    runs = [_run(counts, setting, np.random.default_rng(seed)) for seed in range(RUNS)]
    right = np.concatenate([run.right(split.public) for run in runs])
    return Measure(
        answered=len(right) / RUNS,
        labels=float(right.mean()) if len(right) else None,
        students=_students(runs, split),
        worst_case=_epsilon(runs, setting, "worst_case", spent),
        exact=_epsilon(runs, setting, "exact", spent),
    )


def _run(counts: Floats, setting: Setting, random: np.random.Generator) -> Run:
    rows = random.permutation(len(counts))[: setting.queries]
    return Run(rows, counts[rows], answer(counts[rows], setting.mechanism, random))


def _epsilon(runs: Sequence[Run], setting: Setting, bound: Bound, spent: Floats | None) -> float | None:
    if spent is None:
        return None
    counts = np.stack([run.counts for run in runs])
    answered = np.stack([run.answers.answered for run in runs])
    return float(np.mean(costs(counts, answered, setting.mechanism, bound, spent)))


def _students(runs: Sequence[Run], split: Split) -> tuple[float, ...]:
    """Return the accuracy of one student per run, trained only on its labels."""
    if not all(run.answers.answered.any() for run in runs):
        return ()
    learnt = [run.label(split.public) for run in runs]
    return tuple((answers(learnt, STUDENTS, split.test.X) == split.test.y).mean(axis=1).tolist())
