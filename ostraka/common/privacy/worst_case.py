"""Worst-case cost of a batch, and the bounds that mechanisms compose it from (docs/accounting.md)."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ostraka.common.privacy.amounts import amount
from ostraka.common.privacy.clipped_labels import clipped_labels_rdp
from ostraka.common.privacy.two_outcomes import two_outcomes_rdp
from ostraka.common.sharing.fixed_point import FRACTION_BITS

_LARGE = 20.0


@dataclass(frozen=True)
class WorstCase:
    """Worst-case rdp of one batch.

    Attributes:
        batch: once, whatever the batch asks.
        check: for every query asked, whatever comes of its checks.
        answer: for every answer given: a class, a label set, or one label of a set.
        most: the most that all answers to one query cost together.
    """

    batch: float = 0.0
    check: float = 0.0
    answer: float = 0.0
    most: float = math.inf

    def queries(self, answered: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return what each query (Q,) of a batch costs, of which `answered` (Q, answers) were given."""
        given = answered.sum(axis=1)
        return np.asarray(self.check + np.minimum(given * self.answer, self.most), dtype=np.float64)

    def rdp(self, answered: NDArray[np.bool_]) -> float:
        """Return what a whole batch costs."""
        return self.batch * bool(len(answered)) + math.fsum(self.queries(answered).tolist())

    def amount(self, answered: NDArray[np.bool_]) -> int:
        """Return the same in ledger amounts, each query rounded up.

        In whole numbers, so that a charge never exceeds the reservation, which has every answer given.
        """
        given, often = np.unique(answered.sum(axis=1), return_counts=True)
        check, total = amount(self.check), amount(self.batch) * bool(len(given))
        for count, queries in zip(given.tolist(), often.tolist(), strict=True):
            total += queries * (check + self._answers(count))
        return total

    def reservation(self, queries: int, answers: int) -> int:
        """Return the amount of a batch of `queries` with all of its `answers` to each given."""
        if not queries:
            return 0
        return amount(self.batch) + queries * (amount(self.check) + self._answers(answers))

    def _answers(self, count: int) -> int:
        """Return the amount of `count` answers to one query."""
        together = count * amount(self.answer)
        return together if math.isinf(self.most) else min(together, amount(self.most))


def gaussian_rdp(order: float, moved: float, sigma: float) -> float:
    """Return the cost of counts that are released with noise: what they move by is an L2 norm."""
    return order * (moved / sigma) ** 2 / 2


def check_rdp(order: float, sensitivity: float, sigma: float) -> float:
    """Return the cost of whether a count with noise of `sigma` reaches a threshold."""
    return two_outcomes_rdp(order, sensitivity / sigma, lattice=_lattice(sigma))


def label_bits(
    order: float, sensitivity: float, sigma: float, classes: int, radius: float
) -> tuple[float, float]:
    """Return the cost of one bit of each label, and of all together, from ballots of an L2 norm of `radius`.

    Replacing a ballot moves the positives by at most sqrt(2) radius, and the negatives by as much.
    """
    moved, replaced = _moved(sensitivity, radius)
    one = check_rdp(order, math.sqrt(2) * moved, sigma)
    return one, _together(order, classes, math.sqrt(2) * moved, 2 * replaced, sigma)


def label_checks(order: float, sensitivity: float, sigma: float, classes: int, radius: float) -> float:
    """Return the cost of a check of each label, all together, from ballots of an L2 norm of `radius`."""
    return _together(order, classes, *_moved(sensitivity, radius), sigma)


def _moved(sensitivity: float, radius: float) -> tuple[float, float]:
    """Return how far a unit moves one label's positives, and the sum of squares over all labels."""
    return sensitivity * min(1.0, radius), 2 * (sensitivity * radius) ** 2


def _together(order: float, classes: int, moved: float, squares: float, sigma: float) -> float:
    """Return the cost of one bit for each label, which move by `moved` and by `squares` in all."""
    return clipped_labels_rdp(order, classes, moved / sigma, squares / sigma**2, lattice=_lattice(sigma))


def _lattice(sigma: float) -> float:
    """Return the step of noise in deviations."""
    return math.ldexp(1 / sigma, -FRACTION_BITS)


def pure_rdp(epsilon_pure: float, order: float) -> float:
    """Return the rdp at `order` of what is `epsilon_pure`-DP at worst, which randomised response attains.

    log(cosh((a - 1/2) eps) / cosh(eps/2)) / (a - 1) (Mironov 2017, Proposition 5; Bun and Steinke 2016,
    Proposition 3.3); cosh x - cosh y = 2 sinh((x + y)/2) sinh((x - y)/2) keeps the digits of small costs.
    """
    if order * epsilon_pure > _LARGE:
        log_moment = _log_cosh((order - 0.5) * epsilon_pure) - _log_cosh(epsilon_pure / 2)
    else:
        rise = 2 * math.sinh(order * epsilon_pure / 2) * math.sinh((order - 1) * epsilon_pure / 2)
        log_moment = math.log1p(rise / math.cosh(epsilon_pure / 2))
    return log_moment / (order - 1)


def _log_cosh(x: float) -> float:
    return x + math.log1p(math.exp(-2 * x)) - math.log(2)
