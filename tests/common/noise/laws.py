"""The discrete distributions themselves, on every value of the lattice, and tests of samples against them.

Statistical assertions fail with a probability below `P` if the sampler is right.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

P = 1e-9
Cdf = NDArray[np.float64]


class Law(NamedTuple):
    """A distribution's P(X <= x) for a scale, and the continuous distribution of scale 1."""

    cdf: Callable[[NDArray[np.float64], float], Cdf]
    continuous: Any


def gaussian_cdf(at: NDArray[np.float64], scale: float) -> Cdf:
    """Return P(X <= x): exact sums, or for wide scales the continuous law, which differs by < 1e-7 a cell."""
    if scale > 1000:
        return np.asarray(stats.norm.cdf((at + 0.5) / scale))
    support = np.arange(-math.ceil(20 * scale), math.ceil(20 * scale) + 1)
    weights = np.exp(-(support**2) / (2 * scale**2))
    below = np.cumsum(weights / weights.sum())
    return np.asarray(below[np.searchsorted(support, at)])


def laplace_cdf(at: NDArray[np.float64], scale: float) -> Cdf:
    """Return P(X <= x) in closed form: the weights e^(-|x|/scale) are geometric on both sides."""
    q = math.exp(-1 / scale)
    upper = 1 - q ** (at + 1) / (1 + q)
    return np.where(at >= 0, upper, q ** (-np.minimum(at, 0.0)) / (1 + q))


GAUSSIAN, LAPLACE = Law(gaussian_cdf, stats.norm), Law(laplace_cdf, stats.laplace)


def edges(law: Law, steps: float) -> NDArray[np.float64]:
    """Return the ends of about twenty cells, of about equal probability if the scale allows it."""
    ends = law.continuous.ppf(np.arange(1, 20) / 20) * steps
    return np.unique([*np.floor(ends), *np.ceil(ends)] if steps < 1 else np.round(ends))


def fits(drawn: NDArray[np.int64], law: Law, steps: float) -> bool:
    """Whether a chi-square test on the law's cells passes."""
    ends = edges(law, steps)
    observed = np.bincount(np.searchsorted(ends, drawn), minlength=len(ends) + 1)
    expected = np.diff(law.cdf(ends, steps), prepend=0.0, append=1.0) * len(drawn)
    return bool(stats.chisquare(observed, expected).pvalue > P)


def tail_fits(drawn: NDArray[np.int64], law: Law, steps: float, deviations: float) -> bool:
    """Whether the right number of draws lies at least `deviations` scales, and a step, from 0."""
    far = max(1, math.floor(deviations * steps))
    below = law.cdf(np.array([-float(far)]), steps)[0]
    beyond = int((np.abs(drawn) >= far).sum())
    return bool(stats.binomtest(beyond, len(drawn), 2 * below).pvalue > P)


def alike(drawn: NDArray[np.int64], others: NDArray[np.int64]) -> bool:
    """Whether the Kolmogorov-Smirnov test accepts two samples as draws of one distribution."""
    return bool(stats.ks_2samp(drawn, others, method="asymp").pvalue > P)
