"""A check and an argmax about the same votes, charged together by the check's outcome."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ostraka.common.privacy import Influence
from ostraka.guardian.accounting.exact.multi_vote import added, argmax_rdp, check_rdp
from ostraka.guardian.accounting.exact.noisy_outcomes import NoisyCheck, Part
from ostraka.guardian.accounting.exact.outcome_charges import Charges, outcome_charges
from ostraka.guardian.accounting.numerics.arguments import Floats


def checked_charges(
    check: NoisyCheck,
    argmax: Callable[[float], Part],
    moves: NDArray[np.bool_],
    orders: Floats,
    influence: Influence,
    most: Charges,
) -> Charges:
    """Return what queries cost by their check's outcome, at most `most`, what the worst case charges.

    `argmax` are its outcomes after so many votes moved from a to b, and `moves` (Q, a, b) the pairs to try.
    Where nothing is proved, it is `most`.
    """
    if influence.votes == 1:
        return _joint(check.moved(influence.weight), argmax(influence.weight), moves, orders, most)
    failed = check_rdp(check, moves, orders, influence)
    passed = failed + argmax_rdp(argmax, moves, orders, influence)
    return _chosen((failed <= most.failed) & (passed <= most.passed), Charges(failed, passed), most)


def _joint(check: Part, argmax: Part, moves: NDArray[np.bool_], orders: Floats, most: Charges) -> Charges:
    """Return the charges where one neighbour of `moves` changes check and argmax alike."""
    error = added(check.error + argmax.error, orders)
    room = Charges(most.failed - error, most.passed - error)
    found = outcome_charges(check.shifts, argmax.shifts, moves, orders, room)
    fits = (found.failed <= room.failed) & (found.passed <= room.passed)
    return _chosen(fits, Charges(found.failed + error, found.passed + error), most)


def _chosen(fits: NDArray[np.bool_], charges: Charges, most: Charges) -> Charges:
    """Return both charges where they fit, else both of the other pair: no mixture of two pairs is valid."""
    return Charges(np.where(fits, charges.failed, most.failed), np.where(fits, charges.passed, most.passed))
