"""The data-dependent bound of Papernot et al. 2018: Theorem 2 with Lemma 9 (Theorem 6 as published).

Let a mechanism have a Renyi divergence of at most a/s^2 at every order a, and an outcome other than its
likeliest one with probability q on this input D. With mu2 = s sqrt(-log q), mu1 = mu2 + 1, e1 = mu1/s^2
and e2 = mu2/s^2, for every neighbour D' and every order a <= mu1:

    D_a(M(D) || M(D')) <= log((1-q) A^(a-1) + q B^(a-1)) / (a-1)
    A = (1-q) / (1 - (q exp(e2))^((mu2-1)/mu2)),    B = exp(e1) / q^(1/(mu1-1))

where q <= exp((mu2-1) e2) / ((mu1/(mu1-1)) (mu2/(mu2-1)))^mu2. It bounds this one direction only.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ostraka.guardian.accounting.numerics.arguments import Floats
from ostraka.guardian.accounting.numerics.intervals import Interval

_CHUNK = 1024
"""Rows worked on together, so that their arrays stay in the processor's cache."""


def theorem6(log_q: Floats, scale: float, orders: Floats) -> Floats:
    """Return rdp (Q, R) at `orders` (R,) from `log_q` (Q,), never above the worst case orders/scale^2.

    `log_q` is an upper bound on the log probability of any other outcome; `scale` is s, in units of what one
    neighbour changes. Every query costs the same work, so the running time reveals nothing about its votes.
    """
    applies = _applies(log_q, scale)
    safe = np.where(applies, log_q, -max(1.0, 4 / scale**2))
    worst = orders / scale**2
    rdp = np.empty((len(log_q), len(orders)))
    for start in range(0, len(log_q), _CHUNK):
        rows = slice(start, start + _CHUNK)
        bound = np.minimum(_theorem_bound(safe[rows, None], scale, orders), worst)
        rdp[rows] = np.where(applies[rows, None], bound, worst)
    rdp[np.isneginf(log_q)] = 0.0
    return rdp


def theorem6_enclosed(log_q: Interval, scale: Interval, order: float) -> Interval:
    """Return an interval that contains `theorem6` at one order, for intervals `log_q` (Q,) and `scale`.

    Where rounding leaves open whether the theorem applies, the interval extends from its bound to the worst
    case.
    """
    with np.errstate(all="ignore"):
        mu2 = scale * (-log_q).sqrt()
        mu1 = mu2 + 1.0
        e2 = mu2 / (scale * scale)
        logs = (Interval.of(1.0) / mu2).log1p() + (Interval.of(1.0) / (mu2 - 1.0)).log1p()
        limit = (mu2 - 1.0) * e2 - mu2 * logs
        surely = (mu2.low > 1) & (log_q.high <= limit.low) & (e2.high < -log_q.high) & (order < mu1.low)
        never = (mu2.high <= 1) | (log_q.low > limit.high) | (e2.low >= -log_q.low) | (order >= mu1.high)
        log_1q = log_q.log1mexp()
        log_a = log_1q - ((log_q + e2) * (Interval.of(1.0) - Interval.of(1.0) / mu2)).log1mexp()
        log_b = mu1 / (scale * scale) - log_q / mu2
        above = Interval.of(order) - 1.0
        moment = (log_1q + above * log_a).logaddexp(log_q + above * log_b)
        bound = moment / above
        worst = Interval.of(order) / (scale * scale)
        known = surely & ~np.isnan(bound.high)
        high = np.where(known, np.minimum(bound.high, worst.high), worst.high)
        low = np.where(never, worst.low, np.fmin(np.where(np.isnan(bound.low), 0.0, bound.low), worst.low))
    return Interval(np.maximum(low, 0.0), high)


def _applies(log_q: Floats, scale: float) -> NDArray[np.bool_]:
    """Return where the theorem's precondition on q is met and A is positive."""
    mu2 = scale * np.sqrt(-log_q)
    fits = np.isfinite(log_q) & (mu2 > 1)
    mu2 = np.where(fits, mu2, 2.0)
    e2 = mu2 / scale**2
    limit = (mu2 - 1) * e2 - mu2 * (np.log1p(1 / mu2) + np.log1p(1 / (mu2 - 1)))
    return np.asarray(fits & (log_q <= limit) & (-log_q > e2), dtype=np.bool_)


def _theorem_bound(log_q: Floats, scale: float, orders: Floats) -> Floats:
    """Return the bound (Q, R), infinite for orders of mu1 or more, from `log_q` (Q, 1)."""
    mu2 = scale * np.sqrt(-log_q)
    mu1 = mu2 + 1
    log_1q = log1mexp(log_q)
    log_a = log_1q - log1mexp((log_q + mu2 / scale**2) * (1 - 1 / mu2))
    log_b = mu1 / scale**2 - log_q / mu2
    moment = _log_add(log_1q + (orders - 1) * log_a, log_q + (orders - 1) * log_b)
    return np.where(orders < mu1, moment / (orders - 1), np.inf)


def log1mexp(x: Floats) -> Floats:
    """Return log(1 - exp(x)) for x < 0 without loss of digits (Maechler 2012)."""
    return np.where(x < -1, np.log1p(-np.exp(np.minimum(x, -1.0))), np.log(-np.expm1(np.maximum(x, -1.0))))


def _log_add(x: Floats, y: Floats) -> Floats:
    """Return log(exp(x) + exp(y)) through NumPy's vectorised exp and log1p, 4 times faster than logaddexp."""
    return np.asarray(np.maximum(x, y) + np.log1p(np.exp(-np.abs(x - y))))
