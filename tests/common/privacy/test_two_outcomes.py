"""The worst case of two outcomes: against many-digit arithmetic, a dense search and coarse lattices."""

import itertools
import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_ndtr

from ostraka.common.privacy.two_outcomes import steepest_quotient, two_outcomes_rdp
from ostraka.common.sharing.ballots import l1_radius

ORDERS = [1.01, 1.5, 2.0, 8.0, 32.0, 256.0, 1024.0]
SHIFTS = [1e-6, 1e-3, 0.05, 1.0, 50.0]


def divergence(order: float, g: float, shift: float) -> float:
    """Return D(Bernoulli(Phi(g)) || Bernoulli(Phi(g + shift))) with 80 digits."""
    with mp.workdps(80):
        return float(mp.log(moment(order, g, shift)) / (mp.mpf(order) - 1))


def moment(order: float, g: mp.mpf, shift: float) -> mp.mpf:
    a, x, y = mp.mpf(order), mp.mpf(g), mp.mpf(g) + mp.mpf(shift)
    return sum(tail(-z) ** a * tail(-w) ** (1 - a) for z, w in ((x, y), (-x, -y)))


def tail(z: mp.mpf) -> mp.mpf:
    return mp.erfc(z / mp.sqrt(2)) / 2


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("shift", SHIFTS)
def test_it_is_the_largest_divergence_and_hardly_more(order: float, shift: float) -> None:
    bound = two_outcomes_rdp(order, shift)
    around = np.linspace(-3, (order - 1) * shift + 3, 61)
    values = [divergence(order, float(g), shift) for g in around]
    best = int(np.argmax(values))
    step = around[1] - around[0]
    fine = [divergence(order, float(around[best] + step * t), shift) for t in np.linspace(-1, 1, 61)]
    assert max(values + fine) <= bound
    assert bound <= max(values + fine) * (1 + 0.002) or bound == order * shift**2 / 2


@pytest.mark.heavy
@given(st.sampled_from(ORDERS), st.floats(1e-5, 20), st.floats(0, 1))
@settings(deadline=None, max_examples=60)
def test_the_logarithm_of_the_moment_bends_down_no_more_than_cells_allow(
    order: float, shift: float, part: float
) -> None:
    start, end = -11.0, min((order - 1) * shift + 12, 40.0)
    with mp.workdps(80):
        g, step = mp.mpf(start + (end - start) * part), mp.mpf(10) ** -10
        before, at, after = (mp.log(moment(order, x, shift) - 1) for x in (g - step, g, g + step))
        assert (before - 2 * at + after) / step**2 >= -2 - order * min(1, 0.3 * shift)


def test_the_third_derivative_of_log_phi_stays_below_its_bound() -> None:
    x = np.linspace(-8, 8, 16_001)
    ratio = np.exp(-(x**2) / 2 - log_ndtr(x)) / math.sqrt(2 * math.pi)
    third = ratio * ((x + ratio) * (x + 2 * ratio) - 1)
    assert 0.29 < third.max() < 0.3


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("product", [0.05, 0.0999, 0.1001, 0.2])
def test_small_shifts_lose_no_digits(order: float, product: float) -> None:
    shift = product / order
    around = np.linspace(-shift, order * shift, 31).tolist()
    values = [divergence(order, g, shift) for g in around]
    assert two_outcomes_rdp(order, shift) == pytest.approx(max(values), rel=1e-4)


@pytest.mark.heavy
@given(st.sampled_from(ORDERS), st.floats(1e-6, 50), st.floats(-60, 60), st.booleans())
@settings(deadline=None, max_examples=100)
def test_no_input_and_direction_exceeds_it(order: float, shift: float, g: float, back: bool) -> None:
    start = g * max(1.0, (order - 1) * shift / 30)
    value = divergence(order, start, -shift if back else shift)
    assert value <= two_outcomes_rdp(order, shift)


@pytest.mark.heavy
@given(st.floats(1.01, 1024), st.floats(1e-6, 50), st.sampled_from([0.0, 1e-9, 1e-5, 0.1, 3.0]))
@settings(deadline=None, max_examples=100)
def test_never_above_the_gaussian_mechanism_nor_below_continuous_noise(
    order: float, shift: float, lattice: float
) -> None:
    bound = two_outcomes_rdp(order, shift, lattice=lattice)
    assert bound <= order * shift**2 / 2 * (1 + 1e-14)  # the same number, rounded otherwise
    assert bound >= two_outcomes_rdp(order, shift) * (1 - 3e-6)


