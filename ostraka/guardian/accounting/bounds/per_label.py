"""Bounds that charge checks and bits of labels apart: the worst case, and theorem6 label by label."""

from __future__ import annotations

import math

import numpy as np

from ostraka.common.privacy.clipped_labels import clipped_labels_rdp
from ostraka.common.privacy.two_outcomes import two_outcomes_rdp
from ostraka.guardian.accounting.bounds.confident_rdp import log_q_check
from ostraka.guardian.accounting.bounds.gnmax_rdp import log_q_argmax
from ostraka.guardian.accounting.bounds.theorem6 import theorem6
from ostraka.guardian.accounting.exact.label_releases import Change, LabelVotes, Release
from ostraka.guardian.accounting.numerics.arguments import Floats


def apart_rdp(
    votes: LabelVotes, release: Release, change: Change, orders: Floats, *, theorem: bool = False
) -> Floats:
    """Return the worst case (Q, R), or theorem6's direction and never above it where `theorem` is set."""
    rdp = np.zeros((len(votes.positives), len(orders)))
    if release.vote is not None:
        rdp += _votes(votes, release, release.vote, change, orders, theorem)
    if release.check is not None:
        rdp += _checks(votes, release, release.check, change, orders, theorem)
    return rdp


def _votes(
    votes: LabelVotes, release: Release, sigma: float, change: Change, orders: Floats, theorem: bool
) -> Floats:
    """Return the cost of the answered bits: positives and negatives both move, each with its own draw."""
    deviation = math.sqrt(2) * sigma
    each, together = _two_outcomes(votes, change, orders, 2 / deviation, release.lattice / deviation)
    total = votes.answered.sum(axis=1)[:, None] * each
    if theorem:
        log_q = log_q_argmax(_pairs(votes), sigma, release.lattice)
        costs = theorem6(log_q, sigma / change.most, orders)
        total = _summed(np.where(votes.answered.reshape(-1, 1), np.minimum(costs, each), 0.0), votes)
    return np.asarray(np.minimum(total, together), dtype=np.float64)


def _checks(
    votes: LabelVotes, release: Release, sigma: float, change: Change, orders: Floats, theorem: bool
) -> Floats:
    """Return the cost of the checks of all labels, whatever came of them."""
    each, together = _two_outcomes(votes, change, orders, 1 / sigma, release.lattice / sigma)
    total = np.broadcast_to(votes.positives.shape[1] * each, (len(votes.positives), len(orders)))
    if theorem:
        log_q = log_q_check(_pairs(votes), release.threshold, sigma, release.lattice)
        costs = theorem6(log_q, math.sqrt(2) * sigma / change.most, orders)
        total = _summed(np.minimum(costs, each), votes)
    return np.asarray(np.minimum(total, together), dtype=np.float64)


def _two_outcomes(
    votes: LabelVotes, change: Change, orders: Floats, per_vote: float, lattice: float
) -> tuple[Floats, Floats]:
    """Return the worst case (R,) of one label and of all of them, for noise of deviation 1/`per_vote`."""
    shift, squares = change.most * per_vote, change.budget * per_vote**2
    labels = votes.positives.shape[1]
    each = [two_outcomes_rdp(order, shift, lattice=lattice) for order in orders.tolist()]
    together = [clipped_labels_rdp(a, labels, shift, squares, lattice=lattice) for a in orders.tolist()]
    return np.array(each), np.array(together)


def _pairs(votes: LabelVotes) -> Floats:
    """Return positives and negatives of every label, as histograms (Q k, 2)."""
    return np.stack([votes.positives, votes.n - votes.positives], axis=-1).reshape(-1, 2)


def _summed(costs: Floats, votes: LabelVotes) -> Floats:
    """Return the sum over labels (Q, R) of costs (Q k, R)."""
    total: Floats = costs.reshape(*votes.positives.shape, -1).sum(axis=1)
    return total
