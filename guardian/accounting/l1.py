"""The cost of the baseline that clips ballots by their L1 norm, as Private-kNN does."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from common.clipping import l1_radius
from common.privacy import ONE_VOTE, Influence
from guardian.accounting.checks import Bound, Floats, check_lattice, check_norm, check_scalar
from guardian.accounting.labels import Change, Release, label_votes
from guardian.accounting.multilabel import released_rdp


def l1_rdp(
    positives: ArrayLike,
    n: ArrayLike,
    sigma: float,
    orders: ArrayLike,
    tau1: float,
    *,
    bound: Bound = "exact",
    influence: Influence = ONE_VOTE,
    lattice: float = 0.0,
) -> Floats:
    """Return the rdp (Q, R) of all labels' bits, ballots being scaled by min(1, tau1/their L1 norm).

    Such ballots have an L2 norm of at most `l1_radius(tau1)` and entries of at most min(1, tau1), so this is
    `binary_rdp` with that norm for `tau`; a `tau1` above k clips nothing and is refused. Other arguments and
    errors are those of `binary_rdp`.
    """
    largest = check_norm("tau1", tau1, np.atleast_1d(positives).shape[-1])
    change = Change(influence, l1_radius(largest))
    votes = label_votes(positives, n, change)
    release = Release(vote=check_scalar("sigma", sigma), lattice=check_lattice(lattice))
    return released_rdp(votes, release, change, orders, bound)
