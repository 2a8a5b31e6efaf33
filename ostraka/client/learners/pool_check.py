"""Check that the pool resembles the parties' records, by comparing their means (docs/sums.md)."""

import numpy as np

from ostraka.common.sums.feature_map import Floats

ALARM = 1e-6
"""A pool with a smaller probability is not used: one in a million suitable pools is rejected, and a pool that
would harm a model has less than 1e-15."""


def pool_probability(U: Floats, gram: Floats, noise: float, records: float) -> float:
    """Return the probability that a pool's mean differs this much from the parties' by chance.

    The last column of a Gram matrix of mapped records is their mean, times the constant, so the comparison
    needs no further sum.

    Args:
        U: mapped records of the pool (m, d), the constant last.
        gram: mean of x x' over the parties' records, (d, d), with noise.
        noise: standard deviation of the noise on the diagonal; elsewhere it is less by sqrt 2.
        records: number of the parties' records.
    """
    from scipy.stats import chi2

    d = U.shape[1]
    constant = U[0, -1]
    apart = gram[:-1, -1] - constant * U[:, :-1].mean(axis=0)
    spread = np.atleast_2d(np.cov(U[:, :-1].T)) * constant**2 * (1 / len(U) + 1 / records)
    variance = spread + np.eye(d - 1) * max(noise**2 / 2, np.finfo(np.float64).eps)
    return float(chi2.sf(apart @ np.linalg.solve(variance, apart), d - 1))
