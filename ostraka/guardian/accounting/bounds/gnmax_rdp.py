"""The cost of GNMax: argmax_j n_j + N(0, sigma^2)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_ndtr

from ostraka.common.privacy import ONE_VOTE, Influence
from ostraka.common.privacy.argmax import argmax_bound
from ostraka.guardian.accounting.bounds.theorem6 import theorem6
from ostraka.guardian.accounting.exact.divergence import gnmax_labels_exact
from ostraka.guardian.accounting.exact.label_charges import LabelCharges
from ostraka.guardian.accounting.exact.powerset_divergence import argmax_exact
from ostraka.guardian.accounting.numerics.arguments import (
    Bound,
    Floats,
    check_bound,
    check_lattice,
    check_orders,
    check_released,
    check_scalar,
    check_votes,
)
from ostraka.guardian.accounting.numerics.intervals import Interval

MIN_STEPS = 4.0
"""The least width of the noise in lattice steps; narrower noise is charged the worst case. From here on sums
over the lattice equal integrals up to a factor of 1 + 1e-136 (docs/accounting.md, lattice of the ring)."""

_FAR = -11.75
"""The 12 deviations that `check_ring` leaves for a draw, minus the one step that a lattice may round: at most
1/4 of a deviation at `MIN_STEPS` (docs/accounting.md, lattice, step 5)."""
_LOG_FAR = float(log_ndtr(_FAR))


def gnmax_rdp(
    votes: ArrayLike,
    sigma: float,
    orders: ArrayLike,
    *,
    labels: ArrayLike | None = None,
    bound: Bound = "exact",
    influence: Influence = ONE_VOTE,
    lattice: float = 0.0,
) -> Floats:
    """Return the rdp (Q, R) of releasing the noisy argmax of each histogram.

    Args:
        votes: counts (Q, k), not negative.
        sigma: standard deviation of the noise on each count, in votes.
        orders: Renyi orders (R,), above 1.
        labels: the released labels (Q,); if they are given, "exact" charges as `gnmax_charges` does.
        bound: "worst_case", orders * (u/sigma)^2 for a sensitivity of u (Papernot et al. 2018, Lemma 8);
            "theorem6", which bounds D(M(D) || M(D')) only; or "exact", the divergence itself in both
            directions, and for several votes of one unit an upper bound of it. No bound exceeds the worst
            case.
        influence: what one unit can change in one query.
        lattice: step of the noise in votes; 0 for the papers' continuous noise.

    Raises:
        InputError: if an argument is malformed.
    """
    counts = check_votes(votes)
    at = check_orders(orders)
    scale = check_scalar("sigma", sigma) / influence.sensitivity
    worst = np.broadcast_to(at / scale**2, (len(counts), len(at)))
    match check_bound(bound), check_lattice(lattice):
        case "worst_case", _:
            return worst.copy()
        case "theorem6", step:
            return theorem6(log_q_argmax(counts, sigma, step), scale, at)
        case _, step if labels is None:
            return np.minimum(worst, argmax_exact(counts, sigma, at, influence, step))
        case _, step:
            every = np.ones(len(counts), dtype=np.bool_)
            charges = gnmax_charges(counts, sigma, at, influence=influence, lattice=step)
            return charges.of(every, check_released(labels, every, counts.shape[1]))


def gnmax_charges(
    votes: ArrayLike,
    sigma: float,
    orders: ArrayLike,
    *,
    influence: Influence = ONE_VOTE,
    lattice: float = 0.0,
) -> LabelCharges:
    """Return the cost of each label that GNMax may release; none exceeds the worst case of an argmax.

    Arguments and errors are the same as in `gnmax_rdp`. Together the charges of a query satisfy the condition
    of a filter, as in `confident_charges` (docs/accounting.md, own derivation).
    """
    counts = check_votes(votes)
    at = check_orders(orders)
    width = counts.shape[1]
    scale = check_scalar("sigma", sigma)
    step = check_lattice(lattice) / scale
    moved = influence.sensitivity / scale
    worst = [argmax_bound(order, moved, lattice=step, width=width) for order in at.tolist()]
    most = np.tile(worst, (len(counts), 1))
    return gnmax_labels_exact(counts, sigma, at, influence, lattice, most)


def log_q_argmax(votes: Floats, sigma: float, lattice: float) -> Floats:
    """Bound (Q,) the log probability that a class other than the plurality is released.

    This is the union bound of Papernot et al. 2018, Lemma 3, and at most 1 - 1/k because the plurality is the
    likeliest outcome. On a lattice every gap is taken one step smaller, which covers discreteness and ties,
    and the chance that a count wraps around the ring is added (docs/accounting.md).
    """
    gaps = votes.max(axis=1, keepdims=True) - votes
    tails = log_ndtr((lattice - gaps) / (math.sqrt(2) * sigma))
    tails[np.arange(len(votes)), votes.argmax(axis=1)] = -np.inf
    log_q = np.minimum(_log_sum(tails), math.log1p(-1 / votes.shape[1]))
    return with_lattice(log_q, sigma, lattice, draws=votes.shape[1])


def with_lattice(log_q: Floats, sigma: float, lattice: float, draws: int) -> Floats:
    """Add the chance that one of `draws` exceeds 12 sigma; return 0 (no bound) where sigma is too narrow."""
    if lattice == 0:
        return log_q
    if sigma < MIN_STEPS * lattice:
        return np.zeros_like(log_q)
    return np.minimum(np.logaddexp(log_q, math.log(2 * draws) + _LOG_FAR), 0.0)


def with_lattice_enclosed(log_q: Interval, sigma: float, lattice: float, draws: int) -> Interval:
    """Return an interval that contains `with_lattice` of every value in `log_q`."""
    if lattice == 0:
        return log_q
    if sigma < MIN_STEPS * lattice:
        return Interval.of(np.zeros_like(log_q.low))
    beyond = Interval.of(2.0 * draws).log() + Interval.of(_FAR).log_ndtr()
    return log_q.logaddexp(beyond).minimum(0.0)


def _log_sum(logs: Floats) -> Floats:
    largest = logs.max(axis=1)
    return np.asarray(largest + np.log(np.exp(logs - largest[:, None]).sum(axis=1)), dtype=np.float64)
