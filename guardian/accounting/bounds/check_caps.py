"""Caps on charges for queries with a check: no charge exceeds what was reserved."""

from __future__ import annotations

import numpy as np

from ostraka.common.two_outcomes import two_outcomes_rdp
from ostraka.guardian.accounting.exact.outcome_charges import Charges
from ostraka.guardian.accounting.numerics.arguments import Floats


def reserved(
    queries: int, sigmas: tuple[float, float], orders: Floats, sensitivity: float, lattice: float
) -> Charges:
    """Return charges (Q, R) for a failed and a passed check that hold for every histogram.

    Args:
        queries: rows Q.
        sigmas: deviations in votes of the noise of the check and of each count of the argmax.
        orders: Renyi orders (R,).
        sensitivity: what one unit can change in one query, in votes.
        lattice: step of the noise in votes; 0 for continuous noise.

    A passed check costs what is reserved for a query: the costliest answer with two outcomes
    (`two_outcomes_rdp`) and an argmax (002, Lemma 8). A failed one costs no more, and no more than
    orders * (sensitivity/sigma)^2 / 2, which leaves room for passed ones to cost less.
    """
    shift = sensitivity / sigmas[0]
    check = [two_outcomes_rdp(order, shift, lattice=lattice / sigmas[0]) for order in orders.tolist()]
    passed = check + orders * (sensitivity / sigmas[1]) ** 2
    failed = np.minimum(orders * shift**2 / 2, passed)
    return Charges(np.tile(failed, (queries, 1)), np.tile(passed, (queries, 1)))
