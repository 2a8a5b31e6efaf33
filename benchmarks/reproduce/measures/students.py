"""Students of MNIST's labels, instead of SVHN's, whose images are not in the data folder."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.reproduce.cell import Claim, Figure, Job, Outcome
from benchmarks.students.answers import answer
from benchmarks.students.cells import learn
from benchmarks.students.data import Division, divide
from benchmarks.students.settings import FULL, QUICK, Setting
from benchmarks.students.votes import votes
from ostraka.common.mechanism import GnMax
from ostraka.guardian.accountant import Accountant

STUDENTS = ("supervised", "fixmatch")
BY_VOTES = "charged by the votes, exact"
WHATEVER = "charged whatever the votes"
TRUE = "true labels of all"
NOISE = 0.24
"""Noise per teacher with worst-case charges: the usual gap of votes still decides."""
LOSS = 1.1
"""Points that privacy costs SVHN's student in the paper."""


@dataclass(frozen=True)
class Labels:
    """Labels of some records of the pool.

    Attributes:
        told: what paid for them.
        rows: the records, int64 (n,).
        labels: their labels, int64 (n,).
    """

    told: str
    rows: NDArray[np.int64]
    labels: NDArray[np.int64]


def papernot(job: Job) -> Outcome:
    """Train students on labels that epsilon 1.97 pays for, and on all true labels."""
    setting = QUICK if job.quick else FULL
    division = divide(setting)
    folder = job.folder / "students"
    folder.mkdir(parents=True, exist_ok=True)
    counts = votes(setting, division, folder, lambda done, of: None)
    values: dict[str, list[float]] = {}
    for seed in job.seeds:
        for name, value in _measure(setting, division, counts, seed):
            values.setdefault(name, []).append(value)
    figures = tuple(Figure(name, tuple(found), better="higher") for name, found in values.items())
    mean = {figure.name: figure.mean for figure in figures}
    private, open_ = (max(mean[f"{told}: {one} student, %"] for one in STUDENTS) for told in (BY_VOTES, TRUE))
    return Outcome(
        figures, (Claim(f"privacy takes at most {LOSS} points, as in the paper", open_ - private <= LOSS),)
    )


def _measure(
    setting: Setting, division: Division, counts: NDArray[np.int64], seed: int
) -> Iterator[tuple[str, float]]:
    true = Labels(TRUE, np.arange(len(division.pool)), division.pool_y)
    for given in (_by_votes(setting, counts, seed), _whatever_the_votes(setting, counts, seed), true):
        yield f"{given.told}: labels", len(given.rows)
        yield f"{given.told}: right, %", 100 * float((given.labels == division.pool_y[given.rows]).mean())
        for student in STUDENTS:
            model = learn(setting, division, student, given.rows, given.labels, seed)
            yield f"{given.told}: {student} student, %", 100 * model.score(division.test, division.test_y)


def _by_votes(setting: Setting, counts: NDArray[np.int64], seed: int) -> Labels:
    released = answer(counts, setting.plans[-1], setting.delta, seed)
    return Labels(BY_VOTES, released.rows, released.labels)


def _whatever_the_votes(setting: Setting, counts: NDArray[np.int64], seed: int) -> Labels:
    random = np.random.default_rng(seed)
    mechanism = GnMax(sigma=NOISE * setting.training.teachers)
    budget = setting.plans[-1].epsilon
    paid = Accountant(counts.shape[1], budget=budget, delta=setting.delta).fits(mechanism)
    rows = random.permutation(len(counts))[:paid]
    noise = random.normal(0, mechanism.sigma, (len(rows), counts.shape[1]))
    return Labels(WHATEVER, rows, (counts[rows] + noise).argmax(axis=1))
