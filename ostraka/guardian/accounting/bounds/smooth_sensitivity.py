"""Smooth sensitivity of a theorem6 total, and the cost of publishing that total with noise.

One function (`vote_terms`) gives what a vote can change at any histogram within so many steps.
docs/accounting-smooth.md proves it; the published version of Papernot et al. 2018 has other bounds for the
same purpose in its Appendix B.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise

import numpy as np
from numpy.typing import ArrayLike
from scipy.ndimage import minimum_filter1d

from ostraka.common.privacy import AMOUNT_UNIT, InputError
from ostraka.guardian.accounting.bounds.vote_terms import CELLS, Moves, Term, Whole, argmax_term, check_term
from ostraka.guardian.accounting.numerics.arguments import (
    Floats,
    check_answered,
    check_lattice,
    check_orders,
    check_scalar,
    check_votes,
)


def is_certified(term: Term, distances: int) -> bool:
    """Return whether a term's changes are smooth at 0, 1, ... `distances` - 1 votes away and beyond.

    The checks: numbers of neighbours lie within `CELLS` of each other, including arithmetic errors; costs of
    the cells never rise; for any two cells so close, a cost in one and a cost in the other differ by at most
    the change of either at 0 votes; the change of one at d votes is at most the change of the other at d + 1;
    no change exceeds the limit. All checks use whole amounts, and neither the work nor the result depends on
    votes.
    """
    if not term.countable:
        return False
    least, most = term.costs
    if not (least <= most).all():
        return False
    nearest = next(term.windows())
    return _hold(least, most, nearest) and _smooth(term, distances)


def _hold(least: Whole, most: Whole, changes: Whole) -> bool:
    """Return whether costs of neighbouring cells differ by no more than the changes of both."""
    for apart in range(min(CELLS, len(least) - 1) + 1):
        left = slice(None, len(least) - apart)
        right = slice(apart, None)
        differ = np.maximum(most[left] - least[right], most[right] - least[left])
        if (differ > np.minimum(changes[left], changes[right])).any():
            return False
    return True


def _smooth(term: Term, distances: int) -> bool:
    """Return whether no cell's change exceeds a neighbour's change one vote farther, or at last the limit."""
    for nearer, farther in pairwise(islice(term.windows(), distances)):
        if (nearer > minimum_filter1d(farther, 2 * CELLS + 1, mode="nearest")).any():
            return False
    return int(farther.max()) * len(term.distances) <= term.limit()


def smooth_sensitivity(
    votes: ArrayLike,
    sigma: float,
    order: float,
    beta: float,
    *,
    threshold: float | None = None,
    sigma1: float | None = None,
    answered: ArrayLike | None = None,
    sensitivity: float = 1.0,
    lattice: float = 0.0,
) -> float:
    """Return a beta-smooth bound on what one record changes in the total rdp under "theorem6".

    The total is the sum over queries at one order of `gnmax_rdp`, or with a check of `confident_rdp`. A
    record may move its vote in every query. Own derivation, proved in docs/accounting-smooth.md; an upper
    bound on the smooth sensitivity of the published version of Papernot et al. 2018, Appendix B.

    Args:
        votes: counts (Q, k), not negative.
        sigma: noise on each count, in votes (sigma2 if there is a check).
        order: Renyi order, above 1.
        beta: how fast the bound may change: by a factor of at most exp(beta) between neighbours.
        threshold: the threshold of the largest count, if there is a check.
        sigma1: noise of that check.
        answered: which queries passed, bool (Q,), if there is a check; taken as public.
        sensitivity: what one unit can change in one query, in votes.
        lattice: step of the noise in votes; 0 for continuous noise.

    Raises:
        InputError: if an argument is malformed.
    """
    counts = check_votes(votes)
    (at,) = check_orders([order])
    rate = check_scalar("beta", beta)
    unit = check_scalar("sensitivity", sensitivity)
    most = float(counts.sum(axis=1).max(initial=0.0))
    moves = Moves(float(at), unit, unit, most, check_lattice(lattice))
    terms = []
    if threshold is None and sigma1 is None and answered is None:
        mask = np.ones(len(counts), dtype=np.bool_)
    elif threshold is None or sigma1 is None or answered is None:
        raise InputError("threshold", "must be given together with sigma1 and answered, or none of them")
    else:
        mask = check_answered(answered, len(counts))
        check_scalar("threshold", threshold, positive=False)
        terms.append(check_term(counts, threshold, check_scalar("sigma1", sigma1), moves))
    terms.append(argmax_term(counts[mask], check_scalar("sigma", sigma), moves))
    return _largest([term for term in terms if term.distances.size], rate)


def discount(changes: Sequence[float] | Floats, beta: float) -> float:
    """Return the smooth sensitivity of changes at distances 0, 1, 2, ...; the last change repeats."""
    each = np.asarray(changes, dtype=np.float64)
    return float((each * np.exp(-beta * np.arange(len(each)))).max(initial=0.0))


def publication_rdp(beta: float, sigma: float, orders: ArrayLike) -> Floats:
    """Return the rdp (R,) of publishing a number with noise `sigma` times its beta-smooth sensitivity.

    This is the largest divergence of two Gaussians whose deviations are within exp(beta) of each other and
    whose means differ by at most the smaller smooth sensitivity. The value is exact: own derivation, proved
    in docs/accounting-smooth.md. It is infinite at orders a with (a - 1) (exp(2 beta) - 1) >= 1.
    """
    rate = check_scalar("beta", beta)
    at = check_orders(orders)
    noise = check_scalar("sigma", sigma)
    left = 1 - (at - 1) * math.expm1(2 * rate)
    inside = np.where(left > 0, left, 1.0)
    rdp = at / (2 * noise**2 * inside) - np.log(inside) / (2 * (at - 1)) - rate
    return np.asarray(np.where(left > 0, rdp, np.inf))


def _largest(terms: list[Term], beta: float) -> float:
    """Return the maximum over d of exp(-beta d) times one record's change at d votes' distance.

    If a term is not countable, return the worst case of all queries.
    """
    if not all(term.countable for term in terms):
        return sum(term.worst * len(term.distances) for term in terms)
    limit = sum(term.limit() for term in terms)
    changes: list[Iterator[int]] = [term.changes() for term in terms]
    best = 0.0
    distance = 0
    grown = 0
    while grown < limit and math.exp(-beta * distance) * limit > best:
        grown = sum(next(change) for change in changes)
        best = max(best, math.exp(-beta * distance) * grown)
        distance += 1
    return best * AMOUNT_UNIT
