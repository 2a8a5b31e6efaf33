"""`exact` for clipped ballots: what one ballot can flip over all labels at once.

Moves x_i of the labels obey |x_i| <= most and sum x_i^2 <= budget. With majorants of each label's
divergence that grow linearly in x_i^2 up to a value, the worst moves are a fractional knapsack: the
steepest labels first, until the budget is spent. docs/accounting-multilabel.md proves it.
"""

from __future__ import annotations

import math

import numpy as np

from ostraka.guardian.accounting.exact.label_releases import LabelVotes, Release, top
from ostraka.guardian.accounting.exact.majorant import Majorant, majorant
from ostraka.guardian.accounting.numerics.arguments import Floats


def clipped_rdp(votes: LabelVotes, release: Release, orders: Floats, most: float, budget: float) -> Floats:
    """Return the rdp (Q, R) for moves of at most `most` votes whose squares add up to `budget`."""
    labels, index = votes.distinct()
    up, down = (_moved(labels, release, orders, most, sign) for sign in (1, -1))
    costs = up.larger(down).at(index)
    total: Floats = (costs.offset.sum(axis=-1) + knapsack(costs.value, costs.slope, budget)).max(axis=0).T
    return np.nan_to_num(total, nan=np.inf)


def knapsack(value: Floats, slope: Floats, budget: float) -> Floats:
    """Return the largest sum of min(slope w, value) over weights w, along the last axis, within `budget`."""
    most = np.minimum(value, slope * budget)
    full = np.divide(most, slope, out=np.zeros_like(value), where=slope > 0)
    order = np.argsort(-slope, axis=-1)
    slope, full = np.take_along_axis(slope, order, axis=-1), np.take_along_axis(full, order, axis=-1)
    before = np.cumsum(full, axis=-1) - full
    return np.asarray((slope * np.clip(budget - before, 0.0, full)).sum(axis=-1), dtype=np.float64)


def _moved(labels: LabelVotes, release: Release, orders: Floats, most: float, sign: int) -> Majorant:
    """Return what labels cost whose positives rise (`sign` 1) or fall (-1)."""
    room = np.full_like(labels.positives, most)
    parts = []
    if release.vote is not None:
        centre = sign * release.vote_centre(labels, release.vote)
        vote = majorant(centre, room, 2 / (math.sqrt(2) * release.vote), orders)
        parts.append(vote.where(labels.answered))
    if release.check is not None:
        parts.append(_check_moved(labels, release, release.check, orders, room, sign))
    return parts[0] if len(parts) == 1 else parts[0].plus(parts[1])


def _check_moved(
    labels: LabelVotes, release: Release, sigma: float, orders: Floats, room: Floats, sign: int
) -> Majorant:
    """Return what checks cost: the larger count rises where it is the one that gains votes, else it falls.

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
