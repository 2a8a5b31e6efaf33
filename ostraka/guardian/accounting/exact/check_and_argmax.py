"""A check and an argmax about the same votes, charged together by the check's outcome or by the label."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ostraka.common.privacy import Influence
from ostraka.guardian.accounting.exact.label_charges import LabelCharges, cheaper_by_label
from ostraka.guardian.accounting.exact.multi_vote import added, argmax_rdp, check_rdp
from ostraka.guardian.accounting.exact.noisy_outcomes import NoisyCheck, Part
from ostraka.guardian.accounting.exact.outcome_charges import Charges, outcome_charges
from ostraka.guardian.accounting.numerics.argmax_outcomes import Shifts
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


def checked_label_charges(
    check: NoisyCheck,
    argmax: Callable[[float], Part],
    moves: NDArray[np.bool_],
    orders: Floats,
    influence: Influence,
    most: Charges,
) -> LabelCharges:
    """Return what queries cost by label and where the check failed, each at most `most.passed`.

    Arguments are those of `checked_charges`. Several votes of a unit are charged by the check's outcome.
    """
    classes = moves.shape[1]
    if influence.votes != 1:
        return LabelCharges.alike(checked_charges(check, argmax, moves, orders, influence, most), classes)
    parts = check.moved(influence.weight), argmax(influence.weight)
    error = added(parts[0].error + parts[1].error, orders)
    pair, fits = _pair(*parts, moves, orders, error, most)
    outcomes = _joined(parts[0].shifts, parts[1].shifts)
    charges = LabelCharges.alike(_chosen(fits, _more(pair, error), most), classes)
    for i, order in enumerate(orders.tolist()):
        start = np.column_stack([pair.failed[:, i], np.repeat(pair.passed[:, i, None], classes, axis=1)])
        room = np.repeat((most.passed - error)[:, i, None], classes + 1, axis=1)
        start[~fits[:, i]] = np.inf
        found = cheaper_by_label(outcomes, moves, order, start, room) + error[:, i, None]
        charges.failed[:, i] = np.where(fits[:, i], found[:, 0], charges.failed[:, i])
        charges.labels[:, i] = np.where(fits[:, i, None], found[:, 1:], charges.labels[:, i])
    return charges


def _joint(check: Part, argmax: Part, moves: NDArray[np.bool_], orders: Floats, most: Charges) -> Charges:
    """Return the charges where one neighbour of `moves` changes check and argmax alike."""
    error = added(check.error + argmax.error, orders)
    pair, fits = _pair(check, argmax, moves, orders, error, most)
    return _chosen(fits, _more(pair, error), most)


def _pair(
    check: Part, argmax: Part, moves: NDArray[np.bool_], orders: Floats, error: Floats, most: Charges
) -> tuple[Charges, NDArray[np.bool_]]:
    """Return charges by the check's outcome, without the `error` (Q, R), and where both fit with it."""
    room = Charges(most.failed - error, most.passed - error)
    found = outcome_charges(check.shifts, argmax.shifts, moves, orders, room)
    return found, (found.failed <= room.failed) & (found.passed <= room.passed)


def _more(charges: Charges, error: Floats) -> Charges:
    return Charges(charges.failed + error, charges.passed + error)


def _joined(check: Shifts, argmax: Shifts) -> Shifts:
    """Return the outcomes failed, and passed with each label."""
    log_p = np.concatenate([check.log_p[:, 1:], check.log_p[:, :1] + argmax.log_p], axis=1)
    change = [check.change[..., 1:], check.change[..., :1] + argmax.change]
    return Shifts(log_p, np.concatenate(change, axis=-1))


def _chosen(fits: NDArray[np.bool_], charges: Charges, most: Charges) -> Charges:
    """Return both charges where they fit, else both of the other pair: no mixture of two pairs is valid."""
    return Charges(np.where(fits, charges.failed, most.failed), np.where(fits, charges.passed, most.passed))
