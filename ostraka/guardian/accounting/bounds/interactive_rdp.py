"""The cost of Interactive GNMax: a check against what a student believes, and the argmax where it passed."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_ndtr

from ostraka.common.privacy import ONE_VOTE, Influence, InputError
from ostraka.guardian.accounting.bounds.confident_rdp import reservation
from ostraka.guardian.accounting.bounds.gnmax_rdp import gnmax_rdp, with_lattice
from ostraka.guardian.accounting.bounds.theorem6 import theorem6
from ostraka.guardian.accounting.exact.divergence import (
    argmax_and_check_exact,
    every_move,
    labels_and_check_exact,
)
from ostraka.guardian.accounting.exact.label_charges import LabelCharges
from ostraka.guardian.accounting.exact.noisy_outcomes import NoisyCheck
from ostraka.guardian.accounting.numerics.arguments import (
    Bound,
    Floats,
    check_answered,
    check_bound,
    check_lattice,
    check_matrix,
    check_orders,
    check_released,
    check_scalar,
    check_votes,
)


def interactive_rdp(
    votes: ArrayLike,
    scores: ArrayLike,
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
    """Return the rdp (Q, R) of a check on max_j (n_j - n p_j), and of GNMax where `answered` (Q,).

    n is the sum of a query's votes. One vote moves the check's largest difference by at most one, so it costs
    as much as Confident's at worst: orders * (u/sigma1)^2 / 2 for every query, and GNMax's when
    answered (Papernot et al. 2018, Algorithm 2; docs/accounting-mechanisms.md). Under "exact" a row is the
    charge for its check's outcome and at most what `reservation` says, as in `confident_rdp`.

    Args:
        votes: counts (Q, k), not negative.
        scores: the student's probabilities p (Q, k), in [0, 1], which do not depend on the private records.
        threshold: what the noisy difference must reach, in votes.
        sigma1: noise of the check, in votes.
        sigma2: noise of each count, in votes.
        orders: Renyi orders (R,), above 1.
        answered: which queries passed, bool (Q,).
        labels: the released ones (Q,); where they are given, "exact" charges as `interactive_charges` does.
        bound: as for `gnmax_rdp`.
        influence: what one unit can change in one query.
        lattice: step of the noise in votes, 0 for continuous noise. Votes and scores are multiples of it, and
            n (1 - p_j) is rounded down to it, as it is released.

    Raises:
        InputError: where an argument is malformed.
    """
    counts = check_votes(votes)
    at = check_orders(orders)
    mask = check_answered(answered, len(counts))
    differences = _differences(counts, scores, check_lattice(lattice))
    check_scalar("threshold", threshold, positive=False)
    sigmas = check_scalar("sigma1", sigma1), check_scalar("sigma2", sigma2)
    if check_bound(bound) == "exact" and labels is not None:
        asked = (counts, scores, threshold, *sigmas, at)
        charges = interactive_charges(*asked, influence=influence, lattice=lattice)
        return charges.of(mask, check_released(labels, mask, counts.shape[1]))
    if bound == "exact":
        most = reservation(len(counts), counts.shape[1], sigmas, at, influence.sensitivity, lattice)
        check = NoisyCheck(differences, threshold, sigma1, lattice)
        pair = argmax_and_check_exact(counts, check, sigma2, at, influence, most, every_move)
        return np.where(mask[:, None], pair.passed, pair.failed)
    scale = math.sqrt(2) * sigma1 / influence.sensitivity
    cost = np.broadcast_to(at / scale**2, (len(counts), len(at)))
    if bound == "theorem6":
        cost = theorem6(_log_q(differences, threshold, sigma1, lattice), scale, at)
    argmax = gnmax_rdp(counts, sigma2, at, bound=bound, influence=influence, lattice=lattice)
    return cost + np.where(mask[:, None], argmax, 0.0)


def interactive_charges(
    votes: ArrayLike,
    scores: ArrayLike,
    threshold: float,
    sigma1: float,
    sigma2: float,
    orders: ArrayLike,
    *,
    influence: Influence = ONE_VOTE,
    lattice: float = 0.0,
) -> LabelCharges:
    """Return what each outcome of Interactive GNMax costs, as `confident_charges` does for its check.

    Arguments and errors are those of `interactive_rdp`.
    """
    counts = check_votes(votes)
    at = check_orders(orders)
    differences = _differences(counts, scores, check_lattice(lattice))
    check_scalar("threshold", threshold, positive=False)
    sigmas = check_scalar("sigma1", sigma1), check_scalar("sigma2", sigma2)
    most = reservation(len(counts), counts.shape[1], sigmas, at, influence.sensitivity, lattice)
    check = NoisyCheck(differences, threshold, sigma1, lattice)
    return labels_and_check_exact(counts, check, sigma2, at, influence, most)


def _differences(votes: Floats, scores: ArrayLike, lattice: float) -> Floats:
    """Return n_j - n p_j (Q, k)."""
    beliefs = check_matrix("scores", scores)
    if beliefs.shape != votes.shape:
        raise InputError("scores", f"must have shape {votes.shape}, has {beliefs.shape}")
    _refuse_first(beliefs > 1, "scores", "must be at most 1")
    if lattice > 0:
        steps = beliefs / lattice
        _refuse_first(steps != np.floor(steps), "scores", f"must be a multiple of {lattice}")
    n = votes.sum(axis=1, keepdims=True)
    return np.asarray(votes - n + _shares(n, 1 - beliefs, lattice))


def _shares(n: Floats, parts: Floats, lattice: float) -> Floats:
    """Return n times parts (Q, k), rounded down to the lattice; that of whole votes lies on it."""
    whole = np.floor(n)
    rest = (n - whole) * parts
    return whole * parts + (np.floor(rest / lattice) * lattice if lattice > 0 else rest)


def _refuse_first(wrong: NDArray[np.bool_], argument: str, message: str) -> None:
    if wrong.any():
        raise InputError(argument, message, tuple(int(i) for i in np.argwhere(wrong)[0]))


def _log_q(differences: Floats, threshold: float, sigma: float, lattice: float) -> Floats:
    """Bound (Q,) the log probability of the check's less likely outcome, on a lattice one step closer."""
    distance = np.abs(differences.max(axis=1) - threshold)
    log_q = np.asarray(log_ndtr((lattice - distance) / sigma), dtype=np.float64)
    return with_lattice(log_q, sigma, lattice, draws=1)
