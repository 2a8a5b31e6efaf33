"""The cost of LNMax, the baseline: argmax_j n_j + Lap(1/gamma)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ostraka.common.privacy import ONE_VOTE, Influence
from ostraka.common.privacy.worst_case import laplace_rdp
from ostraka.guardian.accounting.numerics.arguments import (
    Bound,
    Floats,
    check_bound,
    check_lattice,
    check_orders,
    check_scalar,
    check_votes,
)
from ostraka.guardian.accounting.numerics.intervals import Interval
from ostraka.guardian.accounting.numerics.moments import log_moments

_LARGE = 30.0
"""Logarithms above this value are summed as logarithms. A sum that exceeds 1 by little keeps its digits in
the direct form. At e^30 both ways are exact, and exponentials overflow only at e^709."""


def lnmax_rdp(
    votes: ArrayLike,
    gamma: float,
    orders: ArrayLike,
    *,
    bound: Bound = "exact",
    influence: Influence = ONE_VOTE,
    lattice: float = 0.0,
) -> Floats:
    """Return the rdp (Q, R) of releasing the argmax of counts with Laplace noise of scale 1/`gamma` votes.

    One vote moves two counts by one: the release is e-close with e = 2 gamma for each. `bound` is
    "worst_case", the bound of two counts with Laplace noise (Mironov 2017, Proposition 6); "theorem6", the
    first PATE paper's data-dependent bound (Papernot et al. 2017, Theorem 3), which bounds D(M(D) || M(D'))
    only; or "exact", the largest divergence in both directions of all e-close pairs that release a class
    other than the plurality with at most the probability on these votes (own derivation,
    docs/accounting-mechanisms.md). No bound exceeds the worst case. Other arguments and errors are the same
    as in `gnmax_rdp`.
    """
    counts = check_votes(votes)
    at = check_orders(orders)
    close = 2 * check_scalar("gamma", gamma) * influence.sensitivity
    step = gamma * check_lattice(lattice)
    two = [2 * laplace_rdp(order, close / 2, step) for order in at.tolist()]
    worst: Floats = np.tile(np.array(two), (len(counts), 1))
    match check_bound(bound), lattice:
        case "worst_case", _:
            return worst
        case "theorem6", step:
            return np.minimum(worst, _theorem3(log_q_laplace(counts, gamma, step), close, at))
        case _, step:
            return np.minimum(worst, _two_sided(log_q_laplace(counts, gamma, step), close, at))


def log_q_laplace(votes: Floats, gamma: float, lattice: float) -> Floats:
    """Bound (Q,) the log probability that a class other than the plurality is released.

    This is the union over the other classes of P(X - Y >= gap), with ties counted in full (Papernot et al.
    2017, Lemma 4, for continuous noise; own derivation for the lattice), and at most 1 - 1/k because the
    plurality is the likeliest outcome.
    """
    gaps = votes.max(axis=1, keepdims=True) - votes
    kept = np.exp(-gamma * lattice)
    wide = -np.expm1(-gamma * lattice) / lattice if lattice > 0 else gamma
    head = gaps * wide + (1 + kept**2) / (1 + kept) + kept
    tails = -gamma * gaps + np.log(head) - 2 * np.log1p(kept)
    tails[np.arange(len(votes)), votes.argmax(axis=1)] = -np.inf
    union = np.logaddexp.reduce(tails, axis=1)
    return np.asarray(np.minimum(union, np.log1p(-1 / votes.shape[1])))


def _theorem3(log_q: Floats, close: float, orders: Floats) -> Floats:
    """Return log((1-q) ((1-q)/(1 - e^e q))^(a-1) + q e^(e(a-1))) / (a-1), infinite where it is not proved."""
    fits = log_q < -np.logaddexp(0.0, close)
    log_q = np.where(fits, log_q, -2 * close - 1)[:, None]
    q = np.exp(log_q)
    rate = orders - 1
    log_rest = np.log1p(-q)
    log_ratio = np.log1p(-q) - np.log1p(-np.exp(log_q + close))
    with np.errstate(over="ignore"):
        excess = np.expm1(log_rest + rate * log_ratio) + np.exp(np.minimum(log_q + rate * close, _LARGE))
    large = np.logaddexp(log_rest + rate * log_ratio, log_q + rate * close)
    moment = np.where(log_q + rate * close > _LARGE - 1, large, np.log1p(excess))
    return np.where(fits[:, None], moment / rate, np.inf)


def theorem3_enclosed(log_q: Interval, close: Interval, order: float) -> Interval:
    """Return an interval that contains the first PATE paper's bound at one order, infinite if not proved.

    `log_q` (Q,) and `close` are intervals. Where rounding leaves open whether the bound is proved, the
    interval extends to infinity.
    """
    with np.errstate(all="ignore"):
        limit = -close.logaddexp(Interval.of(0.0))
        above = Interval.of(order) - 1.0
        log_rest = log_q.log1mexp()
        log_ratio = log_rest - (log_q + close).log1mexp()
        bound = (log_rest + above * log_ratio).logaddexp(log_q + above * close) / above
        high = np.where(log_q.high < limit.low, np.nan_to_num(bound.high, nan=np.inf), np.inf)
        low = np.where(log_q.low >= limit.high, np.inf, np.nan_to_num(bound.low, nan=0.0, posinf=np.inf))
    return Interval(np.maximum(low, 0.0), high)


def _two_sided(log_q: Floats, close: float, orders: Floats) -> Floats:
    """Return the larger divergence, both ways, of (q, e^e q) and (q, e^-e q), infinite where e^e q >= 1."""
    fits = log_q + close < -1e-9
    log_q = np.where(fits, log_q, -close - 1)
    log_p = np.stack([np.log1p(-np.exp(log_q)), log_q])
    largest = np.zeros((len(orders), len(log_q)))
    for change in (close, -close):
        odds = np.exp(log_q - log_p[0])
        changes = np.stack([np.log1p(-odds * np.expm1(change)), np.full_like(log_q, change)])
        for powers in (1 - orders, orders):
            largest = np.maximum(largest, log_moments(log_p, changes, powers))
    return np.where(fits[:, None], largest.T / (orders - 1), np.inf)
