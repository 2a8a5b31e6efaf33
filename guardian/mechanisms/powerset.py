"""Powerset: the label set with the most noisy votes (000, appendix I.2)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from common.mechanism import Powerset
from common.sharing.label_sets import bits_of
from common.sharing.ring import Ring, RingArray
from guardian.mechanisms.answers import Answers
from guardian.mechanisms.check import passes
from guardian.mechanisms.sets import noisy_argmax_of_sets
from guardian.noise.source import NoiseSource


def powerset(
    sums: RingArray, mechanism: Powerset, noise: NoiseSource, ring: Ring, *, labels: int, voters: int
) -> Answers:
    """Answer every query of `sums`, ring values (Q, sets), with a set of `labels`; or those that pass.

    A check is on the largest count, one a query, and decides about the whole set.
    """
    if mechanism.check is None:
        answered = np.ones(len(sums), dtype=np.bool_)
    else:
        answered = passes(sums, mechanism.check.threshold, mechanism.check.sigma, noise, ring)
    winners = np.empty(len(sums), dtype=np.int64)
    for rows in _together(sums, voters):
        cells = drawn_cells(sums[rows], voters)
        counts = np.take_along_axis(sums[rows], cells, axis=1)
        winners[rows] = noisy_argmax_of_sets(cells, counts, sums.shape[1], mechanism.sigma, noise, ring)
    return Answers.where(answered[:, None], bits_of(winners, labels))


def drawn_cells(sums: RingArray, voters: int) -> NDArray[np.int64]:
    """Return the sets (Q, own) that get a draw of their own, ascending: all that have votes, then the first.

    Honest votes of n voters reach at most n sets, so each query draws for n sets and their number says
    nothing about the votes. Only sums that no votes make have more.
    """
    queries, width = sums.shape
    voted = [np.flatnonzero(row) for row in sums]
    own = max(min(voters, width), *(len(sets) for sets in voted), 0)
    first = np.arange(own)
    cells = np.empty((queries, own), dtype=np.int64)
    for row, sets in enumerate(voted):
        others = np.setdiff1d(first, sets, assume_unique=True)[: own - len(sets)]
        cells[row] = np.sort(np.concatenate([sets, others]))
    return cells


def _together(sums: RingArray, voters: int) -> Iterator[NDArray[np.intp]]:
    """Yield the queries that draw for n sets, then one by one those that draw for more.

    Otherwise one of these would make all of a batch draw for as many sets.
    """
    crowded = np.count_nonzero(sums, axis=1) > voters
    yield np.flatnonzero(~crowded)
    for row in np.flatnonzero(crowded):
        yield np.array([row])
