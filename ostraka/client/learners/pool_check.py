"""Whether the pool is like the parties' records: the mean of both compared (docs/sums.md)."""

import numpy as np

from ostraka.common.sums.feature_map import Floats

ALARM = 1e-6
"""Probability by chance below which a pool is not used: of a million pools that are like the records, one is
left out for nothing, and a pool that spoils a model has less than 1e-15."""


def pool_probability(U: Floats, gram: Floats, noise: float, records: float) -> float:
    """Return the probability by chance of a pool whose mean is as far from that of the parties' records.

    The last column of a Gram matrix of mapped records is their mean, times the constant: what is compared was
    bought with the matrix.

    Args:
        U: mapped records of the pool (m, d), the constant last.
        gram: mean of x x' over the parties' records, (d, d), with noise.
        noise: deviation of that noise on the diagonal; beside it, it is sqrt 2 times less.
        records: of the parties.
    """
    from scipy.stats import chi2

    d = U.shape[1]
    constant = U[0, -1]
    apart = gram[:-1, -1] - constant * U[:, :-1].mean(axis=0)
    spread = np.atleast_2d(np.cov(U[:, :-1].T)) * constant**2 * (1 / len(U) + 1 / records)
    variance = spread + np.eye(d - 1) * max(noise**2 / 2, np.finfo(np.float64).eps)
    return float(chi2.sf(apart @ np.linalg.solve(variance, apart), d - 1))