@pytest.mark.parametrize(
    ("shift", "order", "gain"),
    [
        (1e-4, 32.0, math.pi / 2),
        (2 / (20 * math.sqrt(2)), 32.0, 1.42),
        (2 / (20 * math.sqrt(2)), 256.0, 1.02),
    ],
)
def test_how_far_it_lies_below_the_gaussian_mechanism(shift: float, order: float, gain: float) -> None:
    assert order * shift**2 / 2 / two_outcomes_rdp(order, shift) == pytest.approx(gain, abs=0.005)


def test_it_grows_with_the_shift() -> None:
    bounds = [two_outcomes_rdp(8.0, shift) for shift in np.geomspace(1e-6, 50, 60).tolist()]
    assert all(low < high for low, high in itertools.pairwise(bounds))
    assert two_outcomes_rdp(8.0, 0.0) == 0


def discrete(steps: float, reach: int) -> np.ndarray:
    x = np.arange(-reach, reach + 1)
    mass = np.exp(-0.5 * (x / steps) ** 2)
    return np.asarray(mass / mass.sum())


@pytest.mark.parametrize("order", [1.5, 4.0, 32.0])
@pytest.mark.parametrize("draws", [1, 2])
@pytest.mark.parametrize("moved", [1, 7])
def test_it_covers_coarse_lattices_and_broken_ties(order: float, draws: int, moved: int) -> None:
    steps = 150.0
    noise = discrete(steps, 1800)
    deviation = steps * math.sqrt(draws)
    if draws == 2:
        noise = np.convolve(noise, noise)
    above = np.cumsum(noise[::-1])[::-1]
    below = np.cumsum(noise)
    bound = two_outcomes_rdp(order, moved / deviation, lattice=1 / deviation)
    centre = len(noise) // 2
    for tie in (0.0, 0.3, 0.5):
        at = np.arange(centre - int(4 * deviation), centre + int(4 * deviation))
        yes, no = above[at] - tie * noise[at], below[at - 1] + tie * noise[at]
        p, q = (yes[moved:], no[moved:]), (yes[:-moved], no[:-moved])
        for first, second in ((p, q), (q, p)):
            moment = sum(x**order * y ** (1 - order) for x, y in zip(first, second, strict=True))
            assert (np.log(moment) / (order - 1)).max() <= bound


@pytest.mark.parametrize(
    ("order", "shift", "lattice", "named"),
    [
        (1.0, 1.0, 0.0, "order"),
        (math.nan, 1.0, 0.0, "order"),
        (math.inf, 1.0, 0.0, "order"),
        (2.0, -1.0, 0.0, "shift"),
        (2.0, math.nan, 0.0, "shift"),
        (2.0, 1.0, -1.0, "lattice"),
        (2.0, 1.0, math.inf, "lattice"),
    ],
)
def test_malformed_arguments_are_named(order: float, shift: float, lattice: float, named: str) -> None:
    with pytest.raises(ValueError, match=f"^{named}: "):
        two_outcomes_rdp(order, shift, lattice=lattice)


@given(st.floats(0.01, 40))
def test_the_l1_radius_is_the_largest_norm_of_a_clipped_ballot(tau1: float) -> None:
    norms = [math.sqrt(m) * min(1, tau1 / m) for m in range(1, 100)]
    assert l1_radius(tau1) == pytest.approx(max(norms), rel=1e-12)


@pytest.mark.parametrize("tau1", [0.0, -1.0, math.nan, math.inf])
def test_l1_radius_refuses_what_clips_nothing(tau1: float) -> None:
    with pytest.raises(ValueError, match=r"^tau1: "):
        l1_radius(tau1)


@given(*(st.floats(low, high) for low, high in ((0.01, 1), (1.1, 3), (0, 1), (0, 5), (-5, 5), (0.1, 4))))
@settings(deadline=None, max_examples=200)
def test_no_quotient_between_two_places_is_above_the_steepest(
    low: float, times: float, first: float, slope: float, curve: float, bend: float
) -> None:
    x = np.linspace(low, low * times, 101)
    beyond = x - low
    # Its second derivative is -bend at least, and it rises up to the end.
    values = first + (slope + bend * beyond[-1]) * beyond + max(curve, -bend / 2) * beyond**2
    bound = steepest_quotient(low, low * times, values[:1], values[-1:], bend)
    assert (values / x**2).max() <= bound[0] + 1e-9 * (1 + abs(bound[0]))


def test_a_line_through_nothing_is_steepest_where_it_begins() -> None:
    zero = np.zeros(1)
    assert steepest_quotient(0.5, 1.0, zero, zero)[0] == 0.0
