"""Outcomes of two noisy numbers and a level: probabilities, and how fast they change.

A and B are normal with deviation 1 and means `a` and `b`; the level is 0. The outcomes, in this order: A is
the largest, B is the largest, the level is the largest (docs/accounting-argmax.md).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

Floats = NDArray[np.float64]

_HALF_LOG_2PI = math.log(2 * math.pi) / 2
_HALF_LOG_2 = math.log(2) / 2
_REACH = 8.5  # in standard deviations from the mode: the rest is below 1e-15 (see `_log_win`)
_PAST_MODE = 0.8  # maximum of the mode minus its lower bound (see `_log_win`)
_ROOTS, _WEIGHTS = np.polynomial.legendre.leggauss(52)
_NODES = 1 + _ROOTS
_LOG_WEIGHTS = np.log(_WEIGHTS)


def log_outcomes(a: Floats, b: Floats) -> Floats:
    """Return the logarithms (3, n) of the outcomes' probabilities, each with a small relative error."""
    return np.stack((_log_win(a, b), _log_win(b, a), log_ndtr(-a) + log_ndtr(-b)))


def steepness(a: Floats, b: Floats, logs: Floats) -> Floats:
    """Return the lengths (3, n) of the gradients of `logs`, which are `log_outcomes(a, b)`."""
    apart = (a - b) / math.sqrt(2)
    along = (a + b) / math.sqrt(2)
    tie = _log_density(apart) + log_ndtr(along) - _HALF_LOG_2
    a_at_level = _log_density(a) + log_ndtr(-b)
    b_at_level = _log_density(b) + log_ndtr(-a)
    sides = (
        (np.logaddexp(tie, a_at_level), tie),
        (np.logaddexp(tie, b_at_level), tie),
        (a_at_level, b_at_level),
    )
    lengths = [np.hypot(*np.exp(side - log)) for side, log in zip(sides, logs, strict=True)]
    return np.stack(lengths)


def _log_win(a: Floats, b: Floats) -> Floats:
    """Return log P(A > max(B, 0)), the integral of phi(t - a) Phi(t - b) over t > 0.

    Minus the logarithm of the integrand has a second derivative of at least 1, and its mode is at most 0.8
    above the maximum of 0, a and (a + b)/2, so less than 1e-15 of the integral is omitted.
    """
    free = np.maximum(a, (a + b) / 2)
    mode = np.maximum(free, 0.0)
    falls = np.maximum(-free, 0.0)
    low = np.maximum(mode - _REACH, 0.0)
    high = mode + _PAST_MODE + np.sqrt(falls**2 + _REACH**2) - falls
    half = (high - low) / 2
    t = low[:, None] + half[:, None] * _NODES
    integrand = _log_density(t - a[:, None]) + log_ndtr(t - b[:, None]) + _LOG_WEIGHTS
    most = integrand.max(axis=1)
    total = np.log(np.exp(integrand - most[:, None]).sum(axis=1))
    return np.asarray(most + total + np.log(half), dtype=np.float64)


def _log_density(x: Floats) -> Floats:
    return -0.5 * x * x - _HALF_LOG_2PI
