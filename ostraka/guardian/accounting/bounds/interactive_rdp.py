"""The cost of Interactive GNMax: a check against a student's prediction, and the argmax where it passed."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from ostraka.common.privacy import ONE_VOTE, Influence, InputError
from ostraka.guardian.accounting.bounds.confident_rdp import CheckThenArgmax, log_q_check
from ostraka.guardian.accounting.bounds.gnmax_rdp import gnmax_rdp
from ostraka.guardian.accounting.bounds.theorem6 import theorem6
from ostraka.guardian.accounting.exact.divergence import (
    argmax_and_check_exact,
    every_move,
)
from ostraka.guardian.accounting.exact.label_charges import LabelCharges
from ostraka.guardian.accounting.numerics.arguments import (
    Bound,
    Floats,
    check_answered,
    check_bound,
    check_lattice,
    check_matrix,
    check_released,
    check_votes,
    refuse,
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

    n is the sum of a query's votes. `scores` (Q, k) are the student's probabilities p in [0, 1], which do not
    depend on the private records. One vote moves the check's largest difference by at most one, so the worst
    case equals Confident's: orders * (u/sigma1)^2 / 2 for every query, plus GNMax's cost when answered
    (Papernot et al. 2018, Algorithm 2; docs/accounting-mechanisms.md). Under "exact" a row is the charge for
    its check's outcome, and at most `reservation`; with released `labels` it is the charge of
    `interactive_charges`. On a lattice votes and scores are multiples of its step, and n (1 - p_j) is rounded
    down to it, as in the release. Other arguments and errors are the same as in `confident_rdp`.
    """
    counts = check_votes(votes)
    mask = check_answered(answered, len(counts))
    differences = _differences(counts, scores, check_lattice(lattice))
    asked = CheckThenArgmax.of(counts, differences, threshold, sigma1, sigma2, orders, influence, lattice)
    at = asked.orders
    if check_bound(bound) == "exact" and labels is not None:
        return asked.charges_by_label().of(mask, check_released(labels, mask, counts.shape[1]))
    if bound == "exact":
        pair = argmax_and_check_exact(
            counts, asked.check, sigma2, at, influence, asked.reservation(), every_move
        )
        return np.where(mask[:, None], pair.passed, pair.failed)
    scale = math.sqrt(2) * sigma1 / influence.sensitivity
    cost = np.broadcast_to(at / scale**2, (len(counts), len(at)))
    if bound == "theorem6":
        cost = theorem6(log_q_check(differences, threshold, sigma1, lattice), scale, at)
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
    """Return the cost of each outcome of Interactive GNMax, as `confident_charges` does for its check.

    Arguments and errors are the same as in `interactive_rdp`.
    """
    counts = check_votes(votes)
    differences = _differences(counts, scores, check_lattice(lattice))
    asked = CheckThenArgmax.of(counts, differences, threshold, sigma1, sigma2, orders, influence, lattice)
    return asked.charges_by_label()


def _differences(votes: Floats, scores: ArrayLike, lattice: float) -> Floats:
    """Return n_j - n p_j (Q, k)."""
    beliefs = check_matrix("scores", scores)
    if beliefs.shape != votes.shape:
        raise InputError("scores", f"must have shape {votes.shape}, has {beliefs.shape}")
    refuse("scores", beliefs > 1, "must be at most 1")
    if lattice > 0:
        steps = beliefs / lattice
        refuse("scores", steps != np.floor(steps), f"must be a multiple of {lattice}")
    n = votes.sum(axis=1, keepdims=True)
    return np.asarray(votes - n + _shares(n, 1 - beliefs, lattice))


def _shares(n: Floats, parts: Floats, lattice: float) -> Floats:
    """Return n times parts (Q, k), rounded down to the lattice; for whole votes the result lies on it."""
    whole = np.floor(n)
    rest = (n - whole) * parts
    return whole * parts + (np.floor(rest / lattice) * lattice if lattice > 0 else rest)
