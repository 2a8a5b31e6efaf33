"""The cost of Confident GNMax: the check for every query asked, the argmax for each one answered."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_ndtr

from guardian.accounting.checks import (
    Bound,
    Floats,
    check_answered,
    check_bound,
    check_lattice,
    check_orders,
    check_scalar,
    check_votes,
)
from guardian.accounting.exact import confident_exact, threshold_exact
from guardian.accounting.gnmax import gnmax_rdp, with_lattice
from guardian.accounting.reserved import reserved
from guardian.accounting.theorem6 import theorem6


def threshold_rdp(
    votes: ArrayLike,
    threshold: float,
    sigma: float,
    orders: ArrayLike,
    *,
    bound: Bound = "exact",
    sensitivity: float = 1.0,
    lattice: float = 0.0,
) -> Floats:
    """Return the rdp (Q, R) of saying whether max_j n_j + N(0, sigma^2) >= threshold.

    One vote moves the largest count by at most one, half of what it moves between two classes, so the
    worst case is orders * (sensitivity/sigma)^2 / 2. Arguments and errors are those of `gnmax_rdp`.
    """
    counts, at = check_votes(votes), check_orders(orders)
    check_scalar("threshold", threshold, positive=False)
    scale = math.sqrt(2) * check_scalar("sigma", sigma) / check_scalar("sensitivity", sensitivity)
    worst = np.broadcast_to(at / scale**2, (len(counts), len(at)))
    match check_bound(bound), check_lattice(lattice):
        case "worst_case", _:
            return worst.copy()
        case "theorem6", step:
            return theorem6(log_q_check(counts, threshold, sigma, step), scale, at)
        case _, step:
            return np.minimum(worst, threshold_exact(counts, threshold, sigma, at, sensitivity, step))


def log_q_check(votes: Floats, threshold: float, sigma: float, lattice: float) -> Floats:
    """Bound (Q,) the log probability of the check's less likely outcome.

    On a lattice the threshold lies one step closer on either side (docs/accounting.md).
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
    bound: Bound = "exact",
    sensitivity: float = 1.0,
    lattice: float = 0.0,
) -> Floats:
    """Return the rdp (Q, R) of Confident GNMax: the check's, plus GNMax's where `answered` (Q,).

    Arguments and errors are those of `threshold_rdp` (sigma1) and `gnmax_rdp` (sigma2). Under "exact" a row
    is the charge for its check's outcome, of a pair fixed by the votes and the order alone; the pairs, one
    for every query, keep a filter's promise (docs/accounting.md, own derivation): their sum may be taken, the
    minimum with another bound may not. No charge exceeds what `reserved` says for its outcome.
    """
    counts, at = check_votes(votes), check_orders(orders)
    mask = check_answered(answered, len(counts))
    check_scalar("threshold", threshold, positive=False)
    check_scalar("sensitivity", sensitivity)
    sigmas = check_scalar("sigma1", sigma1), check_scalar("sigma2", sigma2)
    if check_bound(bound) == "exact":
        most = reserved(len(counts), sigmas, at, sensitivity, check_lattice(lattice))
        charges = confident_exact(counts, threshold, sigmas, at, sensitivity, lattice, most)
        return np.where(mask[:, None], charges.passed, charges.failed)
    check = threshold_rdp(
        counts, threshold, sigma1, at, bound=bound, sensitivity=sensitivity, lattice=lattice
    )
    argmax = gnmax_rdp(counts, sigma2, at, bound=bound, sensitivity=sensitivity, lattice=lattice)
    return check + np.where(mask[:, None], argmax, 0.0)
