"""How far a budget goes, question by question, as a guardian charges it."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ostraka.common.mechanism import Confident
from ostraka.common.privacy import ONE_VOTE
from ostraka.guardian.accounting import Tally
from ostraka.guardian.mechanisms import charges
from ostraka.guardian.noise import LATTICE

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Spent:
    """What was asked before the next query might not have fitted.

    Attributes:
        asked: queries, answered or not.
        rdp: what their votes cost at the order.
        worst: the same whatever the votes.
    """

    asked: int
    rdp: float
    worst: float


def spend(
    counts: Floats, passed: NDArray[np.bool_], mechanism: Confident, order: float, limit: float
) -> Spent:
    """Asks queries in turn while each one's largest charge, over both outcomes of its check, still fits.

    That keeps a filter's promise (docs/accounting.md).

    Args:
        counts: votes of each query (Q, classes).
        passed: queries (Q,) whose check passes.
        mechanism: what answers.
        order: at which they are charged.
        limit: rdp that may be spent.
    """
    failing, passing = _both(counts, mechanism, order)
    spent = np.concatenate([[0.0], np.cumsum(np.where(passed, passing, failing))])
    fits = spent[:-1] + np.maximum(failing, passing) <= limit
    asked = len(fits) if fits.all() else int(fits.argmin())
    worst = mechanism.worst_case(order, ONE_VOTE.sensitivity, classes=counts.shape[1])
    return Spent(asked, float(spent[asked]), math.fsum(worst.queries(passed[:asked, None]).tolist()))


def _both(counts: Floats, mechanism: Confident, order: float) -> tuple[Floats, Floats]:
    """Each query's charge (Q,) where its check fails and where it passes.

    Queries whose counts differ in the order of classes alone cost the same, and are charged once.
    """
    kinds, kind = np.unique(np.sort(counts, axis=1), axis=0, return_inverse=True)
    failing, passing = (_charges(kinds, mechanism, order, given) for given in (False, True))
    return failing[kind], passing[kind]


def _charges(counts: Floats, mechanism: Confident, order: float, given: bool) -> Floats:
    total = counts.sum(axis=1)
    answered = np.full((len(counts), 1), given)
    tally = Tally(mechanism, counts.shape[1], total, int(total.max()), counts, answered)
    return charges(tally, order, "exact", ONE_VOTE, lattice=LATTICE)
