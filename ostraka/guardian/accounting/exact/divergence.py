"""The divergence itself: the largest over all histograms that a unit's votes lead to, in both directions.

A vote may leave any class, even one that shows no vote, because a querying party can have shifted the sums.
One vote of any weight moves as a whole; `ostraka.guardian.accounting.exact.noisy_outcomes` says how several
votes move.

Unlike theorem6 it bounds D(M(D) || M(D')) and D(M(D') || M(D)) for every neighbour D' of the cast votes D.
docs/accounting.md derives it. If a `lattice` is given, the errors of numerics and lattice are added, so the
result is an upper bound for the actual release; it is infinite where nothing is proved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ostraka.common.privacy import Influence
from ostraka.guardian.accounting.exact.label_charges import (
    LabelCharges,
    argmax_label_charges,
    cheaper_by_label,
)
from ostraka.guardian.accounting.exact.noisy_outcomes import (
    NoisyCheck,
    Part,
    argmax_part,
    argmax_rdp,
    check_rdp,
    error_rdp,
)
from ostraka.guardian.accounting.exact.outcome_charges import Charges, outcome_charges
from ostraka.guardian.accounting.numerics.argmax_outcomes import FARTHEST, Shifts, grid
from ostraka.guardian.accounting.numerics.arguments import Floats


def charges_by_check(
    check: NoisyCheck,
    argmax: Callable[[float], Part],
    moves: NDArray[np.bool_],
    orders: Floats,
    influence: Influence,
    most: Charges,
) -> Charges:
    """Return the cost of queries by their check's outcome, at most `most`, the charges of the worst case.

    `argmax` returns the argmax's outcomes after so many votes moved from a to b, and `moves` (Q, a, b) are
    the pairs to try. Where nothing is proved, the charges are `most`.
    """
    if influence.votes == 1:
        one = check.move_vote(influence.weight)
        other = argmax(influence.weight)
        error = error_rdp(one.error + other.error, orders)
        pair, fits = _pair(one, other, moves, orders, error, most)
        return _choose_pair(fits, _more(pair, error), most)
    failed = check_rdp(check, moves, orders, influence)
    passed = failed + argmax_rdp(argmax, moves, orders, influence)
    return _choose_pair((failed <= most.failed) & (passed <= most.passed), Charges(failed, passed), most)


def charges_by_label(
    check: NoisyCheck,
    argmax: Callable[[float], Part],
    moves: NDArray[np.bool_],
    orders: Floats,
    influence: Influence,
    most: Charges,
) -> LabelCharges:
    """Return the cost of queries by label and for a failed check, each at most `most.passed`.

    Arguments are the same as in `charges_by_check`. If a unit has several votes, the check's outcome sets the
    charge.
    """
    classes = moves.shape[1]
    if influence.votes != 1:
        return LabelCharges.alike(charges_by_check(check, argmax, moves, orders, influence, most), classes)
    parts = check.move_vote(influence.weight), argmax(influence.weight)
    error = error_rdp(parts[0].error + parts[1].error, orders)
    pair, fits = _pair(*parts, moves, orders, error, most)
    outcomes = _join_outcomes(parts[0].shifts, parts[1].shifts)
    charges = LabelCharges.alike(_choose_pair(fits, _more(pair, error), most), classes)
    for i, order in enumerate(orders.tolist()):
        start = np.column_stack([pair.failed[:, i], np.repeat(pair.passed[:, i, None], classes, axis=1)])
        room = np.repeat((most.passed - error)[:, i, None], classes + 1, axis=1)
        start[~fits[:, i]] = np.inf
        found = cheaper_by_label(outcomes, moves, order, start, room) + error[:, i, None]
        charges.failed[:, i] = np.where(fits[:, i], found[:, 0], charges.failed[:, i])
        charges.labels[:, i] = np.where(fits[:, i, None], found[:, 1:], charges.labels[:, i])
    return charges


def _pair(
    check: Part, argmax: Part, moves: NDArray[np.bool_], orders: Floats, error: Floats, most: Charges
) -> tuple[Charges, NDArray[np.bool_]]:
    """Return charges by the check's outcome, without the `error` (Q, R), and where both fit with it."""
    room = Charges(most.failed - error, most.passed - error)
    found = outcome_charges(check.shifts, argmax.shifts, moves, orders, room)
    return found, (found.failed <= room.failed) & (found.passed <= room.passed)


def _more(charges: Charges, error: Floats) -> Charges:
    return Charges(charges.failed + error, charges.passed + error)


def _join_outcomes(check: Shifts, argmax: Shifts) -> Shifts:
    """Return the outcomes failed, and passed with each label."""
    log_p = np.concatenate([check.log_p[:, 1:], check.log_p[:, :1] + argmax.log_p], axis=1)
    change = [check.change[..., 1:], check.change[..., :1] + argmax.change]
    return Shifts(log_p, np.concatenate(change, axis=-1))


def _choose_pair(fits: NDArray[np.bool_], charges: Charges, most: Charges) -> Charges:
    """Return both charges where they fit, else both of `most`: a mixture of two pairs is not valid."""
    return Charges(np.where(fits, charges.failed, most.failed), np.where(fits, charges.passed, most.passed))


