"""A simple function above the divergence of a noisy bit, for every move that a clipped ballot can make.

docs/accounting-multilabel.md proves it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, expit, log_ndtr

from ostraka.guardian.accounting.numerics.arguments import Floats
from ostraka.guardian.accounting.numerics.bernoulli import bit_rdp
from ostraka.guardian.accounting.numerics.normal import log_cdf_step

_GRID: list[float] = np.geomspace(1 / 64, 1, 16).tolist()
_ROUNDING = 1 + 1e-9


@dataclass(frozen=True)
class Majorant:
    """A divergence at a move of x votes is at most offset + min(slope x^2, value); each (2, R, C)."""

    offset: Floats
    slope: Floats
    value: Floats

    def plus(self, other: Majorant) -> Majorant:
        """Return a majorant of the sum of two divergences."""
        return Majorant(self.offset + other.offset, self.slope + other.slope, self.value + other.value)

    def larger(self, other: Majorant) -> Majorant:
        """Return a majorant of both divergences."""
        offset = np.maximum(self.offset, other.offset)
        value = np.maximum(self.offset + self.value, other.offset + other.value) - offset
        return Majorant(offset, np.maximum(self.slope, other.slope), value)

    def where(self, mask: NDArray[np.bool_]) -> Majorant:
        """Return nothing at all where `mask` (C,) is false."""
        return Majorant(*(np.where(mask, part, 0.0) for part in (self.offset, self.slope, self.value)))

    def at(self, index: NDArray[np.intp]) -> Majorant:
        """Return the majorants of the bits (Q, k) at `index`, as (2, R, Q, k)."""
        return Majorant(self.offset[..., index], self.slope[..., index], self.value[..., index])


def majorant(centre: Floats, room: Floats, per_vote: float, orders: Floats) -> Majorant:
    """Return what bits cost that move up, towards passing their thresholds.

    Args:
        centre: the bits' numbers above their thresholds, in deviations, (C,).
        room: the largest move of each in votes, 0 or more, (C,).
        per_vote: what a move of one vote is in deviations.
        orders: Renyi orders (R,).
    """
    shift = per_vote * room
    rdp = [bit_rdp(centre, part * shift, orders) for part in _GRID]
    bends = _bends(centre, shift, orders)
    slope = np.zeros_like(rdp[0])
    for j in range(len(_GRID) - 1):
        ends = _GRID[j], _GRID[j + 1]
        slope = np.maximum(slope, _steepest(ends, rdp[j] - rdp[0], rdp[j + 1] - rdp[0], bends[j]))
    squared = np.where(room > 0, room, 1.0) ** 2
    return Majorant(rdp[0], slope * _ROUNDING / squared, rdp[-1] - rdp[0])


def _steepest(ends: tuple[float, float], low: Floats, high: Floats, bend: Floats) -> Floats:
    """Bound f(x)/x^2 between `ends` for f with values `low` and `high` there and f'' >= -`bend`.

    f lies at most bend width^2/8 above its chord; the parabola that touches this line is found directly.
    """
    width = ends[1] - ends[0]
    rise = (high - low) / width
    start = low - rise * ends[0] + bend * width**2 / 8
    with np.errstate(divide="ignore", invalid="ignore"):
        touch = np.clip(np.nan_to_num(-2 * start / rise, nan=ends[0]), *ends)
    return (start + rise * touch) / touch**2


def _bends(centre: Floats, shift: Floats, orders: Floats) -> list[Floats]:
    """Return by cell of the grid how far the rdp's second derivative (2, R, C) may be below 0.

    That of the centre from the shifted one is convex. In the other direction it bends by no more than
    order/(order - 1) times the mean of -(log Phi)'' under the tilted bit.
    """
    tilted = [_tilted(centre, part * shift, orders) for part in _GRID]
    bends = []
    for j in range(len(_GRID) - 1):
        yes = expit(tilted[j + 1]) * _curvature(centre + _GRID[j] * shift)
        no = expit(-tilted[j]) * _curvature(-centre - _GRID[j + 1] * shift)
        back = (orders / (orders - 1))[:, None] * (yes + no) * shift**2
        bends.append(np.stack([np.zeros_like(back), back]))
    return bends


def _tilted(centre: Floats, shift: Floats, orders: Floats) -> Floats:
    """Return the log odds (R, C) of R^a P^(1-a), P being the bit at the centre and R the shifted one."""
    change = log_cdf_step(centre, shift) - log_cdf_step(-centre, -shift)
    return np.asarray(log_ndtr(centre) - log_ndtr(-centre) + orders[:, None] * change, dtype=np.float64)


def _curvature(x: Floats) -> Floats:
    """Return -(log Phi)''(x), which lies between 0 and 1 and falls with x."""
    mills = math.sqrt(2 / math.pi) / erfcx(x / -math.sqrt(2))
    return np.asarray(np.clip(mills * (x + mills), 0.0, 1.0), dtype=np.float64)
