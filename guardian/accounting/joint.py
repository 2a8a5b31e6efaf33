"""A check and an argmax about the same votes, charged together by the check's outcome."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from guardian.accounting.by_outcome import Charges, outcome_charges
from guardian.accounting.checks import Floats
from guardian.accounting.parts import Part


def joint_charges(
    check: Part, argmax: Part, moves: NDArray[np.bool_], orders: Floats, most: Charges
) -> Charges:
    """Return what queries cost by their check's outcome, at most `most`, what the worst case charges.

    One neighbour of `moves` (Q, a, b) changes check and argmax alike. Where nothing is proved, it is `most`.
    """
    error = added(check.error + argmax.error, orders)
    room = Charges(most.failed - error, most.passed - error)
    found = outcome_charges(check.shifts, argmax.shifts, moves, orders, room)
    fits = (found.failed <= room.failed) & (found.passed <= room.passed)
    return Charges(
        np.where(fits, found.failed + error, most.failed), np.where(fits, found.passed + error, most.passed)
    )


def added(error: Floats, orders: Floats) -> Floats:
    """Return what an error (Q,) of log probabilities can hide at each order, as rdp (Q, R)."""
    return np.asarray(error[:, None] * (4 * orders / (orders - 1)))
