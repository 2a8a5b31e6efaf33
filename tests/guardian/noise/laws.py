"""The discrete laws themselves, on every value of the lattice, and what a sample says about them.

Statistical assertions fail with a probability below `P` where the sampler is right.
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy import stats

P = 1e-9
Cdf = NDArray[np.float64]


def gaussian_cdf(at: NDArray[np.float64], scale: float) -> Cdf:
    """P(X <= x): exact sums, or on wide scales the continuous law, which differs by less than 1e-7 a cell."""
    if scale > 1000:
        return np.asarray(stats.norm.cdf((at + 0.5) / scale))
    support = np.arange(-math.ceil(20 * scale), math.ceil(20 * scale) + 1)
    weights = np.exp(-(support**2) / (2 * scale**2))
    below = np.cumsum(weights / weights.sum())
    return np.asarray(below[np.searchsorted(support, at)])


def laplace_cdf(at: NDArray[np.float64], scale: float) -> Cdf:
    """P(X <= x) in closed form: the weights e^(-|x|/scale) are geometric on both sides."""
    q = math.exp(-1 / scale)
    upper = 1 - q ** (at + 1) / (1 + q)
    return np.where(at >= 0, upper, q ** (-np.minimum(at, 0.0)) / (1 + q))


def fits(drawn: NDArray[np.int64], edges: NDArray[np.float64], cdf: Cdf) -> bool:
    """Whether a chi-square test of the cells between `edges`, where `cdf` is P(X <= edge), passes."""
    observed = np.bincount(np.searchsorted(edges, drawn), minlength=len(edges) + 1)
    expected = np.diff(cdf, prepend=0.0, append=1.0) * len(drawn)
    return bool(stats.chisquare(observed, expected).pvalue > P)


def tail_fits(drawn: NDArray[np.int64], far: int, below: float) -> bool:
    """Whether as many draws are at or beyond +-`far` as 2 P(X <= -far) = 2 `below` says."""
    beyond = int((np.abs(drawn) >= far).sum())
    return bool(stats.binomtest(beyond, len(drawn), 2 * below).pvalue > P)
