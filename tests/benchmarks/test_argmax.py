"""The worst case of an argmax: against histograms, many-digit arithmetic, lattices and steps of its proof."""

import itertools
import math
from dataclasses import replace

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import log_ndtr, logsumexp, ndtr

from benchmarks.argmax.cells import Room, cells_fit
from benchmarks.argmax.three_outcomes import log_outcomes, steepness
from benchmarks.argmax.worst_case import argmax_worst_case_rdp
from ostraka.common.privacy.conversion import ORDERS
from ostraka.common.two_outcomes import two_outcomes_rdp

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


@given(moved_votes(), st.sampled_from([2.0, 32.0]))
@settings(deadline=None, max_examples=10)
def test_no_histogram_exceeds_it(moved: tuple[Floats, Floats, float], order: float) -> None:
    counts, move, shift = moved
    assert both(order, counts, move) <= argmax_worst_case_rdp(order, shift)


@given(moved_votes(), st.sampled_from([2.0, 32.0]), st.booleans())
@settings(deadline=None, max_examples=10)
def test_one_count_that_moves_costs_two_outcomes(
    moved: tuple[Floats, Floats, float], order: float, falls: bool
) -> None:
    counts, _, shift = moved
    move = np.where(np.arange(len(counts)) == 0, -shift if falls else shift, 0.0)
    assert both(order, counts, move) <= two_outcomes_rdp(order, shift)


@pytest.mark.heavy
@given(moved_votes(), st.sampled_from([1.5, 2.0, 3.0, 8.0, 32.0, 64.0, 256.0]))
@settings(deadline=None, max_examples=150)
def test_no_histogram_of_many_exceeds_it(moved: tuple[Floats, Floats, float], order: float) -> None:
    counts, move, shift = moved
    assert both(order, counts, move) <= argmax_worst_case_rdp(order, shift)


@pytest.mark.parametrize(("order", "shift"), [(8.0, 0.05), (2.0, 0.3)])
def test_two_classes_come_within_a_percent(order: float, shift: float) -> None:
    gaps = np.linspace(-1, 1, 41) + (order - 1) * shift / 3
    found = max(both(order, np.array([0.0, gap]), np.array([-shift, shift])) for gap in gaps)
    assert found <= argmax_worst_case_rdp(order, shift) <= 1.01 * found


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


@pytest.mark.parametrize(
    ("order", "a", "b", "shift"),
    [(2.0, 0.747, 0.732, 0.02), (8.0, 0.948, 0.55, 0.05), (32.0, 0.832, 0.65, 0.005)],
)
def test_many_digits_of_three_outcomes_lie_within_a_percent(
    order: float, a: float, b: float, shift: float
) -> None:
    value = exact(order, a, b, shift)
    assert 1.004 * two_outcomes_rdp(order, math.sqrt(2) * shift) < value
    assert value <= argmax_worst_case_rdp(order, shift) <= 1.01 * value


@pytest.mark.parametrize("order", [1.5, 3.0, 16.0, 64.0, 1024.0])
def test_it_is_proved_and_grows_with_the_shift(order: float) -> None:
    shifts = np.geomspace(1e-4, 50, 14).tolist()
    bounds = [argmax_worst_case_rdp(order, shift) for shift in shifts]
    assert all(low < high for low, high in itertools.pairwise(bounds))
    for shift, bound in zip(shifts, bounds, strict=True):
        assert bound <= order * shift**2
        assert bound <= 1.01 * two_outcomes_rdp(order, math.sqrt(2) * shift)


@pytest.mark.heavy
@given(st.sampled_from(ORDERS), st.floats(1e-4, 50))
@settings(deadline=None, max_examples=200)
def test_every_order_and_shift_is_proved(order: float, shift: float) -> None:
    assert argmax_worst_case_rdp(order, shift) <= 1.01 * two_outcomes_rdp(order, math.sqrt(2) * shift)


def test_tiny_shifts_cost_no_more_than_larger_ones() -> None:
    bounds = [argmax_worst_case_rdp(2.0, shift) for shift in np.geomspace(1e-9, 1e-4, 25).tolist()]
    assert all(low < high for low, high in itertools.pairwise(bounds))
    assert argmax_worst_case_rdp(2.0, 0.0) == 0


def room(order: float, shift: float, above: float) -> Room:
    bound = above * two_outcomes_rdp(order, math.sqrt(2) * shift)
    return Room(order, shift, (order - 1) * bound, -0.6, -0.6, 4.5)


def test_a_bound_below_the_worst_case_is_not_proved() -> None:
    assert cells_fit(room(8.0, 0.05, 1.0099))
    assert not cells_fit(room(8.0, 0.05, 1.0045))
    assert not cells_fit(replace(room(8.0, 0.05, 1.0099), leg=math.inf))


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


@pytest.mark.parametrize("order", [1.5, 4.0, 32.0])
@pytest.mark.parametrize("moved", [1, 400])
def test_it_covers_lattices_and_broken_ties(order: float, moved: int) -> None:
    steps = 2000.0
    noise, shift = discrete(steps, 16_000), moved / steps
    bound = argmax_worst_case_rdp(order, shift, lattice=1 / steps)
    assert bound < order * shift**2 or moved == 1
    for a, b in itertools.product((-2000, 0, 1001, 1500, 9000), repeat=2):
        p, q = lattice_outcomes(noise, a, b), lattice_outcomes(noise, a + moved, b - moved)
        assert p.sum() == pytest.approx(1, abs=1e-12)
        assert max(divergence(order, np.log(x), np.log(y)) for x, y in ((p, q), (q, p))) <= bound


