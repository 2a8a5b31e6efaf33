"""The cost of one bit per label: positives + N(0, sigma^2) > negatives + N(0, sigma^2)."""

from __future__ import annotations

from numpy.typing import ArrayLike

from ostraka.common.privacy import ONE_VOTE, Influence
from ostraka.guardian.accounting.bounds.multilabel_rdp import released_rdp
from ostraka.guardian.accounting.exact.label_releases import Change, Release, label_votes
from ostraka.guardian.accounting.numerics.arguments import Bound, Floats, check_lattice, check_scalar


def binary_rdp(
    positives: ArrayLike,
    n: ArrayLike,
    sigma: float,
    orders: ArrayLike,
    answered: ArrayLike | None = None,
    *,
    bound: Bound = "exact",
    tau: float | None = None,
    influence: Influence = ONE_VOTE,
    lattice: float = 0.0,
) -> Floats:
    """Return the rdp (Q, R) of releasing the bits of the k labels of each query.

    Args:
        positives: votes for each label (Q, k), whole unless clipped or weighted.
        n: votes on each label, a number or (Q, k).
        sigma: standard deviation of the noise on positives and on negatives, in votes.
        orders: Renyi orders (R,), above 1.
        answered: which labels were answered (Q, k), by what is public; none: all.
        bound: "worst_case", k times the costliest answer with two outcomes (`two_outcomes_rdp`), and with
            `tau` at most 2 orders (tau sensitivity/sigma)^2; "theorem6", the papers' bound on each label,
            which holds for D(M(D) || M(D')) alone; or "exact", both directions of the divergence itself,
            and with `tau` a bound on what one ballot can flip over all labels at once.
        tau: largest L2 norm of one teacher's ballot, at most sqrt(k); None where ballots are not clipped.
        influence: what one unit can change in one query.
        lattice: step of the noise in votes; 0 for the papers' continuous noise.

    Returns:
        Both directions except under "theorem6", and never above the worst case. Own derivation, proved in
        docs/accounting-multilabel.md; Definitions 4 and 7 of Dziedzic et al. 2023 do not hold
        (docs/errata.md).

    Raises:
        InputError: where an argument is malformed.
    """
    change = Change(influence, tau)
    votes = label_votes(positives, n, change, answered)
    release = Release(vote=check_scalar("sigma", sigma), lattice=check_lattice(lattice))
    return released_rdp(votes, release, change, orders, bound)


def checked_binary_rdp(
    positives: ArrayLike,
    n: ArrayLike,
    threshold: float,
    sigma1: float,
    sigma2: float,
    orders: ArrayLike,
    answered: ArrayLike,
    *,
    bound: Bound = "exact",
    tau: float | None = None,
    influence: Influence = ONE_VOTE,
    lattice: float = 0.0,
) -> Floats:
    """Return the rdp (Q, R) of each label's check, plus its bit where the label was `answered` (Q, k).

    Arguments and errors are those of `multilabel_check_rdp` (sigma1) and `binary_rdp` (sigma2). Under
    "exact" a label's check and bit are charged for the same neighbour and direction, which is less than the
    sum of two largest divergences.
    """
    change = Change(influence, tau)
    votes = label_votes(positives, n, change, answered)
    release = Release(
        vote=check_scalar("sigma2", sigma2),
        check=check_scalar("sigma1", sigma1),
        threshold=check_scalar("threshold", threshold, positive=False),
        lattice=check_lattice(lattice),
    )
    return released_rdp(votes, release, change, orders, bound)
