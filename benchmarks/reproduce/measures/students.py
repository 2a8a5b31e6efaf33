"""Students of published votes: MNIST stands in for SVHN, whose images are not in the data folder."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.published import DATA
from benchmarks.reproduce.cell import Claim, Figure, Job, Outcome
from benchmarks.students.answers import answer
from benchmarks.students.cells import learned
from benchmarks.students.data import Division, divide
from benchmarks.students.settings import FULL, Setting
from ostraka.common.mechanism import GnMax
from ostraka.guardian.accountant import Accountant

PLAN = FULL.plans[-1]
WORST = GnMax(sigma=60.0)
"""Whatever the votes are; its noise still leaves MNIST's usual gap of 200 votes."""
STUDENTS = ("supervised", "fixmatch")
BY_VOTES, WHATEVER, TRUE = "charged by the votes, exact", "charged whatever the votes", "true labels of all"
LOSS = 1.1
"""Points that privacy takes from SVHN's student in the paper."""
QUICK_POOL, QUICK_STEPS = 300, 20


@dataclass(frozen=True)
class Labels:
    """Labels of some records of the pool.

    Attributes:
        told: what paid for them.
        rows: which records, int64 (n,).
        labels: theirs, int64 (n,).
    """

    told: str
    rows: NDArray[np.int64]
    labels: NDArray[np.int64]


def papernot(job: Job) -> Outcome:
    """Train students of labels that epsilon 1.97 pays for, and of all true labels."""
    setting = replace(FULL, pool=QUICK_POOL, steps=QUICK_STEPS) if job.quick else FULL
    division = divide(setting)
    values: dict[str, list[float]] = {}
    for seed in job.seeds:
        for name, value in _measured(setting, division, seed):
            values.setdefault(name, []).append(value)
    figures = tuple(Figure(name, tuple(found), better="higher") for name, found in values.items())
    mean = {figure.name: figure.mean for figure in figures}
    private = max(mean[f"{BY_VOTES}: {student} student, %"] for student in STUDENTS)
    close = mean[f"{TRUE}: supervised student, %"] - private <= LOSS
    return Outcome(figures, (Claim(f"privacy takes at most {LOSS} points, as in the paper", close),))


def _measured(setting: Setting, division: Division, seed: int) -> Iterator[tuple[str, float]]:
    for given in (_by_votes(division, seed), _whatever_the_votes(division, seed), _true(division)):
        yield f"{given.told}: labels", len(given.rows)
        yield f"{given.told}: right, %", 100 * float((given.labels == division.pool_y[given.rows]).mean())
        for student in STUDENTS:
            model = learned(setting, division, student, given.rows, given.labels, seed)
            yield f"{given.told}: {student} student, %", 100 * model.score(division.test, division.test_y)


def _by_votes(division: Division, seed: int) -> Labels:
    released = answer(_counts(division), PLAN, FULL.delta, seed)
    return Labels(BY_VOTES, released.rows, released.labels)


def _whatever_the_votes(division: Division, seed: int) -> Labels:
    random, counts = np.random.default_rng(seed), _counts(division)
    paid = Accountant(counts.shape[1], budget=PLAN.epsilon, delta=FULL.delta).fits(WORST)
    rows = random.permutation(len(counts))[:paid]
    noise = random.normal(0, WORST.sigma, (len(rows), counts.shape[1]))
    return Labels(WHATEVER, rows, (counts[rows] + noise).argmax(axis=1))


def _true(division: Division) -> Labels:
    return Labels(TRUE, np.arange(len(division.pool)), division.pool_y)


def _counts(division: Division) -> NDArray[np.int64]:
    """Return the published votes on the pool: the first test records, in their order."""
    counts: NDArray[np.uint8] = np.load(DATA / "votes" / "mnist_250_teachers_counts.npy")
    return counts[: len(division.pool)].astype(np.int64)
