"""The cost of releasing bits of many labels, under each bound."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from ostraka.guardian.accounting.bounds.per_label import apart_rdp
from ostraka.guardian.accounting.exact.clipped_labels import clipped_rdp
from ostraka.guardian.accounting.exact.label_releases import Change, LabelVotes, Release, top
from ostraka.guardian.accounting.exact.unclipped_labels import flipped_rdp
from ostraka.guardian.accounting.numerics.arguments import Bound, Floats, check_bound, check_orders
from ostraka.guardian.accounting.numerics.bernoulli import bit_error

_BLOCK = 2**18
"""Numbers of one array that are worked on together, so that memory does not grow with the queries."""


def released_rdp(
    votes: LabelVotes, release: Release, change: Change, orders: ArrayLike, bound: Bound
) -> Floats:
    """Return the rdp (Q, R) of `release` for all labels of each query together.

    "exact" holds in both directions, for one neighbour that moves checks and bits of all labels; "theorem6"
    in one direction, label by label. Neither exceeds "worst_case".
    """
    at, name = check_orders(orders), check_bound(bound)
    rdp = np.empty((len(votes.positives), len(at)))
    size = max(1, _BLOCK // (votes.positives.shape[1] * len(at)))
    for start in range(0, len(rdp), size):
        rows = slice(start, start + size)
        rdp[rows] = _bounded(votes[rows], release, change, at, name)
    return rdp


def _bounded(votes: LabelVotes, release: Release, change: Change, orders: Floats, bound: Bound) -> Floats:
    if bound == "theorem6":
        return apart_rdp(votes, release, change, orders, theorem=True)
    worst = apart_rdp(votes, release, change, orders)
    if bound == "worst_case":
        return worst
    if change.tau is None:
        rdp = flipped_rdp(votes, release, orders, change.influence)
    else:
        rdp = clipped_rdp(votes, release, orders, change.most, change.budget)
    error = _error(votes, release, change.most).sum(axis=1)
    return np.asarray(np.minimum(worst, rdp + error[:, None] * (4 * orders / (orders - 1))))


def _error(votes: LabelVotes, release: Release, most: float) -> Floats:
    """Bound the error (Q, k) of each label's log probabilities that the lattice and rounding make."""
    error = np.zeros_like(votes.positives)
    if release.vote is not None:
        deviation = math.sqrt(2) * release.vote
        reach = np.abs(release.vote_centre(votes, release.vote)) + 2 * most / deviation
        error += np.where(votes.answered, bit_error(release.lattice / deviation, reach), 0.0)
    if release.check is not None:
        centre = release.check_centre(top(votes.positives, votes.n), release.check)
        error += bit_error(release.lattice / release.check, np.abs(centre) + most / release.check)
    return error
