"""Sums of discrete Gaussians: beside their law to many digits, its divergences, and draws of it."""

import math
from fractions import Fraction
from functools import cache
from itertools import pairwise

import mpmath as mp
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import logsumexp

from ostraka.common.noise import LATTICE, ExactNoise
from ostraka.common.privacy import InputError
from ostraka.common.privacy.filters import GAUSSIAN
from ostraka.common.privacy.gaussian import noise_rho
from ostraka.common.privacy.summed_noise import is_close, log_ratio, rdp_of_sum, share_sigma
from ostraka.common.verified.noised_parts import DEVIATIONS
from tests.common.noise.laws import GAUSSIAN as GAUSSIAN_LAW
from tests.common.noise.laws import fits

DIGITS = 50
REACH = 14
"""Scales beyond which weights are left out: of a draw below e^-98."""


@cache
def law(steps: float, draws: int) -> list[mp.mpf]:
    """Weights of the sum, of -n..n."""
    reach = math.ceil(REACH * steps)
    one = [mp.exp(-(mp.mpf(x) ** 2) / (2 * mp.mpf(steps) ** 2)) for x in range(-reach, reach + 1)]
    whole = one
    for _ in range(draws - 1):
        summed = [mp.mpf(0)] * (len(whole) + len(one) - 1)
        for at, weight in enumerate(whole):
            for further, other in enumerate(one):
                summed[at + further] += weight * other
        whole = summed
    return whole


LAWS = [(1.0, 2), (1.0, 3), (1.3, 3), (2.0, 2)]


@pytest.mark.parametrize(("steps", "draws"), LAWS)
def test_a_sum_is_as_close_to_one_draw_as_is_proved(steps: float, draws: int) -> None:
    with mp.workdps(DIGITS):
        weights = law(steps, draws)
        middle = len(weights) // 2
        variance = draws * mp.mpf(steps) ** 2
        apart = [
            mp.log(weights[middle + x]) + mp.mpf(x) ** 2 / (2 * variance)
            for x in range(math.ceil(3 * math.sqrt(draws) * steps))
        ]
        spread = max(apart) - min(apart)
        assert spread <= log_ratio(steps, draws)
        # Later draws smooth what the first two left.
        assert draws > 2 or spread >= 0.7 * log_ratio(steps, draws)


@pytest.mark.parametrize(("steps", "draws"), LAWS)
def test_no_test_tells_shifted_sums_apart_better_than_the_claim(steps: float, draws: int) -> None:
    """Quantiles g(k) of the sum rise by no more than 1/sqrt(s^2 - 1/2) a step."""
    with mp.workdps(DIGITS):
        assert is_close(steps * math.sqrt(draws) * LATTICE, draws)
        weights = law(steps, draws)
        middle = len(weights) // 2
        whole = mp.fsum(weights)
        tails = [mp.fsum(weights[middle + k + 1 :]) / whole for k in range(math.ceil(4 * steps))]
        g = [-mp.sqrt(2) * mp.erfinv(2 * tail - 1) for tail in tails]
        rises = [2 * g[0], *(high - low for low, high in pairwise(g))]
        assert max(rises) <= 1 / mp.sqrt(draws * mp.mpf(steps) ** 2 - 0.5)
        assert max(rises) > 1 / mp.sqrt(draws * mp.mpf(steps) ** 2)


def logs(steps: float, draws: int) -> NDArray[np.float64]:
    reach = math.ceil(12 * steps)
    one = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * steps**2))
    whole = one
    for _ in range(draws - 1):
        whole = np.convolve(whole, one)
    return np.asarray(np.log(whole / whole.sum()))


@given(
    st.floats(1.2, 6),
    st.integers(2, 5),
    st.integers(1, 3),
    st.sampled_from([1.5, 2.0, 8.0, 32.0]),
)
def test_no_divergence_is_above_what_is_charged(steps: float, draws: int, shift: int, order: float) -> None:
    sigma = steps * math.sqrt(draws)
    # The tilted law is about p, moved by order times the shift: it must lie within what is summed.
    assume(order * shift < 5 * sigma)
    p = logs(steps, draws)
    found = float(logsumexp(order * p[shift:] + (1 - order) * p[:-shift])) / (order - 1)
    assert found <= rdp_of_sum(order, shift * LATTICE, sigma * LATTICE, draws) * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize("steps", [1.0, 1.3, 7.7, 1000.5, 4.4e5])
