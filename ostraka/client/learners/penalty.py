"""The penalty of a ridge regression by Stein's unbiased risk estimate (docs/sums.md)."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ostraka.client.learners.regression import Moments
from ostraka.common.sums.feature_map import Floats

NDArrayBool = NDArray[np.bool_]

PENALTIES: Floats = np.geomspace(1e-6, 10, 29)
"""Candidate penalties, as fractions of the largest eigenvalue: four per decade."""
FOLDS = 4
"""Number of folds: the covariance of three quarters of the pool is nearly as good as that of all."""
SEED = 0
"""Seed of the folds: the same pool gives the same model."""


@dataclass(frozen=True)
class Fold:
    """Covariances of mapped records: of all except one part of the pool, and of that part."""

    rest: Floats = field(repr=False)
    held_out: Floats = field(repr=False)


@dataclass(frozen=True)
class PoolCovariance:
    """Second moments of the pool's mapped records, (d, d), of all `records` and by fold."""

    whole: Floats = field(repr=False)
    folds: tuple[Fold, ...] = field(repr=False)
    records: int


def pool_covariance(U: Floats) -> PoolCovariance:
    """Return the second moments of mapped records (m, d), with m at least `FOLDS`."""
    order = np.random.default_rng(SEED).permutation(len(U))
    parts = [(U[part].T @ U[part], len(part)) for part in np.array_split(order, FOLDS)]
    total = np.sum([gram for gram, _ in parts], axis=0)
    folds = tuple(Fold((total - gram) / (len(U) - n), gram / n) for gram, n in parts)
    return PoolCovariance(total / len(U), folds, len(U))


def choose_penalty_by_pool(
    moments: Moments, pool: PoolCovariance, blend: Callable[[Floats], Floats], *, rare: bool = False
) -> float:
    """Return the penalty with the least estimated risk, whose quadratic term uses held-out pool records.

    All columns share one penalty: choosing one per column would follow its noise.

    Args:
        moments: the moments to regress.
        pool: covariances of the pool.
        blend: makes the regression's matrix from a covariance of the pool.
        rare: whether one of two classes is rare: then the largest penalty within noise of the least risk is
            taken, because most of that risk is in records whose scores need not differ.
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
    """Return the index of the largest penalty whose risk is within one noise deviation of the best.

    The estimate's noise is that of -2 tr W'b, so the difference of two has 2 s times the distance between
    their W.
    """
    w, V = np.linalg.eigh(A)
    rotated = V.T @ moments.values
    shrunk = rotated[:, :, None] / (np.maximum(w, 0)[:, None, None] + penalties)
    apart = np.linalg.norm(shrunk - shrunk[:, :, best : best + 1], axis=(0, 1))
    near = risks <= risks[best] + 2 * math.sqrt(moments.noise) * apart
    return int(np.flatnonzero(near).max())


def choose_penalty(moments: Moments, A: Floats) -> float:
    """Return the penalty with the least estimated risk, if a matrix is all that is known of the records."""
    penalties = PENALTIES * max(float(np.linalg.eigvalsh(A)[-1]), np.finfo(np.float64).tiny)
    risks = estimate_risks(moments, A, A, A, penalties)
    allowed = _explains_less_than_all(moments, A, penalties)
    return float(penalties[np.where(allowed, risks, np.inf).argmin()])


def estimate_risks(
    moments: Moments, A: Floats, held_out: Floats, sampled: Floats, penalties: Floats
) -> Floats:
    """Return W'SW - 2 tr W'b + 2 tr of b's error covariance times (A + l)^-1, for each penalty l.

    This is an unbiased estimate of the squared error, up to a constant, on records of second moments S =
    `held_out`.
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
    """Return which penalties are at least a pool record's weight, and do not let noise explain all of y."""
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
