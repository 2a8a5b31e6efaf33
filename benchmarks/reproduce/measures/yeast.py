"""Votes about yeast's labels, a substitute for images', and the accuracy of releases."""

import numpy as np
from numpy.typing import NDArray

from benchmarks.dependencies.cells import QUICK, SETTINGS
from benchmarks.dependencies.votes import votes
from benchmarks.dpsgd.measures import measure
from benchmarks.reproduce.cell import Job
from benchmarks.reproduce.measures.elections import ByLabel, Votes, counts
from ostraka.guardian.accounting.numerics.arguments import Floats

Labels = NDArray[np.int64]


def load_votes(job: Job) -> tuple[Votes, Labels]:
    """Return votes (voters, queries, labels) of the first seed's parties, and the true labels."""
    setting = QUICK if job.quick else SETTINGS[0]
    found = votes(setting.shared, setting.teachers, setting.pool, job.seeds[0], job.folder / "dependencies")
    return found.yes, found.true


def by_label(yes: Votes, mechanism: ByLabel, random: np.random.Generator) -> Floats:
    """Release labels with noise on yes and on no, as Binary does."""
    positives = counts(yes, mechanism)
    drawn = random.normal(0, mechanism.sigma, (2, *positives.shape))
    said: Floats = (positives + drawn[0] > len(yes) - positives + drawn[1]).astype(np.float64)
    return said


def by_set(yes: Votes, sigma: float, random: np.random.Generator) -> Floats:
    """Release the set of labels with most votes plus noise, of all sets."""
    labels = yes.shape[2]
    bits = 1 << np.arange(labels)
    names = yes.astype(np.int64) @ bits
    all_counts = np.stack([np.bincount(column, minlength=2**labels) for column in names.T])
    winner = (all_counts + random.normal(0, sigma, all_counts.shape)).argmax(axis=1)
    said: Floats = ((winner[:, None] & bits) > 0).astype(np.float64)
    return said


def bac(true: Labels, said: Floats) -> float:
    """Return the balanced accuracy of labels 0 or 1 (queries, labels)."""
    return measure(true, said).bac
