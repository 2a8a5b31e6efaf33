"""Labels of a pool by Binary voting, all of them or as dependencies suggest, and what they cost."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from common.mechanism import Binary
from common.privacy import budget_rdp, epsilon, propose_order
from common.sharing.ballots import VOTE
from common.sharing.fixed_point import encode
from common.sharing.ring import Ring
from guardian.accounting import Tally, charges
from guardian.accounting.checks import Bound, Floats
from guardian.mechanisms import release
from guardian.noise import LATTICE, NoiseSource

RING = Ring(64)
DELTA = 1e-5
EPSILON = 8.0
ORDER = propose_order(EPSILON, DELTA)
"""That of a budget of `EPSILON`, at which everything is charged."""
BUDGET = budget_rdp(EPSILON, DELTA, ORDER)


@dataclass(frozen=True)
class Asked:
    """Answers to a whole pool, and what each of its queries cost.

    Attributes:
        labels: 1 or 0 for every label, int64 (pool, labels).
        questions: labels that were asked of each query, int64 (pool,).
        rdp: of each query, (pool,).
    """

    labels: NDArray[np.int64]
    questions: NDArray[np.int64]
    rdp: Floats

    @property
    def fitting(self) -> int:
        """How many queries one budget pays for, one after the other."""
        return int((self.rdp.cumsum() <= BUDGET).sum())

    def epsilon(self, queries: int) -> float:
        """What the first queries cost, at `DELTA`."""
        return epsilon(float(self.rdp[:queries].sum()), ORDER, DELTA)


def ask_all(counts: NDArray[np.int64], n: int, sigma: float, noise: NoiseSource, bound: Bound) -> Asked:
    """Ask about every label of every query, of which `counts` (pool, labels) of n models say yes."""
    labels = _released(counts, n, sigma, noise)
    return Asked(labels, np.full(len(counts), counts.shape[1]), _cost(counts, n, sigma, bound))


def ask_parents_first(
    counts: NDArray[np.int64],
    n: int,
    sigma: float,
    families: Mapping[int, Sequence[int]],
    noise: NoiseSource,
    bound: Bound,
) -> Asked:
    """The same, but about children only where their parent was answered with yes; else they are absent."""
    children = [child for several in families.values() for child in several]
    first = [label for label in range(counts.shape[1]) if label not in children]
    labels = np.zeros(counts.shape, dtype=np.int64)
    labels[:, first] = _released(counts[:, first], n, sigma, noise)
    rdp, questions = _cost(counts[:, first], n, sigma, bound), np.full(len(counts), len(first))
    for parent, several in families.items():
        rows, columns = np.flatnonzero(labels[:, parent]), np.array(several)
        if len(rows):
            part = counts[np.ix_(rows, columns)]
            labels[np.ix_(rows, columns)] = _released(part, n, sigma, noise)
            rdp[rows] += _cost(part, n, sigma, bound)
            questions[rows] += len(columns)
    return Asked(labels, questions, rdp)


def noise_for(counts: NDArray[np.int64], n: int, bound: Bound) -> float:
    """The least sigma with which one budget pays for all labels of these queries, to 1%."""
    low, high = 1.0, 1000.0
    while high / low > 1.01:
        sigma = (low * high) ** 0.5
        fits = _cost(counts, n, sigma, bound).sum() <= BUDGET
        low, high = (low, sigma) if fits else (sigma, high)
    return high


def _released(counts: NDArray[np.int64], n: int, sigma: float, noise: NoiseSource) -> NDArray[np.int64]:
    totals = np.full(len(counts), n * VOTE)
    mechanism, labels = Binary(sigma=sigma), counts.shape[1]
    sums = encode(counts, RING)
    return release(sums, mechanism, noise, RING, classes=labels, totals=totals, voters=n).labels


def _cost(counts: NDArray[np.int64], n: int, sigma: float, bound: Bound) -> Floats:
    """The rdp (Q,) of all labels of queries; a bit costs what its count alone decides."""
    kinds, where = np.unique(counts, return_inverse=True)
    tally = Tally(
        mechanism=Binary(sigma=sigma),
        classes=1,
        total=np.full(len(kinds), float(n)),
        voters=n,
        votes=kinds[:, None].astype(np.float64),
        answered=np.ones((len(kinds), 1), dtype=np.bool_),
    )
    each = charges(tally, ORDER, bound, lattice=LATTICE)
    return np.asarray(each[where.reshape(counts.shape)].sum(axis=1))
