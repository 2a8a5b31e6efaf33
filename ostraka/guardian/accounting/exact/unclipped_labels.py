"""`exact` for multi-label ballots that are not clipped: every label may move by some of a unit's votes.

A unit's ballots may change at all labels at once, each independently of the others, so the largest
divergence is the sum over labels of each label's worst move, for one direction of all labels.
"""

from __future__ import annotations

import math

import numpy as np

from ostraka.common.privacy import Influence
from ostraka.guardian.accounting.exact.label_releases import LabelVotes, Release, top
from ostraka.guardian.accounting.numerics.arguments import Floats
from ostraka.guardian.accounting.numerics.bernoulli import bit_rdp


def flipped_rdp(votes: LabelVotes, release: Release, orders: Floats, influence: Influence) -> Floats:
    """Return the rdp (Q, R) where so many votes may change at every label.

    Of a bit alone all of them cost most; a check near an even split may cost most where fewer change.
    """
    labels, index = votes.distinct()
    costs = np.zeros((2, len(orders), len(labels.positives)))
    fewest = influence.votes if release.check is None else 1
    for votes_moved in range(fewest, influence.votes + 1):
        for by in (-votes_moved * influence.weight, votes_moved * influence.weight):
            costs = np.maximum(costs, _moved(labels, release, orders, by))
    total: Floats = costs[:, :, index].sum(axis=-1).max(axis=0).T
    return total


def _moved(labels: LabelVotes, release: Release, orders: Floats, by: float) -> Floats:
    """Return the rdp (2, R, C) of each label when its positives change `by` votes, whatever they show."""
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
