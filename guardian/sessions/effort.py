"""How long the accounting of a batch may take: a function of public values alone."""

from __future__ import annotations

from common.mechanism import (
    BOUND,
    L1,
    Binary,
    Confident,
    DpTtac,
    GnMax,
    Interactive,
    LnMax,
    Mechanism,
    NoiseCluster,
    Powerset,
    RandRes,
    Tau,
    Ttac,
)
from common.privacy import ONE_VOTE, Influence
from guardian.accounting.work import most_terms, terms

_TERM_S = 20e-9
_THEOREM6_S, _LABEL_THEOREM6_S = 0.2e-3, 10e-6
_LOGARITHM_S, _KIND_S = 50e-6, 1e-3
_BIT_S, _CLIPPED_S, _CHECKED_S = 20e-6, 0.1e-3, 0.3e-3


def accounting_s(
    mechanism: Mechanism,
    rows: int,
    classes: int,
    votes: float,
    bound: BOUND,
    influence: Influence = ONE_VOTE,
    *,
    weighted: bool = False,
) -> float:
    """Return the seconds that charging a batch of `rows` queries takes at most, at one order.

    Two or three times what it takes on one core of 2020, whatever is voted.

    Args:
        mechanism: what is released.
        rows: queries that the unit takes part in.
        classes: classes, or labels.
        votes: the largest weight of all votes on a query, in votes; records of NoiseCluster.
        bound: how votes are charged.
        influence: what the unit can change in one query.
        weighted: whether some votes weigh other than one.
    """
    if bound == "worst_case" or not rows or isinstance(mechanism, RandRes | Ttac | DpTtac):
        return 0.0
    if bound == "theorem6":
        return rows * (_THEOREM6_S + mechanism.answers(classes) * _LABEL_THEOREM6_S)
    match mechanism:
        case GnMax() | Confident() | Interactive():
            return rows * most_terms(votes, mechanism.sigmas[-1], classes, influence) * _TERM_S
        case Powerset(sigma=sigma):
            most = most_terms(votes, sigma, None, influence, weighted=weighted)
            return rows * (_KIND_S + 2 * most * _TERM_S)
        case NoiseCluster(sigma=sigma):
            return _clusters_s(rows, classes, votes, sigma, influence)
        case LnMax():
            return rows * _LOGARITHM_S
        case Binary():
            return rows * classes * _BIT_S
        case Tau(check=check) | L1(check=check):
            return rows * classes * (_CLIPPED_S if check is None else _CHECKED_S)


def _clusters_s(rows: int, classes: int, records: float, sigma: float, influence: Influence) -> float:
    """Return the seconds of clusters, whose spreads add up to at most `records`."""
    widest = most_terms(records, sigma, classes, influence)
    apart = float(terms(classes, records, sigma, influence))
    apart += rows * float(terms(classes, 0.0, sigma, influence))
    return 3 * min(apart, rows * widest) * _TERM_S
