"""The cost of Interactive GNMax: a check against what a student believes, and the argmax where it passed."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_ndtr

from common.privacy import InputError
from guardian.accounting.by_outcome import Charges
from guardian.accounting.checks import (
    Bound,
    Floats,
    check_answered,
    check_bound,
    check_lattice,
    check_matrix,
    check_orders,
    check_scalar,
    check_votes,
)
from guardian.accounting.exact import MOST_CLASSES, blocks
from guardian.accounting.gnmax import gnmax_rdp, with_lattice
from guardian.accounting.joint import joint_charges
from guardian.accounting.parts import argmax_part, check_part
from guardian.accounting.reserved import reserved
from guardian.accounting.theorem6 import theorem6


def interactive_rdp(
    votes: ArrayLike,
    scores: ArrayLike,
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
    """Return the rdp (Q, R) of a check on max_j (n_j - n p_j), and of GNMax where `answered` (Q,).

    n is the sum of a query's votes. One vote moves the check's largest difference by at most one, so it costs
    as much as Confident's at worst: orders * (sensitivity/sigma1)^2 / 2 for every query, and GNMax's when
    answered (002, Algorithm 2; docs/accounting-mechanisms.md). Under "exact" a row is the charge for its
    check's outcome and at most what `reserved` says, as in `confident_rdp`.

    Args:
        votes: counts (Q, k), not negative.
        scores: the student's probabilities p (Q, k), in [0, 1], which do not depend on the private records.
        threshold: what the noisy difference must reach, in votes.
        sigma1: noise of the check, in votes.
        sigma2: noise of each count, in votes.
        orders: Renyi orders (R,), above 1.
        answered: which queries passed, bool (Q,).
        bound: as for `gnmax_rdp`.
        sensitivity: what one unit can change in one query, in votes.
        lattice: step of the noise in votes, 0 for continuous noise. Votes are then whole, and scores are
            multiples of the step, so that differences lie on it.

    Raises:
        InputError: where an argument is malformed.
    """
    counts, at = check_votes(votes), check_orders(orders)
    mask = check_answered(answered, len(counts))
    differences = _differences(counts, scores, check_lattice(lattice))
    check_scalar("threshold", threshold, positive=False)
    unit = check_scalar("sensitivity", sensitivity)
    sigmas = check_scalar("sigma1", sigma1), check_scalar("sigma2", sigma2)
    if check_bound(bound) == "exact":
        charges = _exact(counts, differences, threshold, sigmas, at, unit, lattice)
        return np.where(mask[:, None], charges.passed, charges.failed)
    scale = math.sqrt(2) * sigma1 / unit
    check = np.broadcast_to(at / scale**2, (len(counts), len(at)))
    if bound == "theorem6":
        check = theorem6(_log_q(differences, threshold, sigma1, lattice), scale, at)
    argmax = gnmax_rdp(counts, sigma2, at, bound=bound, sensitivity=unit, lattice=lattice)
    return check + np.where(mask[:, None], argmax, 0.0)


def _exact(
    votes: Floats,
    differences: Floats,
    threshold: float,
    sigmas: tuple[float, float],
    orders: Floats,
    moved: float,
    lattice: float,
) -> Charges:
    """Return what queries cost by their check's outcome: one neighbour moves in check and argmax alike."""
    charges = reserved(len(votes), sigmas, orders, moved, lattice)
    if moved > 1 or votes.shape[1] > MOST_CLASSES:
        return charges
    for rows in blocks(votes, sigmas[1], moved):
        check = check_part(differences[rows], threshold, sigmas[0], moved, lattice)
        argmax = argmax_part(votes[rows], sigmas[1], moved, lattice)
        most = Charges(charges.failed[rows], charges.passed[rows])
        found = joint_charges(check, argmax, _moves(votes[rows]), orders, most)
        charges.failed[rows], charges.passed[rows] = found.failed, found.passed
    return charges


def _differences(votes: Floats, scores: ArrayLike, lattice: float) -> Floats:
    """Return n_j - n p_j (Q, k)."""
    beliefs = check_matrix("scores", scores)
    if beliefs.shape != votes.shape:
        raise InputError("scores", f"must have shape {votes.shape}, has {beliefs.shape}")
    _refuse_first(beliefs > 1, "scores", "must be at most 1")
    if lattice > 0:
        steps = beliefs / lattice
        _refuse_first(steps != np.floor(steps), "scores", f"must be a multiple of {lattice}")
        _refuse_first(votes != np.floor(votes), "votes", "must be a whole number")
    return np.asarray(votes - votes.sum(axis=1, keepdims=True) * beliefs)


def _refuse_first(wrong: NDArray[np.bool_], argument: str, message: str) -> None:
    if wrong.any():
        raise InputError(argument, message, tuple(int(i) for i in np.argwhere(wrong)[0]))


def _log_q(differences: Floats, threshold: float, sigma: float, lattice: float) -> Floats:
    """Bound (Q,) the log probability of the check's less likely outcome, on a lattice one step closer."""
    distance = np.abs(differences.max(axis=1) - threshold)
    log_q = np.asarray(log_ndtr((lattice - distance) / sigma), dtype=np.float64)
    return with_lattice(log_q, sigma, lattice, draws=1)


def _moves(votes: Floats) -> NDArray[np.bool_]:
    """Return the moves (Q, a, b) of a vote: all, because scores tell classes with equal counts apart."""
    queries, classes = votes.shape
    return np.tile(~np.eye(classes, dtype=np.bool_), (queries, 1, 1))
