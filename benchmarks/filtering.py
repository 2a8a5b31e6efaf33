"""How many queries a budget pays for, one by one, as a guardian charges it."""

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
    """The queries asked before the next one might not fit.

    Attributes:
        asked: number of queries, answered or not.
        rdp: cost of their votes at the order.
        worst: the same for any votes.
    """

    asked: int
    rdp: float
    worst: float


def spend(
    counts: Floats, passed: NDArray[np.bool_], mechanism: Confident, order: float, limit: float
) -> Spent:
    """Ask queries in order while each one's maximum charge, over both outcomes of its check, still fits.

    This preserves a filter's guarantee (docs/accounting.md).

    Args:
        counts: votes of each query (Q, classes).
        passed: queries (Q,) whose check passes.
        mechanism: the mechanism.
        order: the order of charges.
        limit: rdp that may be spent.
    """
    failing, passing = _both(counts, mechanism, order)
    spent = np.concatenate([[0.0], np.cumsum(np.where(passed, passing, failing))])
    fits = spent[:-1] + np.maximum(failing, passing) <= limit
    asked = len(fits) if fits.all() else int(fits.argmin())
    worst = mechanism.worst_case(order, ONE_VOTE.sensitivity, classes=counts.shape[1])
    return Spent(asked, float(spent[asked]), math.fsum(worst.queries(passed[:asked, None]).tolist()))


def _both(counts: Floats, mechanism: Confident, order: float) -> tuple[Floats, Floats]:
    """Return each query's charge (Q,) if its check fails and if it passes.

    Queries whose counts differ only in the order of classes cost the same, and are computed once.
    """
    kinds, kind = np.unique(np.sort(counts, axis=1), axis=0, return_inverse=True)
    failing, passing = (_charges(kinds, mechanism, order, given) for given in (False, True))
    return failing[kind], passing[kind]


def _charges(counts: Floats, mechanism: Confident, order: float, given: bool) -> Floats:
    total = counts.sum(axis=1)
    answered = np.full((len(counts), 1), given)
    tally = Tally(mechanism, counts.shape[1], total, int(total.max()), counts, answered)
    return charges(tally, order, "exact", ONE_VOTE, lattice=LATTICE)