def test_a_draw_is_cut_off_with_the_chance_that_is_proved(steps: float) -> None:
    """Of all whole numbers beyond the bound, whose weights add up to less than an integral from it on."""
    with mp.workdps(DIGITS):
        r = mp.mpf(steps)
        bound = mp.ceil(DEVIATIONS * r)
        cut = 2 * mp.quad(lambda x: mp.exp(-(x**2) / (2 * r**2)), [bound, bound + 2 * r, mp.inf])
        if steps < 2000:
            ends = range(int(bound) + 1, int(bound + 8 * r))
            summed = 2 * mp.fsum(mp.exp(-(mp.mpf(x) ** 2) / (2 * r**2)) for x in ends)
            assert summed <= cut
        assert cut / (r * mp.sqrt(2 * mp.pi)) < mp.mpf(2) ** -107


@given(
    st.floats(1.2, 4),
    st.integers(1, 4),
    st.integers(1, 3),
    st.floats(2, 4),
    st.floats(0.01, 4),
)
def test_cutting_draws_off_adds_no_more_to_delta_than_is_proved(
    steps: float, draws: int, shift: int, deviations: float, bought: float
) -> None:
    """At bounds so low that it shows: each draw beyond its own is moved to it."""
    reach = math.ceil(12 * steps)
    bound = math.ceil(deviations * steps)
    whole = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * steps**2))
    whole /= whole.sum()
    cut = whole[reach - bound : reach + bound + 1].copy()
    cut[[0, -1]] += whole[: reach - bound].sum()
    beyond = 2 * whole[: reach - bound].sum()

    def delta(one: NDArray[np.float64]) -> float:
        """Return the least delta at which a shift by so many steps is (bought, delta)-private."""
        summed = one
        for _ in range(draws - 1):
            summed = np.convolve(summed, one)
        padded = np.pad(summed, shift)
        moved = np.roll(padded, shift)
        return float(np.maximum(moved - math.exp(bought) * padded, 0).sum())

    added = (1 + math.exp(bought)) * draws * beyond
    assert delta(cut) <= delta(whole) + added + 1e-12


@given(st.floats(0.01, 1e4), st.integers(1, 10_000))
def test_shares_add_up_to_the_whole(sigma: float, draws: int) -> None:
    share = Fraction(share_sigma(sigma, draws))
    assert Fraction(sigma) ** 2 <= draws * share**2 <= Fraction(sigma) ** 2 * (1 + Fraction(1, 2**45))


@given(st.floats(0.01, 1e4), st.integers(1, 10_000), st.floats(1.5, 64))
def test_a_sum_costs_what_one_draw_costs(sigma: float, draws: int, order: float) -> None:
    rho = noise_rho(1.0, sigma)
    assert rdp_of_sum(GAUSSIAN, 1.0, sigma, draws) == rho
    assert rdp_of_sum(order, 1.0, sigma, draws) == order * rho


def test_draws_of_shares_add_up_to_the_law() -> None:
    draws, steps = 5, 40.0
    share = share_sigma(steps * LATTICE, draws)
    assert fits(ExactNoise().gaussian(share, (draws, 40_000)).sum(axis=0), GAUSSIAN_LAW, steps)


@pytest.mark.parametrize("order", [2.0, GAUSSIAN])
@pytest.mark.parametrize("sigma", [1e200, 1e300])
def test_noise_of_any_size_is_costed(sigma: float, order: float) -> None:
    """Plans may name it, and are refused by what their ring holds."""
    assert rdp_of_sum(order, 1.0, sigma, 3) == 0
    assert not is_close(1.7e308, 3)


@pytest.mark.parametrize(("sigma", "draws"), [(0.9, 1), (3.0, 10), (1e4, 10**8)])
def test_draws_too_narrow_for_the_proof_are_refused(sigma: float, draws: int) -> None:
    with pytest.raises(InputError, match="too narrow"):
        rdp_of_sum(8.0, 1.0, sigma * LATTICE, draws)


@pytest.mark.parametrize(("steps", "draws"), [(0.5, 2), (math.nan, 2), (math.inf, 2), (2.0, 0)])
def test_a_ratio_of_no_draws_is_refused(steps: float, draws: int) -> None:
    with pytest.raises(InputError):
        log_ratio(steps, draws)
