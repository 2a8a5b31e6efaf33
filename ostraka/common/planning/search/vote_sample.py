"""Votes that a search judges mechanisms by: assumed of teachers, simulated, or public."""

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

CONCENTRATION = 4.0
"""How alike queries are that are assumed. Votes of 250 MNIST teachers are best fitted by 6, of SVHN by 2."""
_MOST_BALLOTS = 4_000_000
_LEAST_QUERIES, _MOST_QUERIES = 100, 1000
_SEED = 0


@dataclass(frozen=True)
class VoteSample:
    """Queries that are like those to be asked.

    Attributes:
        counts: votes for each class, or yeses for each label, float64 (Q, k).
        teachers: how many voted.
        truth: the right class, int64 (Q,), or which labels are right, bool (Q, k).
        ballots: of several labels each teacher's own, bool (teachers, Q, k); None where they are not known.
    """

    counts: NDArray[np.float64] = field(repr=False)
    teachers: int
    truth: NDArray[np.int64] | NDArray[np.bool_] = field(repr=False)
    ballots: NDArray[np.bool_] | None = field(default=None, repr=False)

    @property
    def classes(self) -> int:
        """Classes, or labels."""
        return int(self.counts.shape[1])

    @property
    def multi_label(self) -> bool:
        """Whether a query has several labels."""
        return self.truth.ndim == 2

    def thinned(self, most: int) -> "VoteSample":
        """Return at most `most` of the queries, evenly spread."""
        rows = np.unique(np.linspace(0, len(self.counts) - 1, min(most, len(self.counts))).astype(np.int64))
        ballots = None if self.ballots is None else self.ballots[:, rows]
        return replace(self, counts=self.counts[rows], truth=self.truth[rows], ballots=ballots)


def most_queries(teachers: int, classes: int) -> int:
    """Return how many queries are enough to search on, and quick."""
    return int(np.clip(_MOST_BALLOTS // (teachers * classes), _LEAST_QUERIES, _MOST_QUERIES))


def assumed_classes(classes: int, teachers: int, accuracy: float) -> VoteSample:
    """Return votes on classes by teachers of this mean accuracy.

    Each query has its own chances of the classes, Dirichlet of mean `accuracy` for the right one and the rest
    shared evenly, of concentration CONCENTRATION: so teachers err together, on some queries more than on
    others. Given these, teachers vote independently. An assumption, fitted to two published sets of votes.
    """
    rng = np.random.default_rng(_SEED)
    queries = most_queries(teachers, classes)
    truth = rng.integers(classes, size=queries)
    mean = np.full((queries, classes), (1 - accuracy) / (classes - 1))
    mean[np.arange(queries), truth] = accuracy
    counts = rng.multinomial(teachers, _chances(rng, mean)).astype(np.float64)
    return VoteSample(counts, teachers, truth)


def assumed_labels(labels: int, teachers: int, accuracy: float, positives: float) -> VoteSample:
    """Return ballots on labels by teachers of this mean accuracy, of records with `positives` on average.

    Labels are independent, and so are teachers given each label's own chance to be told rightly, which is
    Beta of mean `accuracy` and concentration CONCENTRATION. Real teachers agree more on whole sets.
    """
    rng = np.random.default_rng(_SEED)
    queries = most_queries(teachers, labels)
    truth = rng.random((queries, labels)) < positives / labels
    mean = np.stack([np.full(truth.shape, accuracy), np.full(truth.shape, 1 - accuracy)], axis=-1)
    right = rng.random((teachers, queries, labels)) < _chances(rng, mean)[..., 0]
    ballots = right == truth
    return VoteSample(ballots.sum(axis=0).astype(np.float64), teachers, truth, ballots)


def _chances(rng: np.random.Generator, mean: NDArray[np.float64]) -> NDArray[np.float64]:
    """Draw from a Dirichlet distribution for each row of means."""
    drawn = rng.gamma(np.maximum(CONCENTRATION * mean, 1e-3)) + 1e-12
    shares: NDArray[np.float64] = drawn / drawn.sum(axis=-1, keepdims=True)
    return shares
