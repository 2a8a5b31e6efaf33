"""The cost of Powerset: argmax over label sets of count + N(0, sigma^2), where most sets have no vote."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_ndtr

from ostraka.common.privacy import ONE_VOTE, Influence, InputError
from ostraka.guardian.accounting.bounds.confident_rdp import reservation, threshold_rdp
from ostraka.guardian.accounting.bounds.gnmax_rdp import with_lattice
from ostraka.guardian.accounting.bounds.theorem6 import theorem6
from ostraka.guardian.accounting.exact.powerset_divergence import powerset_and_check_exact, powerset_exact
from ostraka.guardian.accounting.numerics.arguments import (
    Bound,
    Floats,
    check_answered,
    check_bound,
    check_lattice,
    check_matrix,
    check_orders,
    check_scalar,
    check_whole,
)


def powerset_rdp(
    counts: ArrayLike,
    k: int,
    sigma: float,
    orders: ArrayLike,
    *,
    bound: Bound = "exact",
    max_positives: int | None = None,
    influence: Influence = ONE_VOTE,
    lattice: float = 0.0,
) -> Floats:
    """Return the rdp (Q, R) of releasing the label set with the most noisy votes, of all 2^k.

    `counts` (Q, seen) are the votes of the label sets that received any; entries of 0 are ignored. If ballots
    have a limit, a set contains at most `max_positives` of the `k` labels (Dziedzic et al. 2023, appendix
    I.2). `bound` is as for `gnmax_rdp`: "theorem6" is Proposition B.1 there, and "exact" is an own derivation
    (docs/accounting-mechanisms.md), which falls back to the worst case for more than 2^256 sets and more than
    128 different kinds of counts. Other arguments and errors are the same as in `gnmax_rdp`.
    """
    votes = check_matrix("counts", counts)
    at = check_orders(orders)
    sets = check_sets(votes, k, max_positives)
    scale = check_scalar("sigma", sigma) / influence.sensitivity
    worst = np.broadcast_to(at / scale**2, (len(votes), len(at)))
    match check_bound(bound), check_lattice(lattice):
        case "worst_case", _:
            return worst.copy()
        case "theorem6", step:
            return theorem6(log_q_sets(votes, sets, sigma, step), scale, at)
        case _, step:
            return np.minimum(worst, powerset_exact(votes, sets, sigma, at, influence, step))


def powerset_and_check_rdp(
    counts: ArrayLike,
    k: int,
    threshold: float,
    sigma1: float,
    sigma2: float,
    orders: ArrayLike,
    answered: ArrayLike,
    *,
    bound: Bound = "exact",
    max_positives: int | None = None,
    influence: Influence = ONE_VOTE,
    lattice: float = 0.0,
) -> Floats:
    """Return the rdp (Q, R) of a check on the largest count, and of Powerset where `answered` (Q,).

    Arguments and errors are the same as in `threshold_rdp` (sigma1) and `powerset_rdp` (sigma2). Under
    "exact" a row is the charge for its check's outcome and at most `reservation`, as in `confident_rdp`.
    """
    votes = check_matrix("counts", counts)
    at = check_orders(orders)
    sets = check_sets(votes, k, max_positives)
    mask = check_answered(answered, len(votes))
    check_scalar("threshold", threshold, positive=False)
    sigmas = check_scalar("sigma1", sigma1), check_scalar("sigma2", sigma2)
    if check_bound(bound) == "exact":
        most = reservation(len(votes), sets, sigmas, at, influence.sensitivity, check_lattice(lattice))
        charges = powerset_and_check_exact(votes, sets, threshold, sigmas, at, influence, lattice, most)
        return np.where(mask[:, None], charges.passed, charges.failed)
    with_others = np.column_stack([votes, np.zeros(len(votes))])
    check = threshold_rdp(
        with_others, threshold, sigma1, at, bound=bound, influence=influence, lattice=lattice
    )
    argmax = powerset_rdp(
        votes, k, sigma2, at, bound=bound, max_positives=max_positives, influence=influence, lattice=lattice
    )
    return check + np.where(mask[:, None], argmax, 0.0)


def check_sets(counts: Floats, k: int, max_positives: int | None) -> int:
    """Return the number of label sets; raise if more sets than that have votes."""
    labels = check_whole("k", k, least=1)
    if max_positives is None:
        sets = 1 << labels
    else:
        most = check_whole("max_positives", max_positives, least=1)
        sets = sum(math.comb(labels, size) for size in range(min(most, labels) + 1))
    crowded = np.flatnonzero(_sets_with_votes(counts) > sets)
    if crowded.size:
        raise InputError("counts", f"has votes for more than {sets} label sets", (int(crowded[0]),))
    return sets


def log_q_sets(counts: Floats, sets: int, sigma: float, lattice: float) -> Floats:
    """Bound (Q,) the log probability that a set other than the plurality is released, by the union bound.

    All sets without a vote have the same distance to the plurality; the lattice is treated as in
    `log_q_argmax`.
    """
    queries = np.arange(len(counts))
    top = counts.max(axis=1)
    scale = math.sqrt(2) * sigma
    tails = np.where(counts > 0, log_ndtr((lattice - (top[:, None] - counts)) / scale), -np.inf)
    tails[queries, counts.argmax(axis=1)] = -np.inf
    unseen = [sets - max(seen, 1) for seen in _sets_with_votes(counts).tolist()]
    log_unseen = np.array([math.log(others) if others else -np.inf for others in unseen])
    tails = np.column_stack([tails, log_unseen + log_ndtr((lattice - top) / scale)])
    with np.errstate(divide="ignore"):
        union = np.logaddexp.reduce(tails, axis=1)
    log_q = np.minimum(union, math.log1p(-1 / sets))
    return with_lattice(log_q, sigma, lattice, draws=sets)


def _sets_with_votes(counts: Floats) -> NDArray[np.int64]:
    return np.asarray((counts > 0).sum(axis=1), dtype=np.int64)
