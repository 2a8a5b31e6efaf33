"""Labels that a budget pays for, as a guardian charges them."""

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from benchmarks.students.settings import Plan
from common.privacy import ONE_VOTE, budget_rdp, epsilon, worst_case
from guardian.accounting import Tally, charges
from guardian.noise import LATTICE

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Answers:
    """What was released before the next query might not have fitted into the budget.

    Attributes:
        asked: queries, answered or not.
        rows: of the pool that have a label, int64 (n,), in the order in which they were asked about.
        labels: theirs, int64 (n,).
        spent: rdp at the plan's order, of the votes.
        worst: the same whatever the votes.
    """

    asked: int
    rows: NDArray[np.int64] = field(repr=False)
    labels: NDArray[np.int64] = field(repr=False)
    spent: float
    worst: float

    def epsilons(self, plan: Plan, delta: float) -> tuple[float, float]:
        """The data-dependent and the worst-case epsilon of what was released, at the plan's order."""
        spent, worst = (epsilon(rdp, plan.order, delta) for rdp in (self.spent, self.worst))
        return spent, worst


def answer(votes: NDArray[np.int64], plan: Plan, delta: float, seed: int) -> Answers:
    """Asks about the pool, one query after the other, in an order drawn from `seed` as is the noise.

    A query is asked where its largest charge, over both outcomes of its check, still fits, which keeps a
    filter's promise (docs/accounting.md). Noise is continuous and charged as noise on the lattice is.

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
    failing, passing = _both(counts, plan)
    costs = np.where(passed, passing, failing)
    spent = np.concatenate([[0.0], np.cumsum(costs)])
    fits = spent[:-1] + np.maximum(failing, passing) <= budget_rdp(plan.epsilon, delta, plan.order)
    asked = len(fits) if fits.all() else int(fits.argmin())
    given = np.flatnonzero(passed[:asked])
    worst = worst_case(mechanism, plan.order, ONE_VOTE.sensitivity, classes=votes.shape[1])
    return Answers(
        asked=asked,
        rows=order[given],
        labels=labels[given],
        spent=float(spent[asked]),
        worst=math.fsum(worst.queries(passed[:asked, None]).tolist()),
    )


def _both(counts: Floats, plan: Plan) -> tuple[Floats, Floats]:
    """Each query's charge (Q,) where its check fails and where it passes.

    Queries whose counts differ in the order of classes alone cost the same, and are charged once.
    """
    kinds, kind = np.unique(np.sort(counts, axis=1), axis=0, return_inverse=True)
    failing, passing = (_charges(kinds, plan, given) for given in (False, True))
    return failing[kind], passing[kind]


def _charges(counts: Floats, plan: Plan, given: bool) -> Floats:
    total = counts.sum(axis=1)
    answered = np.full((len(counts), 1), given)
    tally = Tally(plan.mechanism, counts.shape[1], total, int(total.max()), counts, answered)
    return charges(tally, plan.order, "exact", ONE_VOTE, lattice=LATTICE)
