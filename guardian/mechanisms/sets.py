"""The largest of very many noisy counts, nearly all of them 0, without drawing for each (000, appendix I.2).

The sets without votes have independent and equal noisy counts, so the largest of them is one draw from the
distribution of a maximum, and each of them is the one with equal chance.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx

from common.sharing.fixed_point import FRACTION_BITS
from common.sharing.ring import Ring, RingArray
from guardian.noise.source import NoiseSource

_BEHIND = -1.0

_FARTHEST = 30.0
"""No draw is more deviations away from 0, of whatever number it is the largest."""


def noisy_argmax_of_sets(
    cells: NDArray[np.int64], counts: RingArray, sets: int, sigma: float, noise: NoiseSource, ring: Ring
) -> NDArray[np.int64]:
    """Return the set (Q,) with the largest noisy count as if each of `sets` had its own draw, ties uniform.

    Args:
        cells: the sets with a draw of their own, ascending, int64 (Q, own).
        counts: their ring sums (Q, own); the sum of every other set is 0.
        sets: how many there are, at most 2^62; time and memory do not depend on it.
        sigma: noise of each count, in votes.
        noise: the randomness.
        ring: the ring of `counts`.

    Every set has a uniform key, and the largest key wins a tie. A set without a draw of its own is chosen
    with chance 1/others to within 2^-64.
    """
    noisy = ring.lift(counts + ring.wrap(noise.gaussian(sigma, counts.shape)))
    keys = _fractions(noise.uniform(counts.shape))
    others = sets - cells.shape[1]
    if others:
        largest = noise.largest_gaussian(sigma, np.full(len(cells), others))
        key = best_key(_fractions(noise.uniform((len(cells),))), largest, others, sigma)
        noisy = np.column_stack([noisy, largest])
        keys = np.column_stack([keys, key])
        cells = np.column_stack([cells, _one_of_the_others(cells, others, noise)])
    leading = noisy == noisy.max(axis=1, keepdims=True)
    winner = np.where(leading, keys, _BEHIND).argmax(axis=1)
    chosen: NDArray[np.int64] = np.take_along_axis(cells, winner[:, None], axis=1)[:, 0]
    return chosen


def best_key(
    uniform: NDArray[np.float64], largest: NDArray[np.int64], others: int, sigma: float
) -> NDArray[np.float64]:
    """Return the largest key (Q,) among those of N `others` that share the `largest` draw, from `uniform`.

    Let r be the chance that a draw of at most M is M. Pairs of draw and key in lexicographic order have a
    continuous distribution, and the largest of N pairs whose draw is M has a key of at most u with chance
    ((1 - r + r u)^N - (1 - r)^N) / (1 - (1 - r)^N). This is inverted at `uniform`, which is in (0, 1] (own
    derivation).
    """
    at_largest = _chance_of_equal(largest, math.ldexp(sigma, FRACTION_BITS))
    any_equal = -np.expm1(others * np.log1p(-at_largest))
    log_power = np.log1p(-(1 - uniform) * any_equal)
    key: NDArray[np.float64] = 1 + np.expm1(log_power / others) / at_largest
    return np.clip(key, 0.0, 1.0)


def _chance_of_equal(largest: NDArray[np.int64], steps: float) -> NDArray[np.float64]:
    """Return P(Z = M | Z <= M) for a discrete Gaussian Z of scale `steps`.

    Its inverse is the sum over i >= 0 of exp((2 M i - i^2) / (2 steps^2)), by Euler and Maclaurin up to the
    first derivative.
    """
    scaled = np.clip(largest / steps, -_FARTHEST, _FARTHEST)
    inverse = steps * math.sqrt(math.pi / 2) * erfcx(-scaled / math.sqrt(2)) + 0.5 - scaled / (12 * steps)
    chance: NDArray[np.float64] = 1 / np.maximum(inverse, 1.0)
    return np.minimum(chance, 1 - 2.0**-53)


def _one_of_the_others(cells: NDArray[np.int64], others: int, noise: NoiseSource) -> NDArray[np.int64]:
    """Return one set (Q,) of those not in `cells`, each with equal chance."""
    rank = (noise.uniform((len(cells),)) % np.uint64(others)).astype(np.int64)
    others_before = cells - np.arange(cells.shape[1])
    picked: NDArray[np.int64] = rank + (others_before <= rank[:, None]).sum(axis=1)
    return picked


def _fractions(uniform: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Return integers uniform over 64 bits as multiples of 2^-53 in (0, 1]."""
    return np.ldexp((uniform >> np.uint64(11)).astype(np.float64) + 1, -53)
