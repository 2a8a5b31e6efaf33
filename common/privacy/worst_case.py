"""Worst-case cost of a batch: a function of its plan and of the number of answers."""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ostraka.common.clipped_labels import clipped_labels_rdp
from ostraka.common.clipping import l1_radius
from ostraka.common.mechanism import (
    L1,
    AnyMechanism,
    Binary,
    Check,
    Confident,
    DpTtac,
    GnMax,
    Interactive,
    LnMax,
    NoiseCluster,
    Powerset,
    RandRes,
    Tau,
    Ttac,
)
from ostraka.common.privacy.amounts import amount
from ostraka.common.privacy.inputs import InputError
from ostraka.common.privacy.randomized import randomized_rdp
from ostraka.common.sharing.fixed_point import FRACTION_BITS
from ostraka.common.two_outcomes import two_outcomes_rdp

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


def worst_case(mechanism: AnyMechanism, order: float, sensitivity: float = 1.0, *, classes: int) -> WorstCase:
    """Return the rdp at `order` that holds for every histogram (DESIGN.md section 5; docs/accounting.md).

    `sensitivity` is what a unit can change in one query, in votes; `classes` counts classes or labels.
    One vote moved changes two counts by one each, so an argmax costs a/s^2; what has two outcomes, a check or
    a label, costs what `two_outcomes_rdp` says. Labels that are each randomised apart, `sensitivity` of a
    unit, each at most once in a batch, add up. A sum of updates costs a S^2/(2 s^2) where a unit moves it by
    S; one without noise has no cost that could be told, and counts as none.
    Raises InputError for an order of 1 or less, or a sensitivity that is not positive.
    """
    if not 1 < order < math.inf:
        raise InputError("order", f"must be a finite number above 1, is {order}")
    if not 0 < sensitivity < math.inf:
        raise InputError("sensitivity", f"must be a finite number above 0, is {sensitivity}")
    match mechanism:
        case GnMax(sigma=sigma):
            return WorstCase(answer=_argmax(order, sensitivity, sigma))
        case Confident(sigma1=sigma1, sigma2=sigma2) | Interactive(sigma1=sigma1, sigma2=sigma2):
            check = _check(order, sensitivity, sigma1)
            return WorstCase(check=check, answer=_argmax(order, sensitivity, sigma2))
        case LnMax(gamma=gamma):
            return WorstCase(answer=pure_rdp(2 * gamma * sensitivity, order))
        case NoiseCluster(sigma=sigma):
            return WorstCase(batch=_argmax(order, sensitivity, sigma))
        case RandRes(epsilon=epsilon):
            return WorstCase(batch=sensitivity * randomized_rdp(epsilon, classes, order))
        case Powerset(sigma=sigma, check=asked):
            whole = _argmax(order, sensitivity, sigma)
            check = _check(order, sensitivity, asked.sigma) if asked else 0.0
            return WorstCase(check=check, answer=whole, most=whole)
        case Binary(sigma=sigma, check=asked):
            return _per_label(order, sensitivity, sigma, asked, classes, radius=math.inf)
        case Tau(sigma=sigma, tau=tau, check=asked):
            return _per_label(order, sensitivity, sigma, asked, classes, radius=tau)
        case L1(sigma=sigma, tau1=tau1, check=asked):
            return _per_label(order, sensitivity, sigma, asked, classes, radius=l1_radius(tau1))
        case DpTtac(sigma=sigma):
            return WorstCase(answer=_gaussian(order, _moved_by(mechanism, sensitivity), sigma))
        case Ttac():
            return WorstCase()


def _moved_by(mechanism: DpTtac, sensitivity: float) -> float:
    """Return how far a unit moves a round's sum of updates, as L2 norm in radii.

    Each of `sensitivity` gradients is replaced by another within the radius, and rounding their sum moves
    each parameter by less than a step more; with clip "party" a whole update is replaced, which was rounded
    within the radius (own derivation, docs/accounting.md).
    """
    if mechanism.clip == "party":
        return 2.0
    rounding = math.ldexp(math.sqrt(mechanism.recipe.parameters), -FRACTION_BITS)
    return 2 * sensitivity + rounding


def _per_label(
    order: float, sensitivity: float, sigma: float, check: Check | None, classes: int, radius: float
) -> WorstCase:
    """Return the cost of one bit per label, from ballots of an L2 norm of at most `radius`.

    Replacing a ballot moves the positives by at most sqrt(2) radius, and the negatives by as much.
    """
    moved, replaced = sensitivity * min(1.0, radius), 2 * (sensitivity * radius) ** 2
    cost = WorstCase(
        answer=_two_outcomes(order, math.sqrt(2) * moved, sigma),
        most=_together(order, classes, math.sqrt(2) * moved, 2 * replaced, sigma),
    )
    if check is None:
        return cost
    return replace(cost, check=_together(order, classes, moved, replaced, check.sigma))


def _together(order: float, classes: int, moved: float, squares: float, sigma: float) -> float:
    """Return the cost of one bit for each label, which move by `moved` and by `squares` in all."""
    lattice = math.ldexp(1 / sigma, -FRACTION_BITS)
    return clipped_labels_rdp(order, classes, moved / sigma, squares / sigma**2, lattice=lattice)


def _gaussian(order: float, moved: float, sigma: float) -> float:
    """Return the cost of counts that are released with noise: what they move by is an L2 norm."""
    return order * (moved / sigma) ** 2 / 2


def _argmax(order: float, sensitivity: float, sigma: float) -> float:
    return order * (sensitivity / sigma) ** 2


def _check(order: float, sensitivity: float, sigma: float) -> float:
    return _two_outcomes(order, sensitivity, sigma)


def _two_outcomes(order: float, moved: float, sigma: float) -> float:
    return two_outcomes_rdp(order, moved / sigma, lattice=math.ldexp(1 / sigma, -FRACTION_BITS))


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
