"""The cost of asking of every label whether its votes agree: max(positives, n - positives) + noise >= T."""

from __future__ import annotations

from numpy.typing import ArrayLike

from ostraka.common.privacy import ONE_VOTE, Influence
from ostraka.guardian.accounting.bounds.multilabel_rdp import released_rdp
from ostraka.guardian.accounting.exact.label_releases import Change, Release, label_votes
from ostraka.guardian.accounting.numerics.arguments import Bound, Floats, check_lattice, check_scalar


def multilabel_check_rdp(
    positives: ArrayLike,
    n: ArrayLike,
    threshold: float,
    sigma: float,
    orders: ArrayLike,
    *,
    bound: Bound = "exact",
    tau: float | None = None,
    influence: Influence = ONE_VOTE,
    lattice: float = 0.0,
) -> Floats:
    """Return the rdp (Q, R) of the checks of all k labels of each query, whatever their outcomes.

    The worst case is k times the costliest answer with two outcomes, one draw being moved by at most one
    vote, and with `tau` at most orders (tau sensitivity/sigma)^2. Algorithm 2 of Dziedzic et al. 2023, read
    with Confident's cost of one check, charges too little (docs/errata.md). Other arguments and errors are
    those of `binary_rdp`.
    """
    change = Change(influence, tau)
    votes = label_votes(positives, n, change)
    release = Release(
        vote=None,
        check=check_scalar("sigma", sigma),
        threshold=check_scalar("threshold", threshold, positive=False),
        lattice=check_lattice(lattice),
    )
    return released_rdp(votes, release, change, orders, bound)
