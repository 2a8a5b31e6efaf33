"""The cost of Confident GNMax: the check for every query, and the argmax for each answered query."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_ndtr

from ostraka.common.privacy import ONE_VOTE, Influence
from ostraka.common.privacy.argmax import argmax_bound
from ostraka.common.privacy.two_outcomes import two_outcomes_rdp
from ostraka.guardian.accounting.bounds.gnmax_rdp import gnmax_rdp, with_lattice
from ostraka.guardian.accounting.bounds.theorem6 import theorem6
from ostraka.guardian.accounting.exact.divergence import (
    labels_and_check_exact,
    threshold_exact,
)
from ostraka.guardian.accounting.exact.label_charges import LabelCharges
from ostraka.guardian.accounting.exact.noisy_outcomes import NoisyCheck
from ostraka.guardian.accounting.exact.outcome_charges import Charges
from ostraka.guardian.accounting.exact.powerset_divergence import confident_exact
from ostraka.guardian.accounting.numerics.arguments import (
    Bound,
    Floats,
    check_answered,
    check_bound,
    check_lattice,
    check_orders,
    check_released,
    check_scalar,
    check_votes,
)


def threshold_rdp(
    votes: ArrayLike,
    threshold: float,
    sigma: float,
    orders: ArrayLike,
    *,
    bound: Bound = "exact",
    influence: Influence = ONE_VOTE,
    lattice: float = 0.0,
) -> Floats:
    """Return the rdp (Q, R) of publishing whether max_j n_j + N(0, sigma^2) >= threshold.

    One vote moves the largest count by at most one, half of its effect on two classes. The worst case is
    therefore orders * (u/sigma)^2 / 2 for a sensitivity of u. Arguments and errors are the same as in
    `gnmax_rdp`.
    """
    counts = check_votes(votes)
    at = check_orders(orders)
    check_scalar("threshold", threshold, positive=False)
    scale = math.sqrt(2) * check_scalar("sigma", sigma) / influence.sensitivity
    worst = np.broadcast_to(at / scale**2, (len(counts), len(at)))
    match check_bound(bound), check_lattice(lattice):
        case "worst_case", _:
            return worst.copy()
        case "theorem6", step:
            return theorem6(log_q_check(counts, threshold, sigma, step), scale, at)
        case _, step:
            return np.minimum(worst, threshold_exact(counts, threshold, sigma, at, influence, step))


def log_q_check(votes: Floats, threshold: float, sigma: float, lattice: float) -> Floats:
    """Bound (Q,) the log probability of the check's less likely outcome.

    On a lattice the threshold is one step closer on either side (docs/accounting.md).
    """
    distance = np.abs(votes.max(axis=1) - threshold)
    log_q = np.asarray(log_ndtr((lattice - distance) / sigma), dtype=np.float64)
    return with_lattice(log_q, sigma, lattice, draws=1)


def confident_rdp(
    votes: ArrayLike,
    threshold: float,
    sigma1: float,
    sigma2: float,
    orders: ArrayLike,
    answered: ArrayLike,
    *,
    labels: ArrayLike | None = None,
    bound: Bound = "exact",
    influence: Influence = ONE_VOTE,
    lattice: float = 0.0,
) -> Floats:
    """Return the rdp (Q, R) of Confident GNMax: the check's cost, plus GNMax's cost where `answered` (Q,).

    Arguments and errors are the same as in `threshold_rdp` (sigma1) and `gnmax_rdp` (sigma2). Under "exact" a
    row is the charge for its check's outcome, one of a pair of charges that only the votes and the order fix.
    The pairs, one per query, satisfy the condition of a filter (docs/accounting.md, own derivation): you may
    add them up, but you may not take the minimum with another bound. No charge exceeds `reservation` for its
    outcome. If the released `labels` (Q,) are given, a row is the charge of its label, as in
    `confident_charges`.
    """
    counts = check_votes(votes)
    mask = check_answered(answered, len(counts))
    asked = CheckThenArgmax.of(counts, counts, threshold, sigma1, sigma2, orders, influence, lattice)
    if check_bound(bound) == "exact" and labels is not None:
        return asked.charges_by_label().of(mask, check_released(labels, mask, counts.shape[1]))
    if bound == "exact":
        pair = confident_exact(asked.check, sigma2, asked.orders, influence, asked.reservation())
        return np.where(mask[:, None], pair.passed, pair.failed)
    at = asked.orders
    cost = threshold_rdp(counts, threshold, sigma1, at, bound=bound, influence=influence, lattice=lattice)
    argmax = gnmax_rdp(counts, sigma2, at, bound=bound, influence=influence, lattice=lattice)
    return cost + np.where(mask[:, None], argmax, 0.0)


def confident_charges(
    votes: ArrayLike,
    threshold: float,
    sigma1: float,
    sigma2: float,
    orders: ArrayLike,
    *,
    influence: Influence = ONE_VOTE,
    lattice: float = 0.0,
) -> LabelCharges:
    """Return the cost of each outcome of Confident GNMax: the failed check, and every label.

    Arguments and errors are the same as in `confident_rdp`. The charges of a query are fixed by its votes and
    the order alone. Together they satisfy the condition of a filter, and the expected charge is the smallest
    possible one, to a relative error of about 1e-3 (docs/accounting.md, own derivation). No charge exceeds
    the reservation for an answered query.
    """
    counts = check_votes(votes)
    asked = CheckThenArgmax.of(counts, counts, threshold, sigma1, sigma2, orders, influence, lattice)
    return asked.charges_by_label()


@dataclass(frozen=True)
class CheckThenArgmax:
    """Validated arguments of a noisy check followed by GNMax on the same votes where the check passes.

    Attributes:
        votes: counts (Q, k).
        check: the check of the largest vote count, or of values that a mechanism derives from the votes.
        sigma: deviation of the noise on each count of the argmax, in votes.
        orders: Renyi orders (R,).
        influence: what one unit can change in one query.
    """

    votes: Floats
    check: NoisyCheck
    sigma: float
    orders: Floats
    influence: Influence

    @classmethod
    def of(
        cls,
        votes: Floats,
        values: Floats,
        threshold: float,
        sigma1: float,
        sigma2: float,
        orders: ArrayLike,
        influence: Influence,
        lattice: float,
    ) -> Self:
        """Return the validated arguments; the check looks at `values` (Q, k). Raises `InputError`."""
        check = NoisyCheck(
            values,
            check_scalar("threshold", threshold, positive=False),
            check_scalar("sigma1", sigma1),
            check_lattice(lattice),
        )
        return cls(votes, check, check_scalar("sigma2", sigma2), check_orders(orders), influence)

    def reservation(self) -> Charges:
        """Return charges that are valid for every histogram."""
        return reservation(
            len(self.votes),
            self.votes.shape[1],
            (self.check.sigma, self.sigma),
            self.orders,
            self.influence.sensitivity,
            self.check.lattice,
        )

    def charges_by_label(self) -> LabelCharges:
        """Return the cost of each outcome: the failed check, and every label."""
        return labels_and_check_exact(
            self.votes, self.check, self.sigma, self.orders, self.influence, self.reservation()
        )


def reservation(
    queries: int,
    width: int,
    sigmas: tuple[float, float],
    orders: Floats,
    sensitivity: float,
    lattice: float,
) -> Charges:
    """Return charges (Q, R) for a failed and a passed check that are valid for every histogram.

    Args:
        queries: rows Q.
        width: number of counts in the argmax.
        sigmas: deviations in votes of the noise of the check and of each count of the argmax.
        orders: Renyi orders (R,).
        sensitivity: what one unit can change in one query, in votes.
        lattice: step of the noise in votes; 0 for continuous noise.

    A passed check costs the reservation of a query: the costliest answer with two outcomes
    (`two_outcomes_rdp`) plus the costliest argmax (`argmax_bound`). A failed check costs no more than that,
    and no more than orders * (sensitivity/sigma)^2 / 2, so passed checks can cost less.
    """
    shift = sensitivity / sigmas[0]
    moved = sensitivity / sigmas[1]
    step = lattice / sigmas[0]
    fine = lattice / sigmas[1]
    check = [two_outcomes_rdp(order, shift, lattice=step) for order in orders.tolist()]
    argmax = [argmax_bound(order, moved, lattice=fine, width=width) for order in orders.tolist()]
    passed = np.add(check, argmax)
    failed = np.minimum(orders * shift**2 / 2, passed)
    return Charges(np.tile(failed, (queries, 1)), np.tile(passed, (queries, 1)))
