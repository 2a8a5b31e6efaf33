"""Balls around sums of weights: they hold the sums, and are as small as they claim."""

import mpmath
import pytest
from flint import arb, ctx

from guardian.noise.tails import log_cdf, upper_tail

PRECISION = 192


def many_digits(n: int, scale: float) -> arb:
    """The same sum, term by term in 400 bits."""
    with mpmath.workprec(400):
        step, total, y = mpmath.mpf(2) ** -300, mpmath.mpf(0), n
        while True:
            weight = mpmath.exp(-(mpmath.mpf(y) ** 2) / (2 * mpmath.mpf(scale) ** 2))
            total += weight
            if weight < total * step / (20 * scale + 20):
                return arb(mpmath.nstr(total, 80))
            y += 1


@pytest.mark.parametrize("scale", [0.3, 1.0, 4.7, 15.9, 16.0, 40.0, 100.5, 300.0])
@pytest.mark.parametrize("deviations", [0, 0.5, 3, 9, 40])
def test_a_ball_holds_the_sum_to_many_digits(scale: float, deviations: float) -> None:
    n = 1 + round(deviations * scale)
    with ctx.workprec(PRECISION):
        ball = upper_tail(n, scale)
        assert ball.overlaps(many_digits(n, scale))
        assert ball.rel_accuracy_bits() > PRECISION - 48


@pytest.mark.parametrize("n", [1, 1000, 10**7, 10**8])
def test_wide_scales_are_as_accurate(n: int) -> None:
    with ctx.workprec(PRECISION):
        assert upper_tail(n, 40 * 2.0**16).rel_accuracy_bits() > PRECISION - 48


@pytest.mark.parametrize("scale", [16.0, 200.0, 1e4])
@pytest.mark.parametrize("n", [1, 150, 600])
def test_neighbouring_sums_differ_by_one_weight(scale: float, n: int) -> None:
    with ctx.workprec(PRECISION):
        weight = (-((n / arb(scale)) ** 2) / 2).exp()
        assert (upper_tail(n, scale) - upper_tail(n + 1, scale)).overlaps(weight)


@pytest.mark.parametrize("scale", [2.0, 100.0, 1e6])
@pytest.mark.parametrize("x", [0, 1, 30, 5000])
def test_both_sides_of_the_law_add_up(scale: float, x: int) -> None:
    with ctx.workprec(PRECISION):
        assert (log_cdf(x, scale).exp() + log_cdf(-x - 1, scale).exp()).overlaps(arb(1))
