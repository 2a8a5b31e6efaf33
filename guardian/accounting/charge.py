"""Charge of a unit for one released batch."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from ostraka.common.clipping import l1_radius
from ostraka.common.mechanism import (
    BOUND,
    L1,
    Binary,
    Check,
    Confident,
    DpTtac,
    GnMax,
    Interactive,
    LnMax,
    NoiseCluster,
    Powerset,
    RandRes,
    Tau,
    Ttac,
)
from ostraka.common.privacy import ONE_VOTE, Influence, InputError, worst_case
from ostraka.guardian.accounting.bounds.binary_rdp import binary_rdp, checked_binary_rdp
from ostraka.guardian.accounting.bounds.confident_rdp import confident_rdp
from ostraka.guardian.accounting.bounds.gnmax_rdp import gnmax_rdp
from ostraka.guardian.accounting.bounds.interactive_rdp import interactive_rdp
from ostraka.guardian.accounting.bounds.lnmax_rdp import lnmax_rdp
from ostraka.guardian.accounting.bounds.noise_cluster_rdp import noise_cluster_rdp
from ostraka.guardian.accounting.bounds.powerset_rdp import checked_powerset_rdp, powerset_rdp
from ostraka.guardian.accounting.cost_limit import affordable
from ostraka.guardian.accounting.numerics.arguments import Floats, check_bound
from ostraka.guardian.accounting.tally import Tally


class _Terms(TypedDict):
    bound: BOUND
    influence: Influence
    lattice: float


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
    return _charges(tally, order, _Terms(bound=check_bound(bound), influence=influence, lattice=lattice))


def largest_charges(
    tally: Tally, order: float, bound: BOUND, influence: Influence = ONE_VOTE, *, lattice: float
) -> Floats:
    """Return what each query adds to `largest_charge`, as `charges` does."""
    given = np.ones_like(tally.answered)
    outcomes = [
        charges(replace(tally, answered=answered), order, bound, influence, lattice=lattice)
        for answered in (given, ~given)
    ]
    return np.maximum(*outcomes)


def _charges(tally: Tally, order: float, terms: _Terms) -> Floats:
    """Return the rdp of each query (Q,), or of the whole batch (1,) where records vote."""
    worst = worst_case(tally.mechanism, order, terms["influence"].sensitivity, classes=tally.classes)
    proved = _proved(tally, terms)
    if isinstance(tally.mechanism, RandRes):
        return np.array([worst.rdp(tally.answered)])
    with np.errstate(all="ignore"):
        if isinstance(tally.mechanism, NoiseCluster):
            cost = _clusters(tally, tally.mechanism, order, terms) if proved.all() else worst.batch
            return np.array([np.fmin(cost, worst.batch)])
        rdp = worst.queries(tally.answered)
        if proved.any():
            reserved = worst.queries(np.ones_like(tally.answered[proved]))
            rdp[proved] = np.fmin(_queries(tally.rows(proved), order, terms), reserved)
    return rdp


def _proved(tally: Tally, terms: _Terms) -> NDArray[np.bool_]:
    """Return which queries (Q,) are charged by the bound, the others costing the worst case."""
    if isinstance(tally.mechanism, RandRes | Ttac | DpTtac):
        return np.zeros(len(tally.votes), dtype=np.bool_)
    match terms["bound"]:
        case "theorem6":
            return tally.plausible()
        case "exact":
            return tally.plausible() & affordable(tally, terms["influence"])
    return np.zeros(len(tally.votes), dtype=np.bool_)


def _clusters(tally: Tally, mechanism: NoiseCluster, order: float, terms: _Terms) -> float:
    if not len(tally.votes):
        return 0.0
    total = noise_cluster_rdp(tally.votes, mechanism.sigma, order, adjacency=tally.adjacency, **terms)
    return float(total[0])


def _queries(tally: Tally, order: float, terms: _Terms) -> Floats:
    """Return the rdp (Q,) of queries with plausible sums."""
    votes, given = tally.votes, tally.answered
    match tally.mechanism:
        case GnMax(sigma=sigma):
            rdp = gnmax_rdp(votes, sigma, order, **terms)
        case LnMax(gamma=gamma):
            rdp = lnmax_rdp(votes, gamma, order, **terms)
        case Confident(sigma1=sigma1, sigma2=sigma2, threshold=threshold):
            rdp = confident_rdp(votes, threshold, sigma1, sigma2, order, given[:, 0], **terms)
        case Interactive(sigma1=sigma1, sigma2=sigma2, threshold=threshold):
            if tally.scores is None:
                raise InputError("scores", "must be given for interactive")
            scores = tally.scores
            rdp = interactive_rdp(votes, scores, threshold, sigma1, sigma2, order, given[:, 0], **terms)
        case Powerset() as powerset:
            rdp = _powerset(tally, powerset, order, terms)
        case Binary(sigma=sigma, check=check):
            rdp = _labels(tally, sigma, check, None, order, terms)
        case Tau(sigma=sigma, check=check, tau=tau):
            rdp = _labels(tally, sigma, check, tau, order, terms)
        case L1(sigma=sigma, check=check, tau1=tau1):
            rdp = _labels(tally, sigma, check, l1_radius(tau1), order, terms)
        case NoiseCluster() | RandRes() | Ttac() | DpTtac():
            raise ValueError(f"{tally.mechanism.kind} is not charged by query")
    return rdp[:, 0]


def _labels(
    tally: Tally, sigma: float, check: Check | None, radius: float | None, order: float, terms: _Terms
) -> Floats:
    """Return the rdp (Q, 1) of one bit per label, from ballots of an L2 norm of at most `radius`."""
    votes, n, answered = tally.votes, tally.totals(), tally.answered
    if check is None:
        return binary_rdp(votes, n, sigma, order, answered, tau=radius, **terms)
    return checked_binary_rdp(
        votes, n, check.threshold, check.sigma, sigma, order, answered, tau=radius, **terms
    )


def _powerset(tally: Tally, mechanism: Powerset, order: float, terms: _Terms) -> Floats:
    """Return the rdp (Q, 1) of one label set per query; no more sets than voters have votes."""
    counts = tally.seen()
    k, most, check = tally.classes, mechanism.max_positives, mechanism.check
    if check is None:
        return powerset_rdp(counts, k, mechanism.sigma, order, max_positives=most, **terms)
    return checked_powerset_rdp(
        counts,
        k,
        check.threshold,
        check.sigma,
        mechanism.sigma,
        order,
        tally.answered.any(axis=1),
        max_positives=most,
        **terms,
    )
