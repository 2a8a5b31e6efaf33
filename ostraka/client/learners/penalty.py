"""The penalty of a ridge regression by Stein's unbiased estimate of its risk (docs/sums.md)."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ostraka.client.learners.regression import Moments
from ostraka.common.sums.feature_map import Floats

NDArrayBool = NDArray[np.bool_]

PENALTIES: Floats = np.geomspace(1e-6, 10, 29)
"""Tried, as parts of the largest eigenvalue: four a factor of ten."""
FOLDS = 4
"""Parts of the pool: three quarters of it make a covariance nearly as good as the whole one's."""
SEED = 0
"""Of the folds: the same pool gives the same model."""


@dataclass(frozen=True)
class Fold:
    """Covariances of mapped records: of all but a part of the pool, and of that part."""

    rest: Floats = field(repr=False)
    held_out: Floats = field(repr=False)


@dataclass(frozen=True)
class PoolCovariance:
    """Second moments of the pool's mapped records, (d, d), of all `records` and fold by fold."""

    whole: Floats = field(repr=False)
    folds: tuple[Fold, ...] = field(repr=False)
    records: int


def pool_covariance(U: Floats) -> PoolCovariance:
    """Return the second moments of mapped records (m, d), m at least `FOLDS`."""
    order = np.random.default_rng(SEED).permutation(len(U))
    parts = [(U[part].T @ U[part], len(part)) for part in np.array_split(order, FOLDS)]
    total = np.sum([gram for gram, _ in parts], axis=0)
    folds = tuple(Fold((total - gram) / (len(U) - n), gram / n) for gram, n in parts)
    return PoolCovariance(total / len(U), folds, len(U))


def choose_penalty_by_pool(
    moments: Moments, pool: PoolCovariance, blend: Callable[[Floats], Floats], *, rare: bool = False
) -> float:
    """Return the penalty of least estimated risk, its quadratic term on pool records that no fit has seen.

    One penalty serves all columns: the best of each column by itself would follow its noise.

    Args:
        moments: what is regressed.
        pool: covariances of the pool.
        blend: makes the regression's matrix of a covariance of the pool.
        rare: whether one of two classes is rare: then the largest penalty is taken whose risk may be the
            least but for the noise, as most of that risk is of records that no score need tell apart.
    """
    top = float(np.linalg.eigvalsh(pool.whole)[-1])
    penalties = PENALTIES * top
    risks = np.zeros(len(penalties))
    for fold in pool.folds:
        risks += estimate_risks(moments, blend(fold.rest), fold.held_out, fold.rest, penalties) / FOLDS
    A = blend(pool.whole)
    allowed = np.where(_above_floors(moments, A, pool, penalties), risks, np.inf)
    best = int(allowed.argmin())
    return float(penalties[_most_careful(moments, A, allowed, best, penalties) if rare else best])


def _most_careful(moments: Moments, A: Floats, risks: Floats, best: int, penalties: Floats) -> int:
    """Return the place of the largest penalty whose risk is within a deviation of noise of the best one's.

    The estimate's noise is that of -2 tr W'b: of a difference of two, 2 s times the distance of their W.
    """
    w, V = np.linalg.eigh(A)
    rotated = V.T @ moments.values
    shrunk = rotated[:, :, None] / (np.maximum(w, 0)[:, None, None] + penalties)
    apart = np.linalg.norm(shrunk - shrunk[:, :, best : best + 1], axis=(0, 1))
    near = risks <= risks[best] + 2 * math.sqrt(moments.noise) * apart
    return int(np.flatnonzero(near).max())


def choose_penalty(moments: Moments, A: Floats) -> float:
    """Return the penalty of least estimated risk, where a matrix is all that is known of records."""
    penalties = PENALTIES * max(float(np.linalg.eigvalsh(A)[-1]), np.finfo(np.float64).tiny)
    risks = estimate_risks(moments, A, A, A, penalties)
    allowed = _explains_less_than_all(moments, A, penalties)
    return float(penalties[np.where(allowed, risks, np.inf).argmin()])


def estimate_risks(
    moments: Moments, A: Floats, held_out: Floats, sampled: Floats, penalties: Floats
) -> Floats:
    """Return W'SW - 2 tr W'b + 2 tr of b's error covariance times (A + l)^-1, for each penalty l.

    It is the squared error on records of second moments S = `held_out`, up to a constant, without bias.
    """
    w, V = np.linalg.eigh(A)
    w = np.maximum(w, 0)
    rotated = V.T @ moments.values
    quadratic = V.T @ held_out @ V
    error = moments.noise + moments.sampling * np.einsum("ij,ij->j", V, sampled @ V)
    k = moments.values.shape[1]
    risks = np.empty(len(penalties))
    for i, penalty in enumerate(penalties):
        W = rotated / (w + penalty)[:, None]
        risks[i] = (
            (W * (quadratic @ W)).sum() - 2 * (rotated * W).sum() + 2 * k * (error / (w + penalty)).sum()
        )
    return risks


def _above_floors(moments: Moments, A: Floats, pool: PoolCovariance, penalties: Floats) -> NDArrayBool:
    """Return which penalties are at least a pool record's worth, and let noise explain less than all of y."""
    worth = penalties >= np.trace(pool.whole) / pool.records
    allowed: NDArrayBool = worth & _explains_less_than_all(moments, A, penalties)
    allowed[-1] = True
    return allowed


def _explains_less_than_all(moments: Moments, A: Floats, penalties: Floats) -> NDArrayBool:
    w = np.maximum(np.linalg.eigvalsh(A), 0)
    explained = moments.noise * (1 / (w + penalties[:, None])).sum(axis=1)
    allowed: NDArrayBool = explained <= moments.second_moment
    allowed[-1] = True
    return allowed
