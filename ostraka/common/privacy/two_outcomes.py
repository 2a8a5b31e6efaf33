"""The worst case of an answer with two outcomes under Gaussian noise.

A neighbour moves a number by at most `shift` deviations of the noise that is added to it. Among all answers
with two outcomes that depend on the noisy number, the costliest say whether it exceeds a threshold (Neyman
and Pearson). So the worst case is the largest divergence between Bernoulli(Phi(g)) and Bernoulli(Phi(g +-
shift)) over all real g. docs/accounting-multilabel.md proves what is used here.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Steps and sections are those of docs/accounting-multilabel.md.
_TOLERANCE = 1e-6
"""Cells are halved until their bound exceeds the largest value by at most this ("How F is calculated")."""
_ROUNDING = 1e-9
"""Relative margin for rounding: at most six digits of the logarithms cancel."""
_REACH = 12.0
"""Deviations to either side beyond which steps 3 and 4 bound the rest, by -log Phi(12) = 2e-33."""
_CELLS = 32
"""Initial number of cells; cells that are too wide are halved, so this number only affects the time."""
_WIDEST_STEP = 0.25
"""Maximum of the lattice step times the interval; beyond it the cost of the Gaussian mechanism is used."""
_LOGARITHMS_FROM = 0.1
"""Order times shift below which the integral of step 1 is used, whose terms are positive."""
_MILLS_CURVATURE = 0.3
"""Upper bound on the second derivative of phi/Phi, which is at most 0.296 (Sampford 1953)."""
_ROOTS, _WEIGHTS = np.polynomial.legendre.leggauss(4)
_NODES = (1 + _ROOTS) / 2
_SHARES = _WEIGHTS / 2


@lru_cache(maxsize=4096)
def two_outcomes_rdp(order: float, shift: float, *, lattice: float = 0.0) -> float:
    """Return the largest divergence at `order` of an answer with two outcomes, rounded up by 1e-6 of it.

    Args:
        order: Renyi order, above 1.
        shift: how far a neighbour moves the number, in deviations of its noise. The difference of two draws
            of deviation s that moves by 2 has a shift of 2/(s sqrt 2).
        lattice: step of the noise in its deviations; 0 for continuous noise. The bound is then valid for
            discrete Gaussian noise, and for the difference of two draws of at least 4 steps each.

    Returns:
        An upper bound over all inputs and both directions, never above order shift^2/2, the cost of the
            Gaussian
        mechanism. Own derivation, proved in docs/accounting-multilabel.md.

    Raises:
        ValueError: if an argument is not a finite number in its range.
    """
    check_arguments(order, shift, lattice)
    return float(two_outcomes_within(_TOLERANCE, order, np.array([shift]), lattice)[0])


def check_arguments(order: float, shift: float, lattice: float) -> None:
    """Raise ValueError if an argument of a bound is not a finite number in its range."""
    if not 1 < order < math.inf:
        raise ValueError(f"order: must be a finite number above 1, is {order}")
    if not 0 <= shift < math.inf:
        raise ValueError(f"shift: must be a finite number, 0 or more, is {shift}")
    if not 0 <= lattice < math.inf:
        raise ValueError(f"lattice: must be a finite number, 0 or more, is {lattice}")


def two_outcomes_within(tolerance: float, order: float, shifts: Floats, lattice: float = 0.0) -> Floats:
    """Return `two_outcomes_rdp` of many shifts, rounded up by `tolerance`; a larger one needs less work."""
    gaussian = order * shifts**2 / 2
    bound = gaussian.copy()
    fine = (gaussian > 0) & (lattice * ((order - 1) * shifts + _REACH + shifts + _REACH) <= _WIDEST_STEP)
    if fine.any():
        inside = _largest(order, shifts[fine], lattice, tolerance)
        outside = _beyond(order, gaussian[fine], lattice)
        bound[fine] = np.minimum(gaussian[fine], np.maximum(inside, outside) * (1 + _ROUNDING))
    return bound


def two_outcomes_lattice(order: float, shift: float, lattice: float) -> float:
    """Return the most that a lattice adds to the continuous bound of any shift up to `shift`, maybe infinity.

    Arguments and source are as in `two_outcomes_rdp`.
    """
    reach = (order - 1) * shift + _REACH
    if lattice * (reach + shift + _REACH) > _WIDEST_STEP:
        return math.inf
    gaussian = order * shift**2 / 2
    inside = float(_lattice_share(order, shift, lattice, np.asarray(reach + shift)))
    beyond, continuous = (float(_beyond(order, np.asarray(gaussian), step)) for step in (lattice, 0.0))
    return max(inside, beyond - continuous)


def _largest(order: float, shifts: Floats, lattice: float, tolerance: float) -> Floats:
    """Bound the divergence at each shift in the range that `_beyond` leaves out; halve cells as needed."""
    start = -_REACH - shifts
    reach = (order - 1) * shifts + _REACH
    g = start + (reach - start) * np.linspace(0, 1, _CELLS + 1)[:, None]
    at = _divergence(g, order, np.broadcast_to(shifts, g.shape))
    of = np.tile(np.arange(len(shifts)), _CELLS)
    low, high, at_low, at_high = (side.ravel() for side in (g[:-1], g[1:], at[:-1], at[1:]))
    found = np.zeros(len(shifts))
    while len(of):
        shift = shifts[of]
        share = _lattice_share(order, shift, lattice, np.maximum(np.abs(low), np.abs(high)))
        at_ends = np.maximum(at_low, at_high)
        np.maximum.at(found, of, at_ends + share)
        bound = _cell_bound(order, shift, high - low, at_ends) + share
        open_ = bound > found[of] * (1 + tolerance)
        of = of[open_]
        low, high, at_low, at_high = (side[open_] for side in (low, high, at_low, at_high))
        middle = (low + high) / 2
        at_middle = _divergence(middle, order, shifts[of])
        of = np.tile(of, 2)
        low = np.concatenate((low, middle))
        high = np.concatenate((middle, high))
        at_low = np.concatenate((at_low, at_middle))
        at_high = np.concatenate((at_middle, at_high))
    return found * (1 + tolerance)


def _cell_bound(order: float, shift: Floats, width: Floats, at_ends: Floats) -> Floats:
    """Bound the divergence within cells from the larger of its values at their ends.

    Its second derivative is at least -order/(order - 1). The second derivative of the logarithm of its moment
    is at least -2 - order min(1, 0.3 shift).
    """
    square = width**2 / 8
    # The exponent is capped before e^x overflows; `bent` is the smaller of the two long before that.
    curved = at_ends * np.exp(
        np.minimum((2 + order * np.minimum(1, _MILLS_CURVATURE * shift)) * square, 300.0)
    )
    bent = at_ends + square * order / (order - 1)
    return np.minimum(curved, bent)


def _lattice_share(order: float, shift: float | Floats, lattice: float, distance: Floats) -> Floats:
    """Bound what the lattice adds: it changes a probability by at most lattice^2 (B + 1)^2/2 of itself."""
    error = (lattice * (distance + shift + _REACH + 1)) ** 2 / 2
    return error * (2 * order - 1) / (order - 1)


def _beyond(order: float, gaussian: Floats, lattice: float) -> Floats:
    """Bound the divergence outside the range of `_largest`."""
    from scipy.special import log_ndtr

    tail = float(log_ndtr(lattice - _REACH))
    right = np.logaddexp(0.0, (order - 1) * gaussian + tail) / (order - 1)
    return np.asarray(np.maximum(right, 2 * math.exp(tail)), dtype=np.float64)


def _divergence(g: Floats, order: float, shift: Floats) -> Floats:
    """Return D(Bernoulli(Phi(g)) || Bernoulli(Phi(g + shift))); swapping outcomes gives the other cases."""
    cancels = order * shift <= _LOGARITHMS_FROM
    rdp = np.empty(g.shape)
    for ways, calculate in ((cancels, _from_excess), (~cancels, _from_logarithms)):
        if ways.any():
            rdp[ways] = calculate(g[ways], order, shift[ways])
    return rdp


def _from_excess(g: Floats, order: float, shift: Floats) -> Floats:
    return np.asarray(np.log1p((order - 1) * _excess(g, order, shift)) / (order - 1), dtype=np.float64)


def _from_logarithms(g: Floats, order: float, shift: Floats) -> Floats:
    from scipy.special import log_ndtr

    first = order * log_ndtr(g) - (order - 1) * log_ndtr(g + shift)
    second = order * log_ndtr(-g) - (order - 1) * log_ndtr(-g - shift)
    return np.asarray(np.maximum(np.logaddexp(first, second), 0.0) / (order - 1), dtype=np.float64)


def _excess(g: Floats, order: float, shift: Floats) -> Floats:
    """Return (moment - 1)/(order - 1) as an integral over the shift, without cancellation.

    Its integrand at u is phi(g + u) (e^X - e^Y), where X and -Y are `order` times the integrals of phi/Phi(-)
    and phi/Phi from g to g + u.
    """
    u = shift[:, None] * _NODES
    inner = g[:, None, None] + u[:, :, None] * _NODES
    x = order * u * (_mills(-inner) @ _SHARES)
    y = -order * u * (_mills(inner) @ _SHARES)
    at = g[:, None] + u
    density = np.exp(-0.5 * at * at) / math.sqrt(2 * math.pi)
    total: Floats = shift * ((density * np.exp(y) * np.expm1(x - y)) @ _SHARES)
    return total


def _mills(x: Floats) -> Floats:
    """Return phi(x)/Phi(x)."""
    from scipy.special import erfcx

    return np.asarray(math.sqrt(2 / math.pi) / erfcx(x / -math.sqrt(2)), dtype=np.float64)


_RATIO = 1.2
"""Ratio of neighbouring shifts between which F lies below its chord, at most 0.8% above a parabola."""
_TOLERANCE_OF_MANY = 1e-3
"""Tolerance of F at these shifts, small compared with what the chords add."""
_FIRST_CELL = 0.01
"""Value of (order + 1) times the shift below which F(x)/x^2 has a separate bound."""
_ROUNDING_OF_MANY = 1 + 1e-9
"""Factor for rounding, as `_ROUNDING`."""


def clipped_labels_rdp(
    order: float, labels: int, shift: float, squares: float, *, lattice: float = 0.0
) -> float:
    """Return the largest total cost of answers about `labels` labels.

    Args:
        order: Renyi order, above 1.
        labels: number of answers with two outcomes, each with its own noise.
        shift: the most that a neighbour moves each label's number, in deviations of its noise.
        squares: the largest sum of squared moves over all labels, in the same unit; infinite without a limit.
        lattice: as for `two_outcomes_rdp`.

    Returns:
        An upper bound for all inputs and both directions, never above order squares/2 nor above `labels`
            times
        `two_outcomes_rdp`. Own derivation, proved in docs/accounting-multilabel.md.

    Raises:
        ValueError: if an argument is not a number in its range.
    """
    if labels < 0:
        raise ValueError(f"labels: must be 0 or more, is {labels}")
    if not squares >= 0:
        raise ValueError(f"squares: must be a number, 0 or more, is {squares}")
    each = labels * two_outcomes_rdp(order, shift, lattice=lattice)
    if shift == 0 or math.isinf(squares):
        return each
    added = labels * two_outcomes_lattice(order, shift, lattice)
    return min(each, order * squares / 2, squares * _slope(order, shift) + added)


@lru_cache(maxsize=4096)
def _slope(order: float, shift: float) -> float:
    """Bound F(x)/x^2 for 0 < x <= `shift`; F is `two_outcomes_rdp`, which is convex, so below its chords."""
    least = _FIRST_CELL / (order + 1)
    # a/pi e^(0.69 (a + 1)^2 x^2 + a x (0.8 + x)) at the end of that cell, x = `least`, and no less below it.
    steepest = order / math.pi * math.exp(0.69 * _FIRST_CELL**2 + _FIRST_CELL * (0.8 + least))
    cells = max(0, math.ceil(math.log(shift / least, _RATIO)))
    if cells:
        x: Floats = shift * _RATIO ** -np.arange(cells + 1.0)
        at = two_outcomes_within(_TOLERANCE_OF_MANY, order, x)
        steepest = max(steepest, float(steepest_quotient(x[1:], x[:-1], at[1:], at[:-1]).max()))
    return min(steepest * _ROUNDING_OF_MANY, order / 2)


def steepest_quotient(
    low: float | Floats, high: float | Floats, at_low: Floats, at_high: Floats, bend: float | Floats = 0.0
) -> Floats:
    """Bound f(x)/x^2 between `low` and `high` for a rising f with these values there and f'' >= -`bend`.

    f lies at most bend width^2/8 above its chord; the parabola that touches this line is found directly.
    """
    width = high - low
    rise = (at_high - at_low) / width
    start = at_low - rise * low + bend * width**2 / 8
    with np.errstate(divide="ignore", invalid="ignore"):
        touch = -2 * start / rise
    touch = np.clip(np.where(np.isnan(touch), low, touch), low, high)
    return np.asarray((start + rise * touch) / touch**2, dtype=np.float64)
