"""Charge of a unit for one released batch."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ostraka.common.mechanism import BOUND
from ostraka.common.privacy import ONE_VOTE, Influence
from ostraka.guardian.accounting.numerics.arguments import Floats, check_bound
from ostraka.guardian.accounting.tally import Tally
from ostraka.guardian.mechanisms.rule import ChargeTerms, DataDependentRule, rule_of


def charge(
    tally: Tally, order: float, bound: BOUND, influence: Influence = ONE_VOTE, *, lattice: float
) -> float:
    """Return the rdp at `order` that one released batch costs a unit; never above what was reserved for it.

    A query whose sums no ballots of these teachers add up to (an offset or random sum) is charged the worst
    case, because the other bounds assume such ballots; so is one for which `exact` would take too long, or
    whose cost is no number. Nothing that the votes do is told by an exception or a warning.

    Args:
        tally: what was released.
        order: Renyi order of the unit's filter.
        bound: how votes are charged. "worst_case" does not look at them.
        influence: what the unit can change in one query.
        lattice: step of the noise in votes (`ostraka.guardian.noise.LATTICE`).

    Raises:
        InputError: where an argument other than the votes is malformed.
    """
    return math.fsum(charges(tally, order, bound, influence, lattice=lattice).tolist())


def largest_charge(
    tally: Tally, order: float, bound: BOUND, influence: Influence = ONE_VOTE, *, lattice: float
) -> float:
    """Return the largest `charge` of these votes over all answers that could have been given.

    A filter that releases a batch only where this fits keeps its promise (docs/accounting.md).
    """
    return math.fsum(largest_charges(tally, order, bound, influence, lattice=lattice).tolist())


def charges(
    tally: Tally, order: float, bound: BOUND, influence: Influence = ONE_VOTE, *, lattice: float
) -> Floats:
    """Return what each query adds to `charge` (Q,); a batch of records that vote costs as a whole (1,).

    A query costs the same whichever others are in the tally beside it.
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
    """Return the rdp of each query (Q,), or of the whole batch (1,) where records vote.

    It is that of the answers given, or the `largest` over all answers.
    """
    mechanism, rule = tally.mechanism, rule_of(tally.mechanism)
    worst = mechanism.worst_case(order, terms["influence"].sensitivity, classes=tally.classes)
    rdp = np.array([worst.rdp(tally.answered)]) if mechanism.by_record else worst.queries(tally.answered)
    if not isinstance(rule, DataDependentRule):
        return rdp
    cost = rule.largest if largest else rule.charges
    proved = _proved(tally, terms)
    with np.errstate(all="ignore"):
        if mechanism.by_record:
            return np.fmin(cost(mechanism, tally, order, terms), rdp) if proved.all() else rdp
        if proved.any():
            reserved = worst.queries(np.ones_like(tally.answered[proved]))
            rdp[proved] = np.fmin(cost(mechanism, tally.rows(proved), order, terms), reserved)
    return rdp


def _proved(tally: Tally, terms: ChargeTerms) -> NDArray[np.bool_]:
    """Return which queries (Q,) are charged by the bound, the others costing the worst case."""
    match terms["bound"]:
        case "theorem6":
            return tally.plausible()
        case "exact":
            return tally.plausible() & affordable(tally, terms["influence"])
    return np.zeros(len(tally.votes), dtype=np.bool_)