def test_a_lattice_costs_little_and_a_coarse_one_the_gaussian_mechanism() -> None:
    fine, continuous = (argmax_worst_case_rdp(8.0, 1 / 40, lattice=step) for step in (2**-16 / 40, 0.0))
    assert continuous < fine <= continuous * (1 + 1e-4)
    assert argmax_worst_case_rdp(8.0, 0.1, lattice=0.01) == 8 * 0.1**2


heights = st.floats(-3, 5)


@given(heights, heights, st.floats(0, 2 * math.pi))
@settings(deadline=None, max_examples=60)
def test_derivatives_of_outcomes_stay_within_what_the_proof_says(a: float, b: float, angle: float) -> None:
    h = 0.02
    along: Floats = np.linspace(-2 * h, 2 * h, 5)
    logs = log_outcomes(a + along * math.cos(angle), b + along * math.sin(angle))
    second = (logs[:, 1] - 2 * logs[:, 2] + logs[:, 3]) / h**2
    third = (logs[:, 4] - 2 * logs[:, 3] + 2 * logs[:, 1] - logs[:, 0]) / (2 * h**3)
    assert (second >= -1 - 1e-3).all()
    assert (second <= 1e-3).all()
    assert (np.abs(third) <= 1).all()


@given(heights, heights)
@settings(deadline=None, max_examples=60)
def test_steepness_is_the_length_of_the_gradient(a: float, b: float) -> None:
    h = 1e-4
    logs = log_outcomes(a + h * np.array([0, 1, -1, 0, 0]), b + h * np.array([0, 0, 0, 1, -1]))
    length = np.hypot(logs[:, 1] - logs[:, 2], logs[:, 3] - logs[:, 4]) / (2 * h)
    assert steepness(np.array([a]), np.array([b]), logs[:, :1])[:, 0] == pytest.approx(length, abs=1e-6)


@given(st.floats(1.01, 1024), st.floats(-3, 3).filter(lambda power: abs(power) > 1e-9))
def test_what_cauchy_and_schwarz_need(order: float, power: float) -> None:
    with mp.workdps(120):
        a = mp.mpf(order)
        v = mp.exp(mp.mpf(power) / a)
        chi = v**a - 1 - a * (v - 1)
        left = ((a - 1) * (1 - v**a)) ** 2
        assert left <= 2 * a * (a - 1) * chi * max(1, v**a)


@pytest.mark.heavy
@given(st.sampled_from([1.5, 8.0, 128.0]), st.floats(0.01, 1.5), heights, heights, st.floats(0, math.pi))
@settings(deadline=None, max_examples=150)
def test_the_moment_bends_down_no_more_than_cells_allow(
    order: float, tilt: float, a: float, b: float, angle: float
) -> None:
    rest = order - 1
    shift, h = tilt / rest, 0.01
    along: Floats = np.linspace(-h, h, 3)
    x, y = a + along * math.cos(angle), b + along * math.sin(angle)
    p, q = log_outcomes(x, y), log_outcomes(x + shift, y - shift)
    excess = (np.exp(p) * (np.expm1(rest * (p - q)) + rest * np.expm1(q - p))).sum(axis=0)
    unit = order * rest * shift**2
    longest = steepness(x, y, p)[:, 1] + math.sqrt(2) * shift
    weight = np.exp(np.maximum(q, order * p - rest * q))[:, 1] @ (2 * longest + 1) ** 2
    n = excess / unit
    most = n.max()
    assert (n[0] - 2 * n[1] + n[2]) / h**2 >= -1.02 * (most + 2 * math.sqrt(most * weight)) - 1e-6
    log = np.log1p(excess)
    assert (log[0] - 2 * log[1] + log[2]) / h**2 >= -min(order, 1 + math.sqrt(2) * tilt) - 1e-3


@pytest.mark.parametrize(
    ("order", "shift", "lattice", "named"),
    [
        (1.0, 1.0, 0.0, "order"),
        (math.nan, 1.0, 0.0, "order"),
        (2.0, -1.0, 0.0, "shift"),
        (2.0, math.inf, 0.0, "shift"),
        (2.0, 1.0, -1.0, "lattice"),
        (2.0, 1.0, math.nan, "lattice"),
    ],
)
def test_malformed_arguments_are_named(order: float, shift: float, lattice: float, named: str) -> None:
    with pytest.raises(ValueError, match=f"^{named}: "):
        argmax_worst_case_rdp(order, shift, lattice=lattice)


def test_the_three_probabilities_sum_to_one() -> None:
    a, b = (side.ravel() for side in np.meshgrid(np.linspace(-25, 40, 14), np.linspace(-25, 40, 14)))
    assert np.exp(log_outcomes(a, b)).sum(axis=0) == pytest.approx(np.ones(len(a)), abs=1e-12)
    assert float(np.exp(log_outcomes(np.array([0.3]), np.array([-30.0]))[0, 0])) == pytest.approx(ndtr(0.3))
