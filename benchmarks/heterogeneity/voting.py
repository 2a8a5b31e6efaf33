"""Votes released as labels, with NumPy's noise, which is not for releases, and their cost."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ostraka.common.mechanism import Confident, LnMax
from ostraka.common.privacy import ORDERS, epsilon
from ostraka.guardian.accounting import confident_rdp, lnmax_rdp
from ostraka.guardian.accounting.numerics.arguments import Bound, Floats

DELTA = 1e-5  # of every epsilon in docs/heterogeneity.md
Mechanism = LnMax | Confident


@dataclass(frozen=True)
class Answers:
    """Answers to queries.

    Attributes:
        answered: whether there is a label, bool (Q,).
        labels: the noisy argmax, int64 (Q,), whether released or not.
    """

    answered: NDArray[np.bool_]
    labels: NDArray[np.int64]


def histograms(votes: NDArray[np.uint8], classes: int) -> Floats:
    """Count the `votes` (teachers, Q) for each class, (Q, classes)."""
    return np.stack([(votes == label).sum(axis=0) for label in range(classes)], axis=1).astype(np.float64)


def plurality_accuracy(counts: Floats, y: NDArray[np.int64]) -> float:
    """Return how often the class with most votes (Q, k) is right, ties broken at random."""
    most = counts == counts.max(axis=1, keepdims=True)
    return float((most[np.arange(len(y)), y] / most.sum(axis=1)).mean())


def answer(counts: Floats, mechanism: Mechanism, random: np.random.Generator) -> Answers:
    """Return answers to every query of `counts` (Q, k), with fresh noise."""
    queries = len(counts)
    match mechanism:
        case LnMax(gamma=gamma):
            noisy = counts + random.laplace(0, 1 / gamma, counts.shape)
            return Answers(np.ones(queries, dtype=bool), noisy.argmax(axis=1))
        case Confident(sigma1=sigma1, sigma2=sigma2, threshold=threshold):
            check = counts.max(axis=1) + sigma1 * random.standard_normal(queries)
            noisy = counts + sigma2 * random.standard_normal(counts.shape)
            return Answers(check >= threshold, noisy.argmax(axis=1))


def costs(
    counts: Floats,
    answered: NDArray[np.bool_],
    mechanism: Mechanism,
    bound: Bound,
    spent: Floats | float = 0.0,
) -> list[float]:
    """Return the epsilon, at DELTA, of each run's queries: `counts` (runs, Q, k), `answered` (runs, Q).

    `spent` is the cost before, rdp at `ORDERS`.

    Histograms that differ only in the order of classes cost the same, and are computed once.
    """
    runs, queries, classes = counts.shape
    alike = np.column_stack([np.sort(counts.reshape(-1, classes), axis=1), answered.ravel()])
    kinds, kind = np.unique(alike, axis=0, return_inverse=True)
    rdp = _rdp(kinds[:, :-1], kinds[:, -1] == 1, mechanism, bound)[kind].reshape(runs, queries, -1)
    return [epsilon(total.tolist(), list(ORDERS), DELTA) for total in rdp.sum(axis=1) + spent]


def _rdp(counts: Floats, answered: NDArray[np.bool_], mechanism: Mechanism, bound: Bound) -> Floats:
    match mechanism:
        case LnMax(gamma=gamma):
            return lnmax_rdp(counts, gamma, ORDERS, bound=bound)
        case Confident(sigma1=sigma1, sigma2=sigma2, threshold=threshold):
            return confident_rdp(counts, threshold, sigma1, sigma2, ORDERS, answered, bound=bound)
