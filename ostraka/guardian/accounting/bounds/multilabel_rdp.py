"""The cost of releasing bits of many labels, of checking whether votes on each label agree, or of both."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from ostraka.common.privacy import ONE_VOTE, Influence
from ostraka.common.privacy.two_outcomes import clipped_labels_rdp, two_outcomes_rdp
from ostraka.guardian.accounting.bounds.confident_rdp import log_q_check
from ostraka.guardian.accounting.bounds.gnmax_rdp import log_q_argmax
from ostraka.guardian.accounting.bounds.theorem6 import theorem6
from ostraka.guardian.accounting.exact.divergence import BLOCK
from ostraka.guardian.accounting.exact.label_ballots import flip_rdp, knapsack_rdp
from ostraka.guardian.accounting.exact.label_releases import (
    Change,
    LabelVotes,
    Release,
    bit_error,
    label_votes,
    top,
)
from ostraka.guardian.accounting.numerics.arguments import (
    Bound,
    Floats,
    check_bound,
    check_lattice,
    check_orders,
    check_scalar,
)


def release_rdp(
    votes: LabelVotes, release: Release, change: Change, orders: ArrayLike, bound: Bound
) -> Floats:
    """Return the rdp (Q, R) of `release` for all labels of each query together.

    "exact" is valid in both directions, for one neighbour that moves checks and bits of all labels;
    "theorem6" in one direction, label by label. Neither exceeds "worst_case".
    """
    at = check_orders(orders)
    name = check_bound(bound)
    rdp = np.empty((len(votes.positives), len(at)))
    size = max(1, BLOCK // (votes.positives.shape[1] * len(at)))
    for start in range(0, len(rdp), size):
        rows = slice(start, start + size)
        rdp[rows] = _block_rdp(votes[rows], release, change, at, name)
    return rdp


def _block_rdp(votes: LabelVotes, release: Release, change: Change, orders: Floats, bound: Bound) -> Floats:
    if bound == "theorem6":
        return apart_rdp(votes, release, change, orders, theorem=True)
    worst = apart_rdp(votes, release, change, orders)
    if bound == "worst_case":
        return worst
    if change.tau is None:
        rdp = flip_rdp(votes, release, orders, change.influence)
    else:
        rdp = knapsack_rdp(votes, release, orders, change.most, change.budget)
    error = _error(votes, release, change.most).sum(axis=1)
    return np.asarray(np.minimum(worst, rdp + error[:, None] * (4 * orders / (orders - 1))))


def _error(votes: LabelVotes, release: Release, most: float) -> Floats:
    """Bound the error (Q, k) that the lattice and rounding cause in each label's log probabilities."""
    error = np.zeros_like(votes.positives)
    if release.vote is not None:
        deviation = math.sqrt(2) * release.vote
        reach = np.abs(release.vote_centre(votes, release.vote)) + 2 * most / deviation
        error += np.where(votes.answered, bit_error(release.lattice / deviation, reach), 0.0)
    if release.check is not None:
        centre = release.check_centre(top(votes.positives, votes.n), release.check)
        error += bit_error(release.lattice / release.check, np.abs(centre) + most / release.check)
    return error


def apart_rdp(
    votes: LabelVotes, release: Release, change: Change, orders: Floats, *, theorem: bool = False
) -> Floats:
    """Return the worst case (Q, R), or with `theorem` theorem6's direction, never above the worst case."""
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
        total = _sum_labels(np.where(votes.answered.reshape(-1, 1), np.minimum(costs, each), 0.0), votes)
    return np.asarray(np.minimum(total, together), dtype=np.float64)


def _checks(
    votes: LabelVotes, release: Release, sigma: float, change: Change, orders: Floats, theorem: bool
) -> Floats:
    """Return the cost of the checks of all labels, whatever their outcomes."""
    each, together = _two_outcomes(votes, change, orders, 1 / sigma, release.lattice / sigma)
    total = np.broadcast_to(votes.positives.shape[1] * each, (len(votes.positives), len(orders)))
    if theorem:
        log_q = log_q_check(_pairs(votes), release.threshold, sigma, release.lattice)
        costs = theorem6(log_q, math.sqrt(2) * sigma / change.most, orders)
        total = _sum_labels(np.minimum(costs, each), votes)
    return np.asarray(np.minimum(total, together), dtype=np.float64)


def _two_outcomes(
    votes: LabelVotes, change: Change, orders: Floats, per_vote: float, lattice: float
) -> tuple[Floats, Floats]:
    """Return the worst case (R,) of one label and of all of them, for noise of deviation 1/`per_vote`."""
    shift = change.most * per_vote
    squares = change.budget * per_vote**2
    labels = votes.positives.shape[1]
    each = [two_outcomes_rdp(order, shift, lattice=lattice) for order in orders.tolist()]
    together = [clipped_labels_rdp(a, labels, shift, squares, lattice=lattice) for a in orders.tolist()]
    return np.array(each), np.array(together)


def _pairs(votes: LabelVotes) -> Floats:
    """Return positives and negatives of every label, as histograms (Q k, 2)."""
    return np.stack([votes.positives, votes.n - votes.positives], axis=-1).reshape(-1, 2)


