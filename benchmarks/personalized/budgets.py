"""When a budget is exceeded: divergence, conversion, and the number of queries until then."""

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.personalized.data import DELTA
from ostraka.common.privacy import budget_rdp
from ostraka.guardian.accounting.numerics.arguments import Bound, Floats

ORDERS = np.arange(2, 51, dtype=np.float64)
"""The integer orders from which Mühl and Boenisch 2022 choose the best one after every query."""


@dataclass(frozen=True)
class Notion:
    """A way to count costs.

    Attributes:
        name: its name in tables.
        bound: of each query's divergence.
        classic: whether epsilon is rdp + log(1/delta)/(order - 1) (Mühl and Boenisch 2022, Lemma 4), not the
            tight conversion.
    """

    name: str
    bound: Bound
    classic: bool

    def limits(self, epsilon: float) -> Floats:
        """Return the maximum rdp (R,) at ORDERS within a budget; negative if it allows none."""
        if self.classic:
            return epsilon - math.log(1 / DELTA) / (ORDERS - 1)
        limits = np.array([budget_rdp(epsilon, DELTA, order) for order in ORDERS])
        return np.where(limits > 0, limits, -1.0)


PAPER = Notion("theorem6, classic", "theorem6", True)
OURS = Notion("exact, tight", "exact", False)
WORST = Notion("worst case, tight", "worst_case", False)
NOTIONS = (PAPER, OURS, WORST)


@dataclass(frozen=True)
class Account:
    """Units of one budget.

    Attributes:
        charges: rdp (Q, R) of each query for a participating unit.
        took_part: whether each unit participated in each query, bool (Q, U).
        limits: the maximum rdp (R,) of each unit; one order within its limit is enough.
    """

    charges: Floats
    took_part: NDArray[np.bool_]
    limits: Floats

    def affords(self, queries: int) -> bool:
        """Whether no unit has exceeded its budget after the first `queries`."""
        spent = self.took_part[:queries].T.astype(np.float64) @ self.charges[:queries]
        return bool((spent <= self.limits).any(axis=1).all())


def affordable(accounts: Sequence[Account]) -> int:
    """Count the queries that all accounts can pay: those before the first to exceed any unit's budget."""
    asked = len(accounts[0].charges)
    return bisect_left(
        range(1, asked + 1), True, key=lambda queries: not all(one.affords(queries) for one in accounts)
    )
