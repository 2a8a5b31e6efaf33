"""How precisely released labels reveal a count of votes, for an epsilon that is all spent on it.

Wang et al. 2022: an answer is more likely with more votes, so repeated answers to one query reveal the votes.
The querying party's share of a sum is its own, so it can add an offset; with an offset that makes two classes
tie, each label reveals most.
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
"""Counts of votes for class 0 to find."""
PARTS = 12
"""How often the offset is adapted."""
GRID = np.arange(-20, TEACHERS + 20, 0.05)
"""Candidate counts of the maximum-likelihood estimate."""


def main() -> None:
    """Print, for each epsilon, how many labels it pays for, and the error of the counts."""
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
    """Return the maximum-likelihood count of class 0 after `labels` labels of one query with that count."""
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
    """Return the deviation of the maximum-likelihood count for labels at the tie.

    There, a label's probability rises by phi(0) sqrt(2)/sigma per vote, so its information is 4/(pi sigma^2).
    """
    return SIGMA * math.sqrt(math.pi / (4 * labels))


def _wins(count: int, offset: float, queries: int) -> int:
    """Ask a query repeatedly with an offset on the counts of both classes; return how often class 0 won."""
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