MAX_CLASSES = 128
"""More classes are charged the worst case, because neighbours times outcomes grow with their cube."""

BLOCK = 2**18
"""Numbers of one array that are worked on together, 2 MB; memory does not grow with the queries."""


def gnmax_exact(votes: Floats, sigma: float, orders: Floats, influence: Influence, lattice: float) -> Floats:
    """Return the rdp (Q, R) of GNMax."""
    rdp = np.full((len(votes), len(orders)), np.inf)
    for rows in blocks(votes, sigma, influence.sensitivity):
        part = partial(argmax_part, votes[rows], sigma, lattice=lattice)
        rdp[rows] = argmax_rdp(part, neighbours(votes[rows]), orders, influence)
    return rdp


def threshold_exact(
    votes: Floats, threshold: float, sigma: float, orders: Floats, influence: Influence, lattice: float
) -> Floats:
    """Return the rdp (Q, R) of the check alone."""
    rdp = np.full((len(votes), len(orders)), np.inf)
    for rows in blocks(votes, sigma, influence.sensitivity):
        check = NoisyCheck(votes[rows], threshold, sigma, lattice)
        rdp[rows] = check_rdp(check, neighbours(votes[rows]), orders, influence)
    return rdp


def argmax_and_check_exact(
    votes: Floats,
    check: NoisyCheck,
    sigma: float,
    orders: Floats,
    influence: Influence,
    most: Charges,
    moves: Callable[[Floats], NDArray[np.bool_]],
) -> Charges:
    """Return charges for a check and GNMax by the check's outcome.

    One neighbour of `moves` changes check and argmax alike. `most` is valid for every histogram: no charge
    exceeds it, and it is charged where nothing else is proved.
    """
    charges = Charges(most.failed.copy(), most.passed.copy())
    for rows in blocks(votes, sigma, influence.sensitivity):
        argmax = partial(argmax_part, votes[rows], sigma, lattice=check.lattice)
        room = most.of(rows)
        tried = moves(votes[rows])
        charges.put(rows, charges_by_check(check.of(rows), argmax, tried, orders, influence, room))
    return charges


def labels_and_check_exact(
    votes: Floats,
    check: NoisyCheck,
    sigma: float,
    orders: Floats,
    influence: Influence,
    most: Charges,
) -> LabelCharges:
    """Return charges for a check and GNMax by label; arguments as in `argmax_and_check_exact`.

    Every move counts, also between classes with equal counts, because their labels may have different
    charges.
    """
    charges = LabelCharges.alike(most, votes.shape[1])
    for rows in blocks(votes, sigma, influence.sensitivity):
        argmax = partial(argmax_part, votes[rows], sigma, lattice=check.lattice)
        room = most.of(rows)
        tried = every_move(votes[rows])
        charges.put(rows, charges_by_label(check.of(rows), argmax, tried, orders, influence, room))
    return charges


def gnmax_labels_exact(
    votes: Floats, sigma: float, orders: Floats, influence: Influence, lattice: float, most: Floats
) -> LabelCharges:
    """Return charges of GNMax by label, at most `most` (Q, R), which is valid for every histogram."""
    charges = LabelCharges.alike(Charges(most, most), votes.shape[1])
    for rows in blocks(votes, sigma, influence.sensitivity):
        part = partial(argmax_part, votes[rows], sigma, lattice=lattice)
        charges.put(rows, argmax_label_charges(part, every_move(votes[rows]), orders, influence, most[rows]))
    return charges


def every_move(votes: Floats) -> NDArray[np.bool_]:
    """Return all moves (Q, a, b) of a vote, also between classes with equal counts."""
    queries, classes = votes.shape
    return np.tile(~np.eye(classes, dtype=np.bool_), (queries, 1, 1))


def neighbours(votes: Floats) -> NDArray[np.bool_]:
    """Return which moves (Q, a, b) to try: the first one for every two counts."""
    a = votes[:, :, None]
    b = votes[:, None, :]
    same = a == b
    earlier = np.tril(same, -1).sum(axis=2)
    first = (earlier[:, :, None] == 0) & np.where(same, earlier[:, None, :] == 1, earlier[:, None, :] == 0)
    return np.asarray(first, dtype=np.bool_)


def blocks(votes: Floats, sigma: float, moved: float) -> Iterator[NDArray[np.intp]]:
    """Yield rows with a similar spread of counts that fit together into a fixed amount of memory."""
    classes = votes.shape[1]
    if classes > MAX_CLASSES:
        return
    spread = np.ptp(votes, axis=1) / sigma
    order = np.argsort(spread, kind="stable")[: np.count_nonzero(spread <= FARTHEST)]
    while order.size:
        size = max(1, BLOCK // (classes * max(classes**2, 100)))
        widest = grid(float(spread[order[:size]].max()), classes, moved / sigma)
        size = max(1, min(size, BLOCK // (classes * len(widest))))
        yield order[:size]
        order = order[size:]
