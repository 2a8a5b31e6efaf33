"""Logarithms of the normal distribution, computed where differences would lose their digits."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import erfcx, log_ndtr

from ostraka.guardian.accounting.numerics.arguments import Floats

_FEW = np.polynomial.legendre.leggauss(4)
_MANY = np.polynomial.legendre.leggauss(8)
_NARROW = 0.05
"""Steps up to which 4 nodes are exact to 1e-16; 8 nodes are exact up to `_WIDE`."""
_WIDE = 0.5
"""Steps above which two logarithms differ by enough to be subtracted without a loss of digits."""
_PLAIN = 40.0
"""Logarithms above which e^x - 1 is e^x to a double's last digit."""


def log_density(x: Floats) -> Floats:
    """Return log phi(x)."""
    return -0.5 * x * x - 0.5 * math.log(2 * math.pi)


def log_cdf_step(x: Floats, step: Floats | float) -> Floats:
    """Return log Phi(x + step) - log Phi(x) to about 14 digits for every x.

    Narrow steps integrate phi/Phi by Gauss-Legendre, whose error is below 1e-16 because the zeros of Phi lie
    more than 2 away from the real line; wide steps subtract.
    """
    wide = np.abs(step) > _WIDE
    if np.all(wide):
        return _subtract_logs(x, step)
    total = np.zeros(np.broadcast(x, step).shape)
    nodes, weights = _FEW if np.all(np.abs(step) <= _NARROW) else _MANY
    for node, weight in zip(nodes, weights, strict=True):
        total += weight / erfcx((x + step * ((1 + node) / 2)) / -math.sqrt(2))
    integral = total * step / math.sqrt(2 * math.pi)
    return np.where(wide, _subtract_logs(x, step), integral) if np.any(wide) else integral


def log_cdf_gain(x: Floats, step: float) -> Floats:
    """Return log(Phi(x + step)/Phi(x) - 1) for step > 0, also where Phi is 1 to all digits."""
    left = np.minimum(x, 0.0)
    right = np.maximum(x, 0.0)
    rise = log_cdf_step(left, step)
    near = np.where(rise > _PLAIN, rise, np.log(np.expm1(np.minimum(rise, _PLAIN))))
    odds = log_ndtr(-right) - log_ndtr(right)
    return np.where(x < 0, near, odds + np.log(-np.expm1(log_cdf_step(-right, -step))))


def _subtract_logs(x: Floats, step: Floats | float) -> Floats:
    return np.asarray(log_ndtr(x + step) - log_ndtr(x), dtype=np.float64)
