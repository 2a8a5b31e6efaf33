"""Caps on charges for queries with a check: no charge exceeds what was reserved."""

from __future__ import annotations

import numpy as np

from ostraka.common.privacy.argmax import argmax_bound
from ostraka.common.privacy.two_outcomes import two_outcomes_rdp
from ostraka.guardian.accounting.exact.outcome_charges import Charges
from ostraka.guardian.accounting.numerics.arguments import Floats


def reserved(
    queries: int,
    width: int,
    sigmas: tuple[float, float],
    orders: Floats,
    sensitivity: float,
    lattice: float,
) -> Charges:
    """Return charges (Q, R) for a failed and a passed check that hold for every histogram.

    Args:
        queries: rows Q.
        width: counts of which the largest is released.
        sigmas: deviations in votes of the noise of the check and of each count of the argmax.
        orders: Renyi orders (R,).
        sensitivity: what one unit can change in one query, in votes.
        lattice: step of the noise in votes; 0 for continuous noise.

    A passed check costs what is reserved for a query: the costliest answer with two outcomes
    (`two_outcomes_rdp`) and the costliest argmax (`argmax_bound`). A failed one costs no more, nor more than
    orders * (sensitivity/sigma)^2 / 2, which leaves room for passed ones to cost less.
    """
    shift, moved = sensitivity / sigmas[0], sensitivity / sigmas[1]
    step, fine = lattice / sigmas[0], lattice / sigmas[1]
    check = [two_outcomes_rdp(order, shift, lattice=step) for order in orders.tolist()]
    argmax = [argmax_bound(order, moved, lattice=fine, width=width) for order in orders.tolist()]
    passed = np.add(check, argmax)
    failed = np.minimum(orders * shift**2 / 2, passed)
    return Charges(np.tile(failed, (queries, 1)), np.tile(passed, (queries, 1)))
