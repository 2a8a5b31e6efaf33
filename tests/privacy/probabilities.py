"""Exact probabilities of outcomes under continuous noise, which the lattice changes by less than 1e-4."""

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from common.plan import Confident, Mechanism


def argmax(votes: NDArray[np.int64], sigma: float) -> NDArray[np.float64]:
    x = np.linspace(votes.min() / sigma - 9, votes.max() / sigma + 9, 4001)[:, None]
    cdf = stats.norm.cdf(x - votes / sigma)
    won = stats.norm.pdf(x - votes / sigma) * cdf.prod(axis=1, keepdims=True) / np.maximum(cdf, 1e-300)
    return np.asarray(won.sum(axis=0) * (x[1] - x[0]))


def outcomes(votes: NDArray[np.int64], mechanism: Mechanism) -> NDArray[np.float64]:
    """In the order of `sampling.outcomes`."""
    if not isinstance(mechanism, Confident):
        return argmax(votes, mechanism.sigma)
    passed = stats.norm.sf((mechanism.threshold - votes.max()) / mechanism.sigma1)
    return np.append(passed * argmax(votes, mechanism.sigma2), 1 - passed)


def divergence(p: NDArray[np.float64], r: NDArray[np.float64], order: float) -> float:
    """D_order(p || r)."""
    return float(np.log(np.sum(p**order * r ** (1 - order))) / (order - 1))
