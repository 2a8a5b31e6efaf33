"""Cost of elections with several winners, and how many of them one budget pays for."""

import numpy as np
from numpy.typing import NDArray

from ostraka.common.mechanism import L1, Binary, Tau
from ostraka.common.privacy import ORDERS, budget_rdp
from ostraka.guardian.accounting import binary_rdp, powerset_rdp
from ostraka.guardian.accounting.numerics.arguments import Bound, Floats

DELTA = 1e-5  # of all benchmarks if the paper states none
AT = np.array([order for order in ORDERS if order <= 64][::3])
Votes = NDArray[np.bool_]
"""Labels that voters say yes to, (voters, queries, labels)."""
ByLabel = Binary | Tau | L1


def counts(votes: Votes, mechanism: ByLabel) -> Floats:
    """Return the votes of each label (queries, labels), for ballots clipped by the mechanism."""
    found: Floats = mechanism.ballot.count(votes.astype(np.float32), votes.shape[2])
    return found[:, : votes.shape[2]].astype(np.float64)


def by_label(votes: Votes, mechanism: ByLabel, bound: Bound) -> Floats:
    """Return the rdp (queries, R) at AT of releasing every label."""
    return binary_rdp(
        counts(votes, mechanism), len(votes), mechanism.sigma, AT, bound=bound, tau=_radius(mechanism)
    )


def sets(votes: Votes, sigma: float, bound: Bound, most: int | None = None) -> Floats:
    """Return the rdp (queries, R) at AT of releasing the set of labels, with at most `most` labels."""
    return powerset_rdp(set_counts(votes, most), votes.shape[2], sigma, AT, bound=bound, max_positives=most)


def set_counts(votes: Votes, most: int | None = None) -> Floats:
    """Return the votes of all sets with votes (queries, seen); voters keep the first `most` labels."""
    kept = votes if most is None else votes & (votes.cumsum(axis=2) <= most)
    names = kept.astype(np.int64) @ (1 << np.arange(votes.shape[2]))
    seen, place = np.unique(names, return_inverse=True)
    by_voter = np.eye(len(seen))[place.reshape(names.shape)]
    return np.asarray(by_voter.sum(axis=0))


def queries_for_budget(rdp: Floats, epsilon: float) -> float:
    """Return how many queries with average cost `rdp` (queries, R) one budget pays for."""
    limits = np.array([budget_rdp(epsilon, DELTA, order) for order in AT])
    return float(np.floor((limits / rdp.mean(axis=0)).max()))


def _radius(mechanism: ByLabel) -> float | None:
    from ostraka.common.sharing.ballots import l1_radius

    match mechanism:
        case Tau(tau=tau):
            return tau
        case L1(tau1=tau1):
            return l1_radius(tau1)
    return None
