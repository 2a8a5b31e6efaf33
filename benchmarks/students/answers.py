"""Labels that a budget pays for, as a guardian charges them."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from benchmarks.filtering import spend
from benchmarks.students.settings import Plan
from ostraka.common.privacy import budget_rdp, epsilon


@dataclass(frozen=True)
class Answers:
    """The answers before the next query might not fit into the budget.

    Attributes:
        asked: number of queries, answered or not.
        rows: rows of the pool that have a label, int64 (n,), in the order of the queries.
        labels: their labels, int64 (n,).
        spent: rdp at the plan's order, for these votes.
        worst: the same for any votes.
    """

    asked: int
    rows: NDArray[np.int64] = field(repr=False)
    labels: NDArray[np.int64] = field(repr=False)
    spent: float
    worst: float

    def epsilons(self, plan: Plan, delta: float) -> tuple[float, float]:
        """Return the data-dependent and worst-case epsilon of the release, at the plan's order."""
        spent, worst = (epsilon(rdp, plan.order, delta) for rdp in (self.spent, self.worst))
        return spent, worst


def answer(votes: NDArray[np.int64], plan: Plan, delta: float, seed: int) -> Answers:
    """Ask about the pool, one query after the other; order and noise are drawn from `seed`.

    Noise is continuous, but charged like noise on the lattice.

    Args:
        votes: histograms (P, classes).
        plan: budget, order and mechanism.
        delta: of the budget.
        seed: of order and noise.
    """
    random = np.random.default_rng(seed)
    order = random.permutation(len(votes))
    counts = votes[order].astype(np.float64)
    mechanism = plan.mechanism
    passed = counts.max(axis=1) + random.normal(0, mechanism.sigma1, len(counts)) >= mechanism.threshold
    labels = (counts + random.normal(0, mechanism.sigma2, counts.shape)).argmax(axis=1)
    spent = spend(counts, passed, mechanism, plan.order, budget_rdp(plan.epsilon, delta, plan.order))
    given = np.flatnonzero(passed[: spent.asked])
    return Answers(
        asked=spent.asked,
        rows=order[given],
        labels=labels[given],
        spent=spent.rdp,
        worst=spent.worst,
    )
