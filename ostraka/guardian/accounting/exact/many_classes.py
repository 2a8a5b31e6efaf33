"""Argmaxes over many classes of which most have equal counts, as with teachers of a hundred classes.

To an argmax k classes are k label sets: those with equal counts are calculated together
(docs/accounting-mechanisms.md), and time grows with the different counts instead of the classes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ostraka.common.privacy import Influence
from ostraka.guardian.accounting.exact.divergence import checked_exact, gnmax_exact, neighbours
from ostraka.guardian.accounting.exact.noisy_outcomes import NoisyCheck
from ostraka.guardian.accounting.exact.outcome_charges import Charges
from ostraka.guardian.accounting.exact.powerset_divergence import checked_powerset_exact, powerset_exact
from ostraka.guardian.accounting.numerics.arguments import Floats

MANY = 16
"""Up to so many classes equal counts save no time."""


def argmax_exact(votes: Floats, sigma: float, orders: Floats, influence: Influence, lattice: float) -> Floats:
    """Return the rdp (Q, R) of GNMax."""
    rdp, tied, sets = np.empty((len(votes), len(orders))), mostly_tied(votes), votes.shape[1]
    rdp[tied] = powerset_exact(votes[tied], sets, sigma, orders, influence, lattice)
    rdp[~tied] = gnmax_exact(votes[~tied], sigma, orders, influence, lattice)
    return rdp


def confident_exact(
    check: NoisyCheck, sigma: float, orders: Floats, influence: Influence, most: Charges
) -> Charges:
    """Return charges of Confident by its check's outcome, at most `most`."""
    charges, tied = Charges(most.failed.copy(), most.passed.copy()), mostly_tied(check.values)
    alike, distinct = np.flatnonzero(tied), np.flatnonzero(~tied)
    sets, sigmas = check.values.shape[1], (check.sigma, sigma)
    terms = check.threshold, sigmas, orders, influence, check.lattice
    charges.put(alike, checked_powerset_exact(check.values[alike], sets, *terms, most.of(alike)))
    rest, limit = check.of(distinct), most.of(distinct)
    charges.put(distinct, checked_exact(rest.values, rest, sigma, orders, influence, limit, neighbours))
    return charges


def mostly_tied(votes: Floats) -> NDArray[np.bool_]:
    """Return which queries (Q,) of many classes, of which some have no vote, are of half as many kinds.

    There are up to three for each count.
    """
    ordered, classes = np.sort(votes, axis=1), votes.shape[1]
    kinds = classes - (ordered[:, 3:] == ordered[:, :-3]).sum(axis=1)
    return np.asarray((classes > MANY) & (ordered[:, 0] == 0) & (2 * kinds <= classes), dtype=np.bool_)
