"""The charge of a released batch to a unit, and the batch's total for a publication with noise."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ostraka.common.mechanism import BOUND
from ostraka.common.privacy import ONE_VOTE, Influence
from ostraka.common.privacy.filters import GAUSSIAN
from ostraka.common.sharing import FRACTION_BITS
from ostraka.common.sharing.ballots import LabelCounts
from ostraka.guardian.accounting.bounds.smooth_sensitivity import is_certified
from ostraka.guardian.accounting.bounds.vote_terms import NOWHERE, Moves
from ostraka.guardian.accounting.numerics.arguments import Floats, check_bound
from ostraka.guardian.accounting.smooth_noise import DISTANCES, VoteTotal
from ostraka.guardian.accounting.tally import Tally
from ostraka.guardian.mechanisms.rule import ChargeTerms, DataDependentRule, rule_of


def charge(
    tally: Tally, order: float, bound: BOUND, influence: Influence = ONE_VOTE, *, lattice: float
) -> float:
    """Return the rdp at `order` that one released batch costs a unit; never above its reservation.

    Under a Gaussian filter everything costs the worst case, the only charge that is proved to add up. A query
    is also charged the worst case if no ballots of these teachers add up to its sums (an offset or random
    sum), because the other bounds assume such ballots; if `exact` would take too long; or if its cost is not
    a number. No exception or warning reveals anything about the votes.

    Args:
        tally: what was released.
        order: Renyi order of the unit's filter, or `GAUSSIAN`.
        bound: how votes are charged. "worst_case" does not look at them.
        influence: what the unit can change in one query.
        lattice: step of the noise in votes (`ostraka.guardian.noise.LATTICE`).

    Raises:
        InputError: if an argument other than the votes is malformed.
    """
    return math.fsum(charges(tally, order, bound, influence, lattice=lattice).tolist())


def largest_charge(
    tally: Tally, order: float, bound: BOUND, influence: Influence = ONE_VOTE, *, lattice: float
) -> float:
    """Return the largest `charge` of these votes over all possible answers.

    A filter that releases a batch only if this amount fits keeps its guarantee (docs/accounting.md).
    """
    return math.fsum(largest_charges(tally, order, bound, influence, lattice=lattice).tolist())


def charges(
    tally: Tally, order: float, bound: BOUND, influence: Influence = ONE_VOTE, *, lattice: float
) -> Floats:
    """Return what each query adds to `charge` (Q,); a batch of records that vote has one cost (1,).

    A query's cost does not depend on the other queries in the tally.
    """
    terms = ChargeTerms(bound=check_bound(bound), influence=influence, lattice=lattice)
    return _charges(tally, order, terms)


def largest_charges(
    tally: Tally, order: float, bound: BOUND, influence: Influence = ONE_VOTE, *, lattice: float
) -> Floats:
    """Return what each query adds to `largest_charge`, as `charges` does."""
    terms = ChargeTerms(bound=check_bound(bound), influence=influence, lattice=lattice)
    given = replace(tally, answered=np.ones_like(tally.answered))
    return _charges(given, order, terms, largest=True)


def affordable(tally: Tally, influence: Influence = ONE_VOTE) -> NDArray[np.bool_]:
    """Return for which queries (Q,) `exact` is computed in time; all others are charged the worst case."""
    rule = rule_of(tally.mechanism)
    if not isinstance(rule, DataDependentRule):
        return np.zeros(len(tally.votes), dtype=np.bool_)
    return rule.affordable(tally.mechanism, tally, influence)


def _charges(tally: Tally, order: float, terms: ChargeTerms, *, largest: bool = False) -> Floats:
    """Return the rdp of each query (Q,), or of the whole batch (1,) if records vote.

    It is the cost of the given answers, or the `largest` over all answers.
    """
    mechanism = tally.mechanism
    rule = rule_of(tally.mechanism)
    worst = mechanism.worst_case(order, terms["influence"].sensitivity, classes=tally.classes)
    rdp = np.array([worst.rdp(tally.answered)]) if mechanism.by_record else worst.queries(tally.answered)
    if order == GAUSSIAN or not isinstance(rule, DataDependentRule):
        return rdp
    cost = rule.largest if largest else rule.charges
    proved = _find_proved(tally, terms)
    # A warning would reveal odd votes, and a cost that is not a number leaves the worst case (fmin).
    with np.errstate(all="ignore"):
        if mechanism.by_record:
            return np.fmin(cost(mechanism, tally, order, terms), rdp) if proved.all() else rdp
        if proved.any():
            reserved = worst.queries(np.ones_like(tally.answered[proved]))
            rdp[proved] = np.fmin(cost(mechanism, tally.rows(proved), order, terms), reserved)
    return rdp


def _find_proved(tally: Tally, terms: ChargeTerms) -> NDArray[np.bool_]:
    """Return which queries (Q,) are charged by the bound; the others cost the worst case."""
    match terms["bound"]:
        case "theorem6":
            return tally.plausible()
        case "exact":
            return tally.plausible() & affordable(tally, terms["influence"])
    return np.zeros(len(tally.votes), dtype=np.bool_)


def vote_total(tally: Tally, order: float, sensitivity: float, moved: float, kind: bytes) -> VoteTotal:
    """Return a batch's cost to a unit under theorem6, and one record's changes of it, by distance.

    The total is a function of any sums, honest or shifted, and the changes are valid for all of them
    (docs/accounting-smooth.md). The worst case is charged and the changes are 0 for a mechanism without a
    proof, a Gaussian filter, or parameters without a certificate that the changes are smooth.

    Args:
        tally: the queries on which the unit votes.
        order: Renyi order of its budget.
        sensitivity: what it can change in one query, in votes.
        moved: what any unit of the batch can change, at least `sensitivity`.
        kind: as `VoteTotal.kind`.
    """
    mechanism = tally.mechanism
    rule = rule_of(tally.mechanism)
    worst = mechanism.worst_case(order, sensitivity, classes=tally.classes)
    moves = Moves(order, sensitivity, moved, float(tally.total.max(initial=0.0)), 2.0**-FRACTION_BITS)
    if order != GAUSSIAN and isinstance(rule, DataDependentRule):
        # As in `_charges`: no warning may reveal sums far outside.
        with np.errstate(all="ignore"):
            terms = rule.vote_terms(mechanism, _mark_shifted(tally), moves, worst)
            if terms and all(is_certified(term, DISTANCES) for term in terms):
                return VoteTotal.of(kind, order, terms)
    return VoteTotal.of_worst_case(order, worst.amount(tally.answered))


def _mark_shifted(tally: Tally) -> Tally:
    """Return the tally with counts set to NOWHERE in queries whose counts do not sum to all votes.

    No neighbour changes whether they do: moving a vote keeps the sum. Votes for labels have no such sum.
    """
    if isinstance(tally.mechanism.ballot, LabelCounts):
        return tally
    fits = tally.votes.sum(axis=1) == tally.totals()[:, 0]
    return replace(tally, votes=np.where(fits[:, None], tally.votes, NOWHERE))
