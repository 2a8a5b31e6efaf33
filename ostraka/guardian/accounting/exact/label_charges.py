"""Charges by released label: the cost of each outcome of a query, the failed check and every label.

Charges X(o), fixed before the outcome is known, satisfy the condition of a filter if for every neighbour, in
both directions, sum_o P(o)^a R(o)^(1-a) e^(-(a-1) X(o)) is at most 1 (docs/accounting.md). These are linear
limits on w(o) = e^(-(a-1) X(o)). The least expected charge is the maximum of the concave sum_o P(o) log w(o).
Rare outcomes, labels with hardly any vote, then cost much, and likely outcomes cost little.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ostraka.common.privacy import Influence
from ostraka.guardian.accounting.exact.noisy_outcomes import Part, argmax_rdp, error_rdp, whole_move_rdp
from ostraka.guardian.accounting.exact.outcome_charges import Charges
from ostraka.guardian.accounting.numerics.argmax_outcomes import Shifts
from ostraka.guardian.accounting.numerics.arguments import Floats
from ostraka.guardian.accounting.numerics.interior_point import largest_log_sum

_NEGLIGIBLE = 1e-9
"""Queries whose expected charge times a-1 is below this keep their present charges."""
_MAX_EXPONENT = 300.0
"""Charges times a-1 above this are not searched: exponentials would leave the range of numbers."""


@dataclass(frozen=True)
class LabelCharges:
    """The cost of queries by outcome: `failed` (Q, R) if unanswered, `labels` (Q, R, k) if answered."""

    failed: Floats
    labels: Floats

    @classmethod
    def alike(cls, charges: Charges, labels: int) -> LabelCharges:
        """Return charges that are the same for every label."""
        return cls(charges.failed.copy(), np.repeat(charges.passed[:, :, None], labels, axis=2))

    def put(self, rows: NDArray[np.intp], charges: LabelCharges) -> None:
        """Replace the charges of some queries."""
        self.failed[rows] = charges.failed
        self.labels[rows] = charges.labels

    def of(self, answered: NDArray[np.bool_], labels: NDArray[np.int64]) -> Floats:
        """Return the charges (Q, R) of the releases; labels (Q,) of unanswered queries are ignored."""
        label = np.where(answered, labels, 0)
        chosen = np.take_along_axis(self.labels, label[:, None, None], axis=2)[:, :, 0]
        return np.where(answered[:, None], chosen, self.failed)

    def largest(self) -> Floats:
        """Return the charges (Q, R) of each query's costliest outcome."""
        return np.asarray(np.maximum(self.failed, self.labels.max(axis=2)), dtype=np.float64)


def argmax_label_charges(
    part: Callable[[float], Part],
    moves: NDArray[np.bool_],
    orders: Floats,
    influence: Influence,
    most: Floats,
) -> LabelCharges:
    """Return the cost of answers of an argmax by label, each at most `most` (Q, R).

    `part` returns the outcomes after so many votes moved from a to b, and `moves` (Q, a, b) are the pairs to
    try. A unit with several votes is charged the same for every label.
    """
    classes = moves.shape[1]
    if influence.votes != 1:
        same = np.minimum(argmax_rdp(part, moves, orders, influence), most)
        return LabelCharges.alike(Charges(same, same), classes)
    whole = part(influence.weight)
    same = np.minimum(whole_move_rdp(whole, moves, orders), most)
    error = error_rdp(whole.error, orders)
    charges = LabelCharges.alike(Charges(same, same), classes)
    for i, order in enumerate(orders.tolist()):
        known = np.isfinite(error[:, i])
        hidden = np.nan_to_num(error[:, i], posinf=0.0)
        spent, room = (np.repeat((each[:, i] - hidden)[:, None], classes, axis=1) for each in (same, most))
        found = cheaper_by_label(whole.shifts, moves, order, spent, room) + hidden[:, None]
        charges.labels[:, i] = np.where(known[:, None], found, charges.labels[:, i])
    return charges


def cheaper_by_label(
    outcomes: Shifts, moves: NDArray[np.bool_], order: float, charges: Floats, most: Floats
) -> Floats:
    """Return valid charges (Q, O) by outcome whose expectation is no more than that of `charges` (Q, O).

    Args:
        outcomes: log probabilities (Q, O), and how they change, (Q, a, b, O).
        moves: neighbours to guard against, (Q, a, b).
        order: Renyi order a.
        charges: charges that satisfy the condition, at most `most`.
        most: upper bound on every charge, (Q, O).
    """
    rate = order - 1
    expected = rate * (np.exp(outcomes.log_p) * charges).sum(axis=1)
    wanted = (
        (expected > _NEGLIGIBLE)
        & (rate * most.max(axis=1) < _MAX_EXPONENT)
        & np.isfinite(charges).all(axis=1)
    )
    found = charges.copy()
    rows = np.flatnonzero(wanted)
    if rows.size:
        limits = _limits(outcomes, moves, order, rows, rate * charges[rows])
        high = np.exp(rate * charges[rows])
        low = np.minimum(np.exp(rate * (charges[rows] - most[rows])), 1.0)
        w = largest_log_sum(np.exp(outcomes.log_p[rows]), limits, low, high)
        found[rows] = np.clip(charges[rows] - np.log(w) / rate, 0.0, most[rows])
    return found


def _limits(
    outcomes: Shifts, moves: NDArray[np.bool_], order: float, rows: NDArray[np.intp], paid: Floats
) -> Floats:
    """Return what each outcome adds to each neighbour's moment after these charges, (Q, 2 N, O)."""
    query, a, b = np.nonzero(moves[rows])
    count = np.bincount(query, minlength=len(rows))
    slot = np.arange(len(query)) - np.repeat(count.cumsum() - count, count)
    size = int(count.max(initial=1))
    limits = np.zeros((len(rows), 2 * size, outcomes.log_p.shape[1]))
    change = outcomes.change[rows[query], a, b]
    base = (outcomes.log_p[rows] - paid)[query]
    limits[query, slot] = np.exp(base + (1 - order) * change)
    limits[query, size + slot] = np.exp(base + order * change)
    return limits
