"""Worst-case cost of a batch, in the ledger's amounts, and the bounds from which mechanisms compose it.

docs/accounting.md explains them. Every bound also accepts `GAUSSIAN` as an order and then returns the cost
under a Gaussian filter; it is derived for Gaussian noise, or from pure DP in the worst case
(docs/accounting-gaussian.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ostraka.common.privacy.filters import GAUSSIAN
from ostraka.common.privacy.gaussian import noise_rho, pure_rho
from ostraka.common.privacy.inputs import InputError
from ostraka.common.privacy.two_outcomes import clipped_labels_rdp, two_outcomes_rdp
from ostraka.common.sharing import FRACTION_BITS

AMOUNT_UNIT = 1e-12
"""The rdp of one unit of the ledger's integer amounts."""

_UNITS_PER_RDP = 10**12
"""1 / AMOUNT_UNIT as an integer, because no float is exactly 1e-12."""


def amount(rdp: float) -> int:
    """Return a cost as an integer amount of AMOUNT_UNIT, rounded up so that no cost is lost."""
    return math.ceil(_exact(rdp) * _UNITS_PER_RDP)


def budget_amount(rdp: float) -> int:
    """Return a budget as an integer amount of AMOUNT_UNIT, rounded down so that nothing is gained."""
    return math.floor(_exact(rdp) * _UNITS_PER_RDP)


def _exact(rdp: float) -> Fraction:
    if not 0 <= rdp < math.inf:
        raise InputError("rdp", f"must be a finite number, 0 or more, is {rdp}")
    return Fraction(rdp)


@dataclass(frozen=True)
class Influence:
    """What a unit can change in one query: at most `votes` votes of `weight` each.

    A record of a group with copies changes as many votes as it has copies; a person as many as the party's
    manifest declares. The weight is that of the unit's teachers, in votes. A vote moves as a whole, to one
    other class. Raises InputError for fewer than one vote, or for a weight that is not a finite number above
    0.
    """

    votes: int = 1
    weight: float = 1.0

    def __post_init__(self) -> None:
        if self.votes < 1 or self.votes != int(self.votes):
            raise InputError("votes", f"must be a whole number of at least 1, is {self.votes}")
        if not 0 < self.weight < math.inf:
            raise InputError("weight", f"must be a finite number above 0, is {self.weight}")

    @property
    def sensitivity(self) -> float:
        """The total change, in votes."""
        return self.votes * self.weight


ONE_VOTE = Influence()
"""The influence of a record that one teacher of weight 1 was trained on."""


_LARGE = 20.0
"""Order times epsilon beyond which logarithms are used, because sinh would eventually overflow.

At orders of 1.5 and more the logarithms then differ by 6 or more, so no digits cancel.
"""


