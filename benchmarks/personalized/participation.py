"""Participation in vanishing, and weights of votes (Mühl and Boenisch 2022, Appendix B)."""

import numpy as np
from numpy.typing import NDArray

from ostraka.guardian.accounting.numerics.arguments import Floats

_STEPS = 2**16  # exact in a float64, and so fine that rounding changes no vote


def participation(
    higher: NDArray[np.bool_], period: int, queries: int, random: np.random.Generator
) -> NDArray[np.bool_]:
    """Return which teachers participate, bool (queries, teachers).

    Teachers of the higher budget always do. The others are shuffled into as many cohorts as a period has
    queries, one cohort per query, and reshuffled every period, so the numbers of teachers per query differ by
    at most one.
    """
    took_part = np.tile(higher, (queries, 1))
    lower = np.flatnonzero(~higher)
    turns = np.arange(len(lower)) * period // len(lower)
    for start in range(0, queries, period):
        rows = start + turns
        now = rows < queries
        took_part[rows[now], random.permutation(lower)[now]] = True
    return took_part


def weights(higher: NDArray[np.bool_], shares: tuple[float, float]) -> Floats:
    """Return each teacher's weight (teachers,): its share over the mean, rounded down to steps of 2^-16.

    The shares of the lower and the higher budget are epsilons (Mühl and Boenisch 2022, Appendix B), or any
    other proportions.
    """
    each: Floats = np.where(higher, shares[1], shares[0])
    return np.asarray(np.floor(each / each.mean() * _STEPS) / _STEPS)


def higher_teachers(teachers: int, ratio: int) -> NDArray[np.bool_]:
    """Return which teachers (teachers,) have records of the higher budget, `ratio` percent of all records.

    Records are assigned to teachers at random, so these can be the first teachers.
    """
    return np.arange(teachers) < round(teachers * ratio / 100)
