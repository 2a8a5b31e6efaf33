"""Totals of released batches that can be published with noise, by smooth sensitivity."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ostraka.common.sharing.fixed_point import FRACTION_BITS
from ostraka.guardian.accounting.bounds.smooth_sensitivity import certified
from ostraka.guardian.accounting.bounds.vote_terms import Moves
from ostraka.guardian.accounting.smooth_noise import DISTANCES, VoteTotal
from ostraka.guardian.accounting.tally import Tally
from ostraka.guardian.mechanisms.rule import DataDependentRule, rule_of

_NOWHERE = -(2.0**60)
"""A count that no ballots add up to: a query that has it costs the worst case."""


def vote_total(tally: Tally, order: float, sensitivity: float, moved: float, kind: bytes) -> VoteTotal:
    """Return what a batch costs a unit under theorem6, and what one record changes of it, by distance.

    The total is a function of the sums whatever they are, honest or shifted, and the changes hold for all of
    them (docs/accounting-smooth.md). A mechanism without a proof, or parameters without a certificate that
    the changes are smooth, cost their worst case and change nothing.

    Args:
        tally: the queries on which the unit votes.
        order: Renyi order of its budget.
        sensitivity: what it can change in one query, in votes.
        moved: what any unit of the batch can, at least `sensitivity`.
        kind: as `VoteTotal.kind`.
    """
    mechanism, rule = tally.mechanism, rule_of(tally.mechanism)
    worst = mechanism.worst_case(order, sensitivity, classes=tally.classes)
    moves = Moves(order, sensitivity, moved, float(tally.total.max(initial=0.0)), 2.0**-FRACTION_BITS)
    if isinstance(rule, DataDependentRule):
        with np.errstate(all="ignore"):
            terms = rule.vote_terms(mechanism, _shared_out(tally), moves, worst)
            if terms and all(certified(term, DISTANCES) for term in terms):
                return VoteTotal.of(kind, order, terms)
    return VoteTotal.fixed(order, worst.amount(tally.answered))


def _shared_out(tally: Tally) -> Tally:
    """Return the tally with counts nowhere in queries whose sums are not those of all votes.

    No neighbour changes whether they are: a moved vote leaves the sum as it is.
    """
    fits = tally.votes.sum(axis=1) == tally.totals()[:, 0]
    return replace(tally, votes=np.where(fits[:, None], tally.votes, _NOWHERE))
