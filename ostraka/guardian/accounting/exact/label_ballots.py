"""`exact` for multi-label ballots: what one ballot can flip over all labels at once, clipped or not.

Clipped: moves x_i of the labels obey |x_i| <= most and sum x_i^2 <= budget. With majorants of each label's
divergence that grow linearly in x_i^2 up to a value, the worst moves solve a fractional knapsack: the
steepest labels first, until the budget is spent. docs/accounting-multilabel.md proves it.

Not clipped: a unit's ballots may change at all labels at once, each independently of the others. The largest
divergence is the sum over labels of each label's worst move, for one direction of all labels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, expit, log_ndtr

from ostraka.common.privacy import Influence
from ostraka.common.privacy.two_outcomes import steepest_quotient
from ostraka.guardian.accounting.exact.label_releases import LabelVotes, Release, bit_rdp, top
from ostraka.guardian.accounting.numerics.arguments import Floats
from ostraka.guardian.accounting.numerics.normal import log_cdf_step

_GRID: list[float] = np.geomspace(1 / 64, 1, 16).tolist()
"""Cells of a move, as parts of the largest (docs/accounting-multilabel.md, Majorant). More cells take time
and gain little; fewer cells lie farther above the divergence."""
_ROUNDING = 1 + 1e-9
"""Room for rounding, far above the error of a slope (a few 1e-14), and far below any relevant difference."""


@dataclass(frozen=True)
class Majorant:
    """A bound on a divergence at a move of x votes: offset + min(slope x^2, value); each (2, R, C)."""

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
        """Return the majorant where `mask` (C,) is true, and 0 elsewhere."""
        return Majorant(*(np.where(mask, part, 0.0) for part in (self.offset, self.slope, self.value)))

    def at(self, index: NDArray[np.intp]) -> Majorant:
        """Return the majorants of the bits (Q, k) at `index`, as (2, R, Q, k)."""
        return Majorant(self.offset[..., index], self.slope[..., index], self.value[..., index])


def majorant(centre: Floats, room: Floats, per_vote: float, orders: Floats) -> Majorant:
    """Return the cost of bits that move up, towards passing their thresholds.

    Args:
        centre: the bits' numbers above their thresholds, in deviations, (C,).
        room: the largest move of each bit in votes, 0 or more, (C,).
        per_vote: a move of one vote in deviations.
        orders: Renyi orders (R,).
    """
    shift = per_vote * room
    rdp = [bit_rdp(centre, part * shift, orders) for part in _GRID]
    bends = _bends(centre, shift, orders)
    slope = np.zeros_like(rdp[0])
    for (low, high), (at_low, at_high), bend in zip(pairwise(_GRID), pairwise(rdp), bends, strict=True):
        steepest = steepest_quotient(low, high, at_low - rdp[0], at_high - rdp[0], bend)
        slope = np.maximum(slope, steepest)
    squared = np.where(room > 0, room, 1.0) ** 2
    return Majorant(rdp[0], slope * _ROUNDING / squared, rdp[-1] - rdp[0])


def _bends(centre: Floats, shift: Floats, orders: Floats) -> list[Floats]:
    """Return by cell of the grid how far the rdp's second derivative (2, R, C) may be below 0.

    The divergence of the centre from the shifted bit is convex. In the other direction it bends by no more
    than order/(order - 1) times the mean of -(log Phi)'' under the tilted bit.
    """
    tilted = [_tilt(centre, part * shift, orders) for part in _GRID]
    bends = []
    for j in range(len(_GRID) - 1):
        yes = expit(tilted[j + 1]) * _curvature(centre + _GRID[j] * shift)
        no = expit(-tilted[j]) * _curvature(-centre - _GRID[j + 1] * shift)
        back = (orders / (orders - 1))[:, None] * (yes + no) * shift**2
        bends.append(np.stack([np.zeros_like(back), back]))
    return bends


def _tilt(centre: Floats, shift: Floats, orders: Floats) -> Floats:
    """Return the log odds (R, C) of R^a P^(1-a); P is the bit at the centre and R the shifted bit."""
    change = log_cdf_step(centre, shift) - log_cdf_step(-centre, -shift)
    return np.asarray(log_ndtr(centre) - log_ndtr(-centre) + orders[:, None] * change, dtype=np.float64)


def _curvature(x: Floats) -> Floats:
    """Return -(log Phi)''(x), which lies between 0 and 1 and falls with x."""
    mills = math.sqrt(2 / math.pi) / erfcx(x / -math.sqrt(2))
    return np.asarray(np.clip(mills * (x + mills), 0.0, 1.0), dtype=np.float64)


def knapsack_rdp(votes: LabelVotes, release: Release, orders: Floats, most: float, budget: float) -> Floats:
    """Return the rdp (Q, R) for moves of at most `most` votes whose squares add up to `budget`."""
    labels, index = votes.distinct()
    up, down = (_label_majorant(labels, release, orders, most, sign) for sign in (1, -1))
    costs = up.larger(down).at(index)
    total: Floats = (costs.offset.sum(axis=-1) + knapsack(costs.value, costs.slope, budget)).max(axis=0).T
    return np.nan_to_num(total, nan=np.inf)


def knapsack(value: Floats, slope: Floats, budget: float) -> Floats:
    """Return the largest sum of min(slope w, value) over weights w, along the last axis, within `budget`."""
    most = np.minimum(value, slope * budget)
    full = np.divide(most, slope, out=np.zeros_like(value), where=slope > 0)
    order = np.argsort(-slope, axis=-1)
    slope = np.take_along_axis(slope, order, axis=-1)
    full = np.take_along_axis(full, order, axis=-1)
    before = np.cumsum(full, axis=-1) - full
    return np.asarray((slope * np.clip(budget - before, 0.0, full)).sum(axis=-1), dtype=np.float64)


def _label_majorant(labels: LabelVotes, release: Release, orders: Floats, most: float, sign: int) -> Majorant:
    """Return the cost of labels whose positives rise (`sign` 1) or fall (-1)."""
    room = np.full_like(labels.positives, most)
    parts = []
    if release.vote is not None:
        centre = sign * release.vote_centre(labels, release.vote)
        vote = majorant(centre, room, 2 / (math.sqrt(2) * release.vote), orders)
        parts.append(vote.where(labels.answered))
    if release.check is not None:
        parts.append(_check_majorant(labels, release, release.check, orders, room, sign))
    return parts[0] if len(parts) == 1 else parts[0].plus(parts[1])


def _check_majorant(
    labels: LabelVotes, release: Release, sigma: float, orders: Floats, room: Floats, sign: int
) -> Majorant:
    """Return the cost of checks: the larger count rises if it gains votes, else it falls.

    Within `room` of an even split it may do either.
    """
    lead = labels.positives - labels.n / 2
    centre = release.check_centre(top(labels.positives, labels.n), sigma)
    gains = lead * sign >= 0
    moved = majorant(np.where(gains, centre, -centre), room, 1 / sigma, orders)
    if not np.any(~gains & (np.abs(lead) < room)):
        return moved
    turned = majorant(centre, room, 1 / sigma, orders)
    return moved.larger(turned.where(~gains & (np.abs(lead) < room)))


def flip_rdp(votes: LabelVotes, release: Release, orders: Floats, influence: Influence) -> Floats:
    """Return the rdp (Q, R) if so many votes may change at every label.

    For a bit alone the largest change costs most; a check near an even split may cost most for a smaller
    change.
    """
    labels, index = votes.distinct()
    costs = np.zeros((2, len(orders), len(labels.positives)))
    fewest = influence.votes if release.check is None else 1
    for votes_moved in range(fewest, influence.votes + 1):
        for by in (-votes_moved * influence.weight, votes_moved * influence.weight):
            costs = np.maximum(costs, _flip_labels(labels, release, orders, by))
    total: Floats = costs[:, :, index].sum(axis=-1).max(axis=0).T
    return total


def _flip_labels(labels: LabelVotes, release: Release, orders: Floats, by: float) -> Floats:
    """Return the rdp (2, R, C) of each label when its positives change by `by` votes."""
    after = labels.positives + by
    rdp = np.zeros((2, len(orders), len(after)))
    if release.vote is not None:
        shift = np.full_like(after, 2 * by / (math.sqrt(2) * release.vote))
        vote = bit_rdp(release.vote_centre(labels, release.vote), shift, orders)
        rdp += np.where(labels.answered, vote, 0.0)
    if release.check is not None:
        before = top(labels.positives, labels.n)
        shift = (top(after, labels.n) - before) / release.check
        rdp += bit_rdp(release.check_centre(before, release.check), shift, orders)
    return rdp