@dataclass(frozen=True)
class WorstCase:
    """Worst-case rdp of one batch.

    Attributes:
        batch: charged once, whatever the batch asks.
        check: charged for every query, whatever the result of its checks.
        answer: charged for every answer: a class, a label set, or one label of a set.
        most: the maximum for all answers to one query together.
    """

    batch: float = 0.0
    check: float = 0.0
    answer: float = 0.0
    most: float = math.inf

    def queries(self, answered: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return the cost of each query (Q,) of a batch; `answered` (Q, answers) marks the given answers."""
        given = answered.sum(axis=1)
        return np.asarray(self.check + np.minimum(given * self.answer, self.most), dtype=np.float64)

    def rdp(self, answered: NDArray[np.bool_]) -> float:
        """Return the cost of a whole batch."""
        return self.batch * bool(len(answered)) + math.fsum(self.queries(answered).tolist())

    def amount(self, answered: NDArray[np.bool_]) -> int:
        """Return the cost of a whole batch in ledger amounts, with each query rounded up.

        Whole numbers guarantee that a charge never exceeds the reservation, which assumes that every answer
        is given.
        """
        given, often = np.unique(answered.sum(axis=1), return_counts=True)
        check = amount(self.check)
        total = amount(self.batch) * bool(len(given))
        for count, queries in zip(given.tolist(), often.tolist(), strict=True):
            total += queries * (check + self._answers(count))
        return total

    def reservation(self, queries: int, answers: int) -> int:
        """Return the amount of a batch of `queries` if all `answers` to each are given."""
        if not queries:
            return 0
        return amount(self.batch) + queries * (amount(self.check) + self._answers(answers))

    def _answers(self, count: int) -> int:
        """Return the amount of `count` answers to one query."""
        together = count * amount(self.answer)
        return together if math.isinf(self.most) else min(together, amount(self.most))


def gaussian_rdp(order: float, moved: float, sigma: float) -> float:
    """Return the cost of counts that are released with noise; `moved` is an L2 norm."""
    if order == GAUSSIAN:
        return noise_rho(moved, sigma)
    return order * (moved / sigma) ** 2 / 2


def check_rdp(order: float, sensitivity: float, sigma: float) -> float:
    """Return the cost of releasing whether a count with noise of `sigma` reaches a threshold."""
    if order == GAUSSIAN:
        return noise_rho(sensitivity, sigma)
    return two_outcomes_rdp(order, sensitivity / sigma, lattice=_lattice(sigma))


def label_bits(
    order: float, sensitivity: float, sigma: float, classes: int, radius: float
) -> tuple[float, float]:
    """Return the cost of one bit for each label, and of all bits, from ballots of L2 norm `radius`.

    Replacing a ballot moves the positives by at most sqrt(2) radius, and the negatives by as much.
    """
    moved, replaced = _moves_of(sensitivity, radius)
    one = check_rdp(order, math.sqrt(2) * moved, sigma)
    return one, _together(order, classes, math.sqrt(2) * moved, 2 * replaced, sigma)


def label_checks(order: float, sensitivity: float, sigma: float, classes: int, radius: float) -> float:
    """Return the cost of a check for each label, all together, from ballots of L2 norm `radius`."""
    return _together(order, classes, *_moves_of(sensitivity, radius), sigma)


def _moves_of(sensitivity: float, radius: float) -> tuple[float, float]:
    """Return how far a unit moves one label's positives, and the sum of squares over all labels."""
    return sensitivity * min(1.0, radius), 2 * (sensitivity * radius) ** 2


def _together(order: float, classes: int, moved: float, squares: float, sigma: float) -> float:
    """Return the cost of one bit for each label, which move by `moved` each and `squares` in total."""
    if order == GAUSSIAN:
        return noise_rho(math.sqrt(min(classes * moved**2, squares)), sigma)
    return clipped_labels_rdp(order, classes, moved / sigma, squares / sigma**2, lattice=_lattice(sigma))


def _lattice(sigma: float) -> float:
    """Return the step of the noise in deviations."""
    return math.ldexp(1 / sigma, -FRACTION_BITS)


def pure_rdp(epsilon_pure: float, order: float) -> float:
    """Return the rdp at `order` of an `epsilon_pure`-DP mechanism; randomised response attains it.

    log(cosh((a - 1/2) eps) / cosh(eps/2)) / (a - 1) (Mironov 2017, Proposition 5; Bun and Steinke 2016,
    Proposition 3.3). The identity cosh x - cosh y = 2 sinh((x + y)/2) sinh((x - y)/2) keeps the digits of
    small costs.
    """
    if order == GAUSSIAN:
        return pure_rho(epsilon_pure)
    if order * epsilon_pure > _LARGE:
        log_moment = _log_cosh((order - 0.5) * epsilon_pure) - _log_cosh(epsilon_pure / 2)
    else:
        rise = 2 * math.sinh(order * epsilon_pure / 2) * math.sinh((order - 1) * epsilon_pure / 2)
        log_moment = math.log1p(rise / math.cosh(epsilon_pure / 2))
    return log_moment / (order - 1)


def _log_cosh(x: float) -> float:
    return x + math.log1p(math.exp(-2 * x)) - math.log(2)


_LARGE_RISE = 30.0
"""Beyond it e^rise - 1 and e^rise agree to 13 digits; the logarithm of the sum cannot overflow."""
_NEAR = 1e-3
"""Below it the first omitted term of the series, x^4/360 of the whole, is less than rounding."""
_ROUNDING = 1e-12
"""More than the rounding error: at `_NEAR`, where most digits cancel, e^x - 1 - x is off by 2e-13 of it."""


def laplace_rdp(order: float, shift: float, step: float) -> float:
    """Return the cost of a count that is released with Laplace noise on a lattice.

    With q = e^-step, shift a multiple of step and a the order, summing q^(a |k| + (1 - a) |k - shift/step|)
    over k gives ((1 - q^(2a)) e^((a-1) shift) + (q - q^(2a-1)) e^(-a shift)) / ((1 + q) (1 - q^(2a-1))): the
    lattice's form of Mironov 2017, Proposition 6 (own derivation, docs/accounting-mechanisms.md).

    Args:
        order: Renyi order, above 1.
        shift: how far a unit moves the count, in scales of the noise.
        step: step of the lattice, in scales of the noise; 0 for continuous noise.
    """
    if order == GAUSSIAN:
        return pure_rho(shift)
    up, down = _weights(order, step)
    rise = (order - 1) * shift
    if rise > _LARGE_RISE:
        log_moment = math.log(up) + rise + math.log1p(down / up * math.exp(-rise - order * shift))
    else:
        drift = shift * (up * (order - 1) - down * order)
        log_moment = math.log1p(up * _beyond_line(rise) + down * _beyond_line(-order * shift) + drift)
    return log_moment / (order - 1) * (1 + _ROUNDING) + _ROUNDING * shift


def _weights(order: float, step: float) -> tuple[float, float]:
    """Return the weights of the exponentials that grow and that fall with the shift; their sum is 1."""
    if step == 0:
        return order / (2 * order - 1), (order - 1) / (2 * order - 1)
    whole = (1 + math.exp(-step)) * -math.expm1(-(2 * order - 1) * step)
    up = -math.expm1(-2 * order * step) / whole
    return up, -math.exp(-step) * math.expm1(-2 * (order - 1) * step) / whole


def _beyond_line(x: float) -> float:
    """Return e^x - 1 - x, without loss of digits for small x."""
    if abs(x) < _NEAR:
        return x * x / 2 * (1 + x / 3 * (1 + x / 4 * (1 + x / 5)))
    return math.expm1(x) - x


def randomized_rdp(epsilon: float, classes: int, order: float) -> float:
    """Return the exact rdp at `order` of one label that was randomised by Equation 6 of Tang et al. 2022.

    log(p^a q^(1-a) + q^a p^(1-a) + (k-2) q) / (a-1), where p is the probability of the true one of k classes
    and q that of each other class. With r = e^epsilon = p/q the sum is 1 + 4 sinh(a epsilon/2) sinh((a-1)
    epsilon/2) / (sqrt(r) + (k-1)/sqrt(r)), which keeps the digits of small costs (own derivation,
    docs/label-dp.md).
    """
    if order == GAUSSIAN:
        return pure_rho(epsilon)
    half = epsilon / 2
    rise = math.log(4) + _log_sinh(order * half) + _log_sinh((order - 1) * half)
    rise -= half + math.log1p((classes - 1) * math.exp(-epsilon))
    log_moment = rise + math.log1p(math.exp(-rise)) if rise > 0 else math.log1p(math.exp(rise))
    return log_moment / (order - 1)


def _log_sinh(x: float) -> float:
    return x + math.log(-math.expm1(-2 * x)) - math.log(2)
