"""What is published, what noise it has, and what that costs, against many digits."""

import math

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostraka.common.privacy import AMOUNT_UNIT, InputError
from ostraka.common.privacy.filters import GAUSSIAN
from ostraka.guardian.accounting import publication_rdp
from ostraka.guardian.accounting.smooth_noise import MIN_SCALE, SmoothNoise


def published(noise: SmoothNoise, total: int, *changes: int) -> tuple[int, float]:
    """Return what is published with a draw of 7, and the scale that it was drawn with."""
    scales: list[float] = []

    def draw(scale: float) -> int:
        scales.append(scale)
        return 7

    found = noise.publish(total, changes, draw)
    (scale,) = scales
    return found, scale


def test_the_noise_is_as_wide_as_the_farthest_change_that_counts() -> None:
    noise = SmoothNoise(beta=0.5, sigma=3.0)
    far = 10**9
    assert published(noise, 5, far, far) == (12, 3.0 * far)
    assert published(noise, 5, 0, 0, far)[1] == pytest.approx(3.0 * far * math.exp(-1.0))
    assert published(noise, 5, far, 2 * far)[1] == pytest.approx(3.0 * 2 * far * math.exp(-0.5))


def test_the_noise_is_never_so_narrow_that_steps_show() -> None:
    assert published(SmoothNoise(0.1, 2.0), 5, 0, 0) == (12, MIN_SCALE)


@given(st.floats(1.5, 1024))
def test_the_default_costs_about_a_quarter_at_every_order_it_is_chosen_for(order: float) -> None:
    cost = SmoothNoise.by_order(order).cost(order) * AMOUNT_UNIT
    assert 0.25 <= cost <= 0.25 + math.log(2) / (2 * (order - 1))


@given(st.floats(1.5, 64), st.floats(0.1, 0.99))
def test_the_cost_is_no_less_than_proved_and_grows_with_the_order(order: float, part: float) -> None:
    noise = SmoothNoise.by_order(order)
    cost = noise.cost(order)
    assert cost >= publication_rdp(noise.beta, noise.sigma, [order])[0] / AMOUNT_UNIT
    assert noise.cost(1 + part * (order - 1)) <= cost


@pytest.mark.parametrize(
    ("beta", "sigma"), [(0.2, 3.0), (0.0, 1.0), (-1.0, 1.0), (0.1, 0.0), (0.01, math.inf), (math.nan, 1.0)]
)
def test_noise_that_bounds_nothing_is_refused(beta: float, sigma: float) -> None:
    with pytest.raises(InputError):
        SmoothNoise(beta, sigma).cost(8.0)


def test_whole_numbers_cost_what_continuous_noise_does() -> None:
    """Two discrete Gaussians at the farthest that neighbours are apart; MIN_SCALE is far wider."""
    order, beta, sigma, smooth = 4.0, 0.05, 2.0, 20
    first, second = sigma * smooth * math.exp(beta), sigma * smooth
    with mpmath.workdps(40):
        divergence = discrete(first, second, smooth, order)
    assert float(divergence) == pytest.approx(publication_rdp(beta, sigma, [order])[0], rel=1e-12)


def discrete(first: float, second: float, apart: int, order: float) -> mpmath.mpf:
    """D_order of discrete Gaussians of these scales, around 0 and `apart`."""
    reach = range(-40 * apart, 41 * apart)
    p = [mpmath.exp(-(mpmath.mpf(x) ** 2) / (2 * mpmath.mpf(first) ** 2)) for x in reach]
    r = [mpmath.exp(-(mpmath.mpf(x - apart) ** 2) / (2 * mpmath.mpf(second) ** 2)) for x in reach]
    moment = sum(a ** int(order) * b ** (1 - int(order)) for a, b in zip(p, r, strict=True) if b)
    scaled = moment / (sum(p) ** int(order) * sum(r) ** (1 - int(order)))
    return mpmath.log(scaled) / (order - 1)


def test_a_gaussian_filter_takes_none() -> None:
    with pytest.raises(InputError, match="Gaussian filter"):
        SmoothNoise.by_order(8.0).cost(GAUSSIAN)