def _sum_labels(costs: Floats, votes: LabelVotes) -> Floats:
    """Return the sum over labels (Q, R) of costs (Q k, R)."""
    total: Floats = costs.reshape(*votes.positives.shape, -1).sum(axis=1)
    return total


def multilabel_check_rdp(
    positives: ArrayLike,
    n: ArrayLike,
    threshold: float,
    sigma: float,
    orders: ArrayLike,
    *,
    bound: Bound = "exact",
    tau: float | None = None,
    influence: Influence = ONE_VOTE,
    lattice: float = 0.0,
) -> Floats:
    """Return the rdp (Q, R) of the checks of all k labels of each query, whatever their outcomes.

    The worst case is k times the costliest answer with two outcomes, because one vote moves one draw by at
    most one. With `tau` it is at most orders (tau sensitivity/sigma)^2. Algorithm 2 of Dziedzic et al. 2023,
    read with Confident's cost of one check, charges too little (docs/errata.md). Other arguments and errors
    are the same as in `binary_rdp`.
    """
    change = Change(influence, tau)
    votes = label_votes(positives, n, change)
    release = Release(
        vote=None,
        check=check_scalar("sigma", sigma),
        threshold=check_scalar("threshold", threshold, positive=False),
        lattice=check_lattice(lattice),
    )
    return release_rdp(votes, release, change, orders, bound)


def binary_rdp(
    positives: ArrayLike,
    n: ArrayLike,
    sigma: float,
    orders: ArrayLike,
    answered: ArrayLike | None = None,
    *,
    bound: Bound = "exact",
    tau: float | None = None,
    influence: Influence = ONE_VOTE,
    lattice: float = 0.0,
) -> Floats:
    """Return the rdp (Q, R) of releasing the bits of the k labels of each query, never above the worst case.

    Own derivation, proved in docs/accounting-multilabel.md; Definitions 4 and 7 of Dziedzic et al. 2023 are
    wrong (docs/errata.md). Orders, influence, lattice and errors are the same as in `gnmax_rdp`.

    Args:
        positives: votes for each label (Q, k), whole unless clipped or weighted.
        n: votes on each label, a number or (Q, k).
        sigma: standard deviation of the noise on positives and on negatives, in votes.
        orders: as for `gnmax_rdp`.
        answered: which labels were answered (Q, k), from public values; None means all.
        bound: "worst_case", k times the costliest answer with two outcomes (`two_outcomes_rdp`), and with
            `tau` at most 2 orders (tau sensitivity/sigma)^2; "theorem6", the papers' bound on each label,
            which is valid for D(M(D) || M(D')) only; or "exact", both directions of the divergence itself,
            and with `tau` a bound on what one ballot can flip over all labels at once.
        tau: largest L2 norm of one teacher's ballot, at most sqrt(k); None if ballots are not clipped.
        influence: as for `gnmax_rdp`.
        lattice: as for `gnmax_rdp`.
    """
    change = Change(influence, tau)
    votes = label_votes(positives, n, change, answered)
    release = Release(vote=check_scalar("sigma", sigma), lattice=check_lattice(lattice))
    return release_rdp(votes, release, change, orders, bound)


def bit_above_rdp(
    positives: ArrayLike,
    n: ArrayLike,
    lead: ArrayLike,
    sigma: float,
    orders: ArrayLike,
    *,
    bound: Bound = "exact",
    influence: Influence = ONE_VOTE,
    lattice: float = 0.0,
) -> Floats:
    """Return the rdp (Q, R) of whether noisy positives lead noisy negatives by `lead` votes (Q,), or more.

    A public lead shifts the number that `binary_rdp` decides by, and the proof of `binary_rdp` is valid for
    every number (docs/accounting-multilabel.md). Other arguments and errors are the same, for one label (Q,).
    """
    change = Change(influence, None)
    votes = label_votes(np.reshape(positives, (-1, 1)), np.reshape(n, (-1, 1)), change)
    shifted = replace(votes, positives=votes.positives - np.reshape(lead, (-1, 1)) / 2)
    release = Release(vote=check_scalar("sigma", sigma), lattice=check_lattice(lattice))
    return release_rdp(shifted, release, change, orders, bound)


def binary_and_check_rdp(
    positives: ArrayLike,
    n: ArrayLike,
    threshold: float,
    sigma1: float,
    sigma2: float,
    orders: ArrayLike,
    answered: ArrayLike,
    *,
    bound: Bound = "exact",
    tau: float | None = None,
    influence: Influence = ONE_VOTE,
    lattice: float = 0.0,
) -> Floats:
    """Return the rdp (Q, R) of each label's check, plus its bit where the label was `answered` (Q, k).

    Arguments and errors are the same as in `multilabel_check_rdp` (sigma1) and `binary_rdp` (sigma2). Under
    "exact" a label's check and bit are charged for the same neighbour and direction, which is less than the
    sum of two largest divergences.
    """
    change = Change(influence, tau)
    votes = label_votes(positives, n, change, answered)
    release = Release(
        vote=check_scalar("sigma2", sigma2),
        check=check_scalar("sigma1", sigma1),
        threshold=check_scalar("threshold", threshold, positive=False),
        lattice=check_lattice(lattice),
    )
    return release_rdp(votes, release, change, orders, bound)
