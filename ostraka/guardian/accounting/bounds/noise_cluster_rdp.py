"""The cost of NoiseCluster: argmax_j count_cj + N(0, sigma^2) for each cluster c.

Tang et al. 2022, section 4.1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ostraka.common.privacy import ONE_VOTE, Influence, InputError
from ostraka.guardian.accounting.bounds.gnmax_rdp import gnmax_rdp, log_q_argmax
from ostraka.guardian.accounting.bounds.theorem6 import theorem6
from ostraka.guardian.accounting.exact.divergence import BLOCK, MAX_CLASSES
from ostraka.guardian.accounting.exact.noisy_outcomes import error_rdp
from ostraka.guardian.accounting.exact.tied_classes import TiedClasses, draws_error
from ostraka.guardian.accounting.numerics.argmax_outcomes import FARTHEST, grid, typical
from ostraka.guardian.accounting.numerics.arguments import (
    Bound,
    Floats,
    check_bound,
    check_lattice,
    check_matrix,
    check_orders,
    check_scalar,
)
from ostraka.guardian.accounting.numerics.moments import log_moments
from ostraka.guardian.accounting.numerics.summation import summation

Adjacency = Literal["record", "label"]


def noise_cluster_rdp(
    counts: ArrayLike,
    sigma: float,
    orders: ArrayLike,
    *,
    bound: Bound = "exact",
    adjacency: Adjacency = "record",
    influence: Influence = ONE_VOTE,
    lattice: float = 0.0,
) -> Floats:
    """Return the rdp (R,) of labelling every cluster: the cost of a whole batch, not of one query.

    A record lies in one cell of `counts` (clusters, k), so over all clusters it moves at most two counts by
    one. Under adjacency "record" a neighbour's record may lie in another cluster; under "label" it stays in
    its cluster. `bound` is as for `gnmax_rdp`, over all neighbours (own derivation,
    docs/accounting-mechanisms.md). Several records of one unit are charged the worst case, and so is "exact"
    for more than 128 classes. Other arguments and errors are the same as in `gnmax_rdp`.
    """
    records = check_matrix("counts", counts, least=2)
    at = check_orders(orders)
    scale = check_scalar("sigma", sigma) / influence.sensitivity
    if adjacency not in ("record", "label"):
        raise InputError("adjacency", f"must be record or label, is {adjacency}")
    worst = at / scale**2
    step = check_lattice(lattice)
    if check_bound(bound) == "worst_case" or influence.votes > 1:
        return worst
    by_cluster = gnmax_rdp(records, sigma, at, bound=bound, influence=influence, lattice=step)
    total = by_cluster.max(axis=0, initial=0.0)
    if adjacency == "record" and len(records) > 1:
        if bound == "theorem6":
            one_count = theorem6(log_q_argmax(records, sigma, step), math.sqrt(2) * scale, at)
            across = _two_clusters(one_count, one_count)
        else:
            across = _across(records, sigma, at, influence.weight, step)
        total = np.maximum(total, across)
    return np.asarray(np.minimum(worst, total))


def _across(counts: Floats, sigma: float, orders: Floats, moved: float, lattice: float) -> Floats:
    """Return the largest rdp (R,) over neighbours whose record moves from one cluster to another."""
    widest = float(np.ptp(counts, axis=1).max()) / sigma
    if counts.shape[1] > MAX_CLASSES or widest > FARTHEST:
        return np.full(len(orders), np.inf)
    shape = (2, len(counts), len(orders))
    fewer = np.empty(shape)
    more = np.empty(shape)
    for rows in _blocks(counts, sigma, moved):
        fewer[:, rows], more[:, rows] = _one_count(counts[rows], sigma, orders, moved, lattice)
    return np.maximum(_two_clusters(fewer[0], more[0]), _two_clusters(fewer[1], more[1]))


def _one_count(
    counts: Floats, sigma: float, orders: Floats, moved: float, lattice: float
) -> tuple[Floats, Floats]:
    """Return the largest rdp (2, C, R) where a cluster lost a record, and where it gained a record.

    D(P || R) comes first, then D(R || P); P is the release of these counts.
    """
    top = counts.max(axis=1)
    gaps = (top[:, None] - counts) / sigma
    shift = moved / sigma
    spread = float(gaps.max())
    classes = counts.shape[1]
    how = summation(spread + typical(classes), shift)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        outcomes = TiedClasses(gaps, np.ones_like(gaps), shift, grid(spread, classes, shift), how)
        lowered = outcomes.lower_count()
        raised = outcomes.raise_count()
    reach = gaps.max(axis=1) + 2 * shift + typical(classes)
    error = error_rdp(draws_error(lattice / sigma, reach), orders)
    fewer = _divergences(outcomes.log_p, lowered, orders) + error[:, None]
    more = _divergences(outcomes.log_p, raised, orders) + error[:, None]
    return fewer.max(axis=2), more.max(axis=2)


def _divergences(log_p: Floats, change: Floats, orders: Floats) -> Floats:
    """Return D(P || R) and D(R || P) (2, C, i, R) for log R/P (C, i, j); infinite where not known."""
    clusters, moves, classes = change.shape
    mine = np.repeat(log_p, moves, axis=0).T
    theirs = change.reshape(-1, classes).T
    both = np.stack([log_moments(mine, theirs, 1 - orders), log_moments(mine, theirs, orders)])
    rdp = (both / (orders - 1)[:, None]).swapaxes(1, 2)
    return np.nan_to_num(rdp.reshape(2, clusters, moves, len(orders)), nan=np.inf)


def _two_clusters(fewer: Floats, more: Floats) -> Floats:
    """Return the largest sum (R,) of `fewer` (C, R) of one cluster and `more` of another."""
    first = more.argmax(axis=0)
    others = more.copy()
    np.put_along_axis(others, first[None], -np.inf, axis=0)
    best = more.max(axis=0)
    second = others.max(axis=0)
    there = np.where(np.arange(len(more))[:, None] == first, second, best)
    return np.asarray((fewer + there).max(axis=0))


def _blocks(counts: Floats, sigma: float, moved: float) -> Iterator[NDArray[np.intp]]:
    """Yield rows with a similar spread of counts that fit together into a fixed amount of memory."""
    classes = counts.shape[1]
    order = np.argsort(np.ptp(counts, axis=1), kind="stable")
    while order.size:
        size = max(1, BLOCK // (classes * max(classes, 100)))
        widest = float(np.ptp(counts[order[:size]], axis=1).max()) / sigma
        size = max(1, min(size, BLOCK // (classes * len(grid(widest, classes, moved / sigma)))))
        yield order[:size]
        order = order[size:]
