"""What released labels tell a querying party of a count of votes, for an epsilon that is all spent on it.

Wang et al. 2022: an answer is the likelier the more votes it has, so answers to one query that is asked again
and again tell the votes. The querying party's share of a sum is its own, so that it can add an offset: with
one that makes two classes tie, every label tells most.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from ostraka.common.mechanism import GnMax
from ostraka.guardian.accountant import Accountant
from ostraka.guardian.mechanisms.votes import release_votes
from ostraka.guardian.noise import ExactNoise

TEACHERS = 250  # MNIST's ensemble (Papernot et al. 2018)
SIGMA = 40.0  # of MNIST's plan (Papernot et al. 2018)
BUDGETS = (1.0, 4.0, 10.0)
COUNTS = tuple(range(5, TEACHERS, 12))
"""Counts of votes for class 0 that are to be found."""
PARTS = 12
"""Times that the offset is chosen anew."""
GRID = np.arange(-20, TEACHERS + 20, 0.05)
"""Counts among which the likeliest is taken."""


def main() -> None:
    """Print for each epsilon how many labels it pays for, and by how many votes the counts are missed."""
    print(f"{len(COUNTS)} counts of {TEACHERS} votes, two classes, GNMax with sigma {SIGMA:g}")
    for budget in BUDGETS:
        labels = Accountant(2, budget=budget).fits(GnMax(sigma=SIGMA))
        assert labels is not None
        missed = np.array([likeliest_count(count, labels) - count for count in COUNTS])
        deviation = math.sqrt((missed**2).mean())
        most = np.abs(missed).max()
        print(
            f"epsilon {budget:g}: {labels:,} labels, missed by {deviation:.2f} votes (root mean square), "
            f"{most:.2f} at most; by Fisher's information {deviation_at_tie(labels):.2f}"
        )


def likeliest_count(count: int, labels: int) -> float:
    """Return the likeliest count of class 0 after so many labels of one query with that count."""
    guess = TEACHERS / 2
    offsets = []
    wins = []
    asked = [len(part) for part in np.array_split(np.arange(labels), PARTS)]
    for queries in asked:
        offset = TEACHERS - 2 * guess
        offsets.append(offset)
        wins.append(_wins(count, offset, queries))
        guess = _likeliest(offsets, wins, asked[: len(wins)])
    return guess


def deviation_at_tie(labels: int) -> float:
    """Return the deviation of the likeliest count where labels are asked at the tie.

    There a label's chance rises by phi(0) sqrt(2)/sigma a vote, so that it tells 4/(pi sigma^2) of it.
    """
    return SIGMA * math.sqrt(math.pi / (4 * labels))


def _wins(count: int, offset: float, queries: int) -> int:
    """Ask a query so often with an offset on the counts of both classes; return how often class 0 won."""
    sums = np.tile([count + offset / 2, TEACHERS - count - offset / 2], (queries, 1))
    released = release_votes(GnMax(sigma=SIGMA), sums, ExactNoise(), classes=2, teachers=TEACHERS)
    return int((released.labels[:, 0] == 0).sum())


def _likeliest(offsets: Sequence[float], wins: Sequence[int], asked: Sequence[int]) -> float:
    won = np.array(wins)
    lost = np.array(asked) - np.array(wins)
    ahead: NDArray[np.float64] = 2 * GRID[:, None] - TEACHERS + np.array(offsets)
    z = ahead / (math.sqrt(2) * SIGMA)
    return float(GRID[(won * norm.logcdf(z) + lost * norm.logcdf(-z)).sum(axis=1).argmax()])


if __name__ == "__main__":
    main()
