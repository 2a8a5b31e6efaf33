"""Divergences of a noisy argmax of single histograms: by trapezoids, with many digits, on a lattice."""

import math

import mpmath as mp
import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import log_ndtr, logsumexp

Floats = NDArray[np.float64]


def log_probabilities(counts: Floats) -> Floats:
    """Return log P(class j has the largest of counts with normal noise of deviation 1), by trapezoids."""
    t = np.arange(counts.min() - 4, counts.max() + 10, 0.08)[:, None]
    lower = log_ndtr(t - counts)
    density = -0.5 * (t - counts) ** 2 + math.log(0.08 / math.sqrt(2 * math.pi))
    return np.asarray(logsumexp(density + lower.sum(axis=1, keepdims=True) - lower, axis=0))


def divergence(order: float, p: Floats, q: Floats) -> float:
    """Return D(P || R) from logarithms, without the loss of digits in the sum of the moment."""
    rise = q - p
    rest = order - 1
    if (order * p - rest * q).max() > 1:
        return float(logsumexp(order * p - rest * q)) / rest
    start, tilted = np.exp(p), np.exp(order * p - rest * q)
    falls = np.where(rest * rise < -1, tilted - start, start * less_one(-rest * rise))
    excess = float((falls + rest * start * less_one(rise)).sum())
    return math.log1p(max(excess, 0.0)) / rest


def less_one(power: Floats) -> Floats:
    return np.asarray(np.expm1(np.minimum(power, 50.0)))


def both(order: float, counts: Floats, move: Floats) -> float:
    p, q = log_probabilities(counts), log_probabilities(counts + move)
    return max(divergence(order, p, q), divergence(order, q, p))


@st.composite
def moved_votes(draw: st.DrawFn) -> tuple[Floats, Floats, float]:
    """Draw counts of 2 to 30 classes, a move of 1 to 4 votes of one weight, and their sum, in deviations."""
    classes = draw(st.integers(2, 30))
    spread = draw(st.sampled_from([0.0, 0.5, 2.0, 8.0]))
    counts = spread * np.array(draw(st.lists(st.floats(-1, 1), min_size=classes, max_size=classes)))
    counts[:2] += draw(st.floats(0, 3))
    weight, votes = draw(st.floats(1e-3, 0.7)), draw(st.integers(1, 4))
    move = np.zeros(classes)
    for _ in range(votes):
        gains, loses = draw(st.permutations(range(min(classes, 4))))[:2]
        move[gains] += weight
        move[loses] -= weight
    return counts, move, votes * weight


def exact(order: float, a: float, b: float, shift: float) -> float:
    """Return the divergence of the three outcomes with 30 digits."""
    with mp.workdps(30):
        p, q = wins(a, b), wins(a + shift, b - shift)
        moment = sum(x ** mp.mpf(order) * y ** (1 - mp.mpf(order)) for x, y in zip(p, q, strict=True))
        return float(mp.log(moment) / (mp.mpf(order) - 1))


def wins(a: float, b: float) -> tuple[mp.mpf, mp.mpf, mp.mpf]:
    first = win(mp.mpf(a), mp.mpf(b))
    none = mp.ncdf(-mp.mpf(a)) * mp.ncdf(-mp.mpf(b))
    return first, 1 - first - none, none


def win(a: mp.mpf, b: mp.mpf) -> mp.mpf:
    points = [mp.mpf(point) for point in (0, 1, 2, 3, 5, 8, 12, 16)]
    return mp.quad(lambda t: mp.npdf(t - a) * mp.ncdf(t - b), points)


def discrete(steps: float, reach: int) -> Floats:
    x = np.arange(-reach, reach + 1)
    mass = np.exp(-0.5 * (x / steps) ** 2)
    return np.asarray(mass / mass.sum())


def lattice_outcomes(noise: Floats, a: int, b: int) -> Floats:
    """Return P(A wins), P(B wins), P(the level wins) of steps `a` and `b` above a level, ties shared."""
    reach = len(noise) // 2
    below = np.concatenate((np.zeros(1), np.cumsum(noise)))

    def less(x: NDArray[np.int64]) -> Floats:
        return np.asarray(below[np.clip(x + reach, 0, len(noise))])

    def win(own: int, other: int) -> float:
        x = np.arange(max(1 - own, -reach), reach + 1)
        at = x + own - other
        return float(np.sum(noise[x + reach] * (less(at) + less(at + 1)) / 2))

    zero = np.zeros(1, dtype=np.int64)
    ends = [(noise[-n + reach] if abs(n) <= reach else 0.0) for n in (a, b)]
    lows = [float(less(zero - n)[0]) for n in (a, b)]
    only_a, only_b, tie = ends[0] * lows[1], lows[0] * ends[1], ends[0] * ends[1]
    level = lows[0] * lows[1] + (only_a + only_b) / 2 + tie / 3
    return np.array([win(a, b) + only_a / 2 + tie / 3, win(b, a) + only_b / 2 + tie / 3, level])


def ordered_outcomes(noise: Floats, a: int, b: int) -> Floats:
    """Return the same probabilities if A wins ties with B, and B wins ties with the level."""
    reach = len(noise) // 2
    below = np.concatenate((np.zeros(1), np.cumsum(noise)))

    def up_to(x: NDArray[np.int64]) -> Floats:
        return np.asarray(below[np.clip(x + reach + 1, 0, len(noise))])

    x = np.arange(-reach, reach + 1)
    wins_a = float(np.sum(noise * (x + a >= 0) * up_to(x + a - b)))
    wins_b = float(np.sum(noise * (x + b >= 0) * up_to(x + b - a - 1)))
    level = float(up_to(np.array([-1 - a]))[0] * up_to(np.array([-1 - b]))[0])
    return np.array([wins_a, wins_b, level])
