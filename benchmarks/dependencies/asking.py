"""Labels of a pool by Binary voting, all of them or with dependencies, and their cost."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ostraka.common.mechanism import Binary
from ostraka.common.privacy import budget_rdp, epsilon, propose_order
from ostraka.common.sharing.ballots import VOTE
from ostraka.common.sharing.fixed_point import encode
from ostraka.common.sharing.ring import Ring
from ostraka.guardian.accounting import Tally
from ostraka.guardian.accounting.numerics.arguments import Bound, Floats
from ostraka.guardian.mechanisms import charges, release
from ostraka.guardian.noise import LATTICE, NoiseSource

DELTA = 1e-5  # of all benchmarks if the paper states none
EPSILON = 8.0  # the paper's in Table 4
ORDER = propose_order(EPSILON, DELTA)
"""The order of a budget of `EPSILON`, at which everything is charged."""
BUDGET = budget_rdp(EPSILON, DELTA, ORDER)


@dataclass(frozen=True)
class Counted:
    """Votes of n models, of which `positives` (pool, labels) are yes, and noise of `sigma` votes."""

    positives: NDArray[np.int64] = field(repr=False)
    n: int
    sigma: float

    def release(self, noise: NoiseSource) -> NDArray[np.int64]:
        """Return every label of every query, 1 or 0, (pool, labels)."""
        totals = np.full(len(self.positives), self.n * VOTE)
        ring = Ring(64)
        sums = encode(self.positives, ring)
        labels = self.positives.shape[1]
        mechanism = Binary(sigma=self.sigma)
        return release(sums, mechanism, noise, ring, classes=labels, totals=totals).labels

    def rdp(self, asked: NDArray[np.bool_], bound: Bound) -> Floats:
        """Return the cost (pool,) of labels `asked` (pool, labels); a label's cost depends only on its
        count."""
        kinds, where = np.unique(self.positives, return_inverse=True)
        tally = Tally(
            mechanism=Binary(sigma=self.sigma),
            classes=1,
            total=np.full(len(kinds), float(self.n)),
            voters=self.n,
            votes=kinds[:, None].astype(np.float64),
            answered=np.ones((len(kinds), 1), dtype=np.bool_),
        )
        each = charges(tally, ORDER, bound, lattice=LATTICE)[where.reshape(asked.shape)]
        return np.asarray((each * asked).sum(axis=1))

    def fitting(self, asked: NDArray[np.bool_], bound: Bound) -> int:
        """Return how many queries one budget pays for, one after the other."""
        return int((self.rdp(asked, bound).cumsum() <= BUDGET).sum())

    def epsilon(self, asked: NDArray[np.bool_], queries: int) -> float:
        """Return the cost of the first queries for these votes, as epsilon at `DELTA`."""
        return epsilon(float(self.rdp(asked, "exact")[:queries].sum()), ORDER, DELTA)


def parents_first(
    labels: NDArray[np.int64], families: Mapping[int, Sequence[int]]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Reduce answers (pool, labels): children of absent parents become absent and are not asked.

    Returns labels, and which of them were asked.
    """
    kept = labels.copy()
    asked = np.ones(labels.shape, dtype=np.bool_)
    for parent, children in families.items():
        absent = np.ix_(np.flatnonzero(labels[:, parent] == 0), np.array(children))
        kept[absent] = 0
        asked[absent] = False
    return kept, asked


def noise_for(positives: NDArray[np.int64], n: int) -> float:
    """Return the least sigma, to 1%, at which one budget pays for all labels of these queries."""
    everything = np.ones(positives.shape, dtype=np.bool_)
    low = 1.0
    high = 1000.0
    while high / low > 1.01:
        sigma = (low * high) ** 0.5
        fits = Counted(positives, n, sigma).rdp(everything, "exact").sum() <= BUDGET
        low, high = (low, sigma) if fits else (sigma, high)
    return high
