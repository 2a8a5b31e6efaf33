"""The worst case of an answer with two outcomes under Gaussian noise.

One neighbour moves a number by at most `shift` deviations of the noise that is added to it. Of all answers
with two outcomes that can be made of the noisy number, the costliest say whether it exceeds a threshold
(Neyman and Pearson), so the worst case is the largest divergence between Bernoulli(Phi(g)) and
Bernoulli(Phi(g +- shift)) over all real g. docs/accounting-multilabel.md proves what is used here.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, log_ndtr

Floats = NDArray[np.float64]

_TOLERANCE = 1e-6
_ROUNDING = 1e-9
_REACH = 12.0
_CELLS = 64
_WIDEST_STEP = 0.25
_ROOTS, _WEIGHTS = np.polynomial.legendre.leggauss(8)
_NODES, _SHARES = (1 + _ROOTS) / 2, _WEIGHTS / 2


@lru_cache(maxsize=4096)
def two_outcomes_rdp(order: float, shift: float, *, lattice: float = 0.0) -> float:
    """Return the largest divergence at `order` of an answer with two outcomes, rounded up by 1e-6 of it.

    Args:
        order: Renyi order, above 1.
        shift: how far one neighbour moves the number, in deviations of its noise. The difference of two
            draws of deviation s that moves by 2 has a shift of 2/(s sqrt 2).
        lattice: step of the noise in its deviations; 0 for continuous noise. The bound then holds for
            discrete Gaussian noise, and for the difference of two draws of at least 4 steps each.

    Returns:
        An upper bound over all inputs and both directions, never above order shift^2/2, the Gaussian
        mechanism's. Own derivation, proved in docs/accounting-multilabel.md.

    Raises:
        ValueError: where an argument is not a finite number in its range.
    """
    if not 1 < order < math.inf:
        raise ValueError(f"order: must be a finite number above 1, is {order}")
    if not 0 <= shift < math.inf:
        raise ValueError(f"shift: must be a finite number, 0 or more, is {shift}")
    if not 0 <= lattice < math.inf:
        raise ValueError(f"lattice: must be a finite number, 0 or more, is {lattice}")
    return two_outcomes_within(_TOLERANCE, order, shift, lattice)


def two_outcomes_within(tolerance: float, order: float, shift: float, lattice: float = 0.0) -> float:
    """Return `two_outcomes_rdp`, rounded up by `tolerance` of it: less work where that is large."""
    gaussian = order * shift**2 / 2
    reach = (order - 1) * shift + _REACH
    if gaussian == 0 or lattice * (reach + shift + _REACH) > _WIDEST_STEP:
        return gaussian
    inside = _largest(order, shift, lattice, np.linspace(-_REACH - shift, reach, _CELLS + 1), tolerance)
    outside = _beyond(order, gaussian, lattice)
    return min(gaussian, max(inside, outside) * (1 + _ROUNDING))


def two_outcomes_lattice(order: float, shift: float, lattice: float) -> float:
    """Return what a lattice adds at most to the continuous bound of any shift up to `shift`, maybe infinity.

    Arguments and source are those of `two_outcomes_rdp`.
    """
    reach = (order - 1) * shift + _REACH
    if lattice * (reach + shift + _REACH) > _WIDEST_STEP:
        return math.inf
    gaussian = order * shift**2 / 2
    inside = float(_lattice_share(order, shift, lattice, np.asarray(reach + shift)))
    return max(inside, _beyond(order, gaussian, lattice) - _beyond(order, gaussian, 0.0))


def _largest(order: float, shift: float, lattice: float, g: Floats, tolerance: float) -> float:
    """Bound the divergence between the first and the last of `g`, whose cells are halved where needed."""
    low, high = g[:-1], g[1:]
    at_low = _divergence(low, order, shift)
    at_high = np.append(at_low[1:], _divergence(g[-1:], order, shift))
    found = 0.0
    while True:
        share = _lattice_share(order, shift, lattice, np.maximum(np.abs(low), np.abs(high)))
        at_ends = np.maximum(at_low, at_high)
        found = max(found, float((at_ends + share).max()))
        bound = _cell_bound(order, shift, low, high, at_ends) + share
        open_ = bound > found * (1 + tolerance)
        if not open_.any():
            return found * (1 + tolerance)
        low, high, at_low, at_high = low[open_], high[open_], at_low[open_], at_high[open_]
        middle = (low + high) / 2
        at_middle = _divergence(middle, order, shift)
        low, high = np.append(low, middle), np.append(middle, high)
        at_low, at_high = np.append(at_low, at_middle), np.append(at_middle, at_high)


def _cell_bound(order: float, shift: float, low: Floats, high: Floats, at_ends: Floats) -> Floats:
    """Bound the divergence within cells from the larger of its values at their ends.

    Its logarithm has a slope of at most |g| + shift + order shift + 0.63, and its own second derivative is
    at least -order/(order - 1).
    """
    width = high - low
    slope = np.maximum(np.abs(low), np.abs(high)) + shift + order * shift + 0.63
    steep = at_ends * np.exp(np.minimum(slope * width / 2, 300.0))
    bent = at_ends + width**2 * order / (8 * (order - 1))
    return np.minimum(steep, bent)


def _lattice_share(order: float, shift: float, lattice: float, distance: Floats) -> Floats:
    """Bound what the lattice adds: it changes a probability by at most lattice^2 (B + 1)^2/2 of itself."""
    error = (lattice * (distance + shift + _REACH + 1)) ** 2 / 2
    return error * (2 * order - 1) / (order - 1)


def _beyond(order: float, gaussian: float, lattice: float) -> float:
    """Bound the divergence wherever `_largest` does not look."""
    tail = float(log_ndtr(lattice - _REACH))
    right = float(np.logaddexp(0.0, (order - 1) * gaussian + tail)) / (order - 1)
    return max(right, 2 * math.exp(tail))


def _divergence(g: Floats, order: float, shift: float) -> Floats:
    """Return D(Bernoulli(Phi(g)) || Bernoulli(Phi(g + shift))); swapping outcomes gives the other cases."""
    if order * shift <= 1:
        return np.asarray(np.log1p((order - 1) * _excess(g, order, shift)) / (order - 1), dtype=np.float64)
    first = order * log_ndtr(g) - (order - 1) * log_ndtr(g + shift)
    second = order * log_ndtr(-g) - (order - 1) * log_ndtr(-g - shift)
    return np.asarray(np.maximum(np.logaddexp(first, second), 0.0) / (order - 1), dtype=np.float64)


def _excess(g: Floats, order: float, shift: float) -> Floats:
    """Return (moment - 1)/(order - 1) as an integral over the shift, so that nothing cancels.

    Its integrand at u is phi(g + u) (e^X - e^Y), where X and -Y are `order` times the integrals of
    phi/Phi(-) and phi/Phi from g to g + u.
    """
    u = shift * _NODES
    inner = g[:, None, None] + u[:, None] * _NODES
    x = order * u * (_mills(-inner) @ _SHARES)
    y = -order * u * (_mills(inner) @ _SHARES)
    at = g[:, None] + u
    density = np.exp(-0.5 * at * at) / math.sqrt(2 * math.pi)
    total: Floats = shift * ((density * np.exp(y) * np.expm1(x - y)) @ _SHARES)
    return total


def _mills(x: Floats) -> Floats:
    """Return phi(x)/Phi(x)."""
    return np.asarray(math.sqrt(2 / math.pi) / erfcx(x / -math.sqrt(2)), dtype=np.float64)
