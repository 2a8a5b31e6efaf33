"""How often a mechanism answers, and rightly, on votes that are known: probabilities over its noise."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(40)
_SHARES = _WEIGHTS / _WEIGHTS.sum()


@dataclass(frozen=True)
class Forecast:
    """What to expect of queries of a `VoteSample`.

    Attributes:
        given: probability of each decision to answer, (Q, 1), or (Q, labels) where labels are checked alone.
        right: probability that an answer is right if it is given, (Q, answers).
        positive: which of several labels are right, bool (Q, answers); None for classes.
    """

    given: Floats = field(repr=False)
    right: Floats = field(repr=False)
    positive: NDArray[np.bool_] | None = field(default=None, repr=False)

    @property
    def answers(self) -> float:
        """Labels that a query gets on average."""
        return float(np.broadcast_to(self.given, self.right.shape).sum(axis=1).mean())

    @property
    def right_labels(self) -> float:
        """Right labels that a query gets on average."""
        return float((self.given * self.right).sum(axis=1).mean())

    @property
    def accuracy(self) -> float:
        """The share of labels given that are right; of several labels balanced over yes and no, else NaN."""
        weights = np.broadcast_to(self.given, self.right.shape)
        parts = [np.ones_like(self.right)] if self.positive is None else [self.positive, ~self.positive]
        found = [_mean(self.right, weights * part) for part in parts]
        return sum(found) / len(found)


def passing(votes: Floats, threshold: float, sigma: float) -> Floats:
    """Return the probability that votes reach a threshold with noise of `sigma`."""
    from scipy.special import ndtr

    return np.asarray(ndtr((votes - threshold) / sigma), dtype=np.float64)


def winning(counts: Floats, chosen: NDArray[np.int64], sigma: float) -> Floats:
    """Return the probability (Q,) that the `chosen` class of each row has the most votes after noise.

    The integral over the noise of its own count, by 40 nodes of Gauss and Hermite.
    """
    from scipy.special import ndtr

    rows = np.arange(len(counts))
    leads = (counts[rows, chosen][:, None] - counts) / sigma
    leads[rows, chosen] = np.inf
    others = np.ones((len(counts), len(_NODES)))
    for lead in leads.T:
        others *= ndtr(lead[:, None] + _NODES)
    return np.asarray(others @ _SHARES, dtype=np.float64)


def saying_yes(yeses: Floats, teachers: int, sigma: float) -> Floats:
    """Return the probability that votes for a label exceed those against it, each with noise of `sigma`."""
    from scipy.special import ndtr

    return np.asarray(ndtr((2 * yeses - teachers) / (np.sqrt(2) * sigma)), dtype=np.float64)


def _mean(values: Floats, weights: Floats) -> float:
    total = float(weights.sum())
    return float((values * weights).sum()) / total if total > 0 else float("nan")
