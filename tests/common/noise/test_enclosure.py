"""The lemmas of docs/accounting-noise.md in interval arithmetic, and the code against them."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import iv

from ostraka.common.noise import enclosure
from ostraka.common.noise.enclosure import ABSOLUTE_ERROR, CAP, RELATIVE_ERROR, exp_bounds, scaled_exp

UNIT = 2.0**-52
"""What an operation of IEEE 754 is off by at most, in any rounding mode, of its result."""
PROVED = 2.0**-36.5
OFF = 2.0**-42
"""What exponents may be off by."""


def enclosed(exponent: Fraction) -> mpmath.iv.mpf:
    """Return 2^53 exp(-x) as an interval."""
    return 2**53 * iv.exp(-iv.mpf(exponent.numerator) / exponent.denominator)


@pytest.fixture(autouse=True)
def _precise() -> None:
    iv.prec = 200


def test_what_taylors_series_leaves() -> None:
    """It grows with the rest, so that the largest is at the end of a cell."""
    rest = iv.mpf(1) / 256
    left = iv.exp(-rest) - (1 - rest * (1 - rest / 2 * (1 - rest / 3)))
    assert 0 < left / iv.exp(-rest) < 2.0**-36.57


def test_the_sum_of_all_errors() -> None:
    series, table, product, exponent = iv.mpf(2.0**-36.57) + 4 * UNIT, 3 * UNIT, UNIT, OFF * 1.001
    total = (1 + series) * (1 + iv.mpf(table)) * (1 + iv.mpf(product)) * (1 + iv.mpf(exponent)) - 1
    assert total < PROVED
    assert 2 * PROVED < RELATIVE_ERROR


def test_every_entry_of_the_table() -> None:
    for cell in range(0, CAP * 256, 31):
        true = enclosed(Fraction(cell, 256))
        assert abs(iv.mpf(float(enclosure._TABLE[cell])) - true) < 3 * UNIT * true


EDGES = [np.nextafter(x, side) for x in (1 / 256, 0.5, 7, 45, CAP - 1 / 256) for side in (0, x, 100)]


@given(st.lists(st.floats(0, CAP - 2.0**-30), min_size=10, max_size=10) | st.just([0.0, *EDGES]))
def test_arrays_are_within_what_is_proved(exponents: list[float]) -> None:
    x = np.array(exponents)
    for exponent, found in zip(x.tolist(), scaled_exp(x).tolist(), strict=True):
        true = enclosed(Fraction(exponent))
        assert abs(iv.mpf(found) - true) < PROVED * true


@pytest.mark.parametrize("exponent", [46.0, 47.5, 1e3, 1e300])
def test_beyond_the_cap_both_are_nothing(exponent: float) -> None:
    assert 0 < scaled_exp(np.array([exponent]))[0] < 1e-4 < ABSOLUTE_ERROR
    assert enclosed(Fraction(CAP) - Fraction(1, 2**42)) < 1e-4


@given(
    st.fractions(0, 10**6) | st.fractions(0, 100, max_denominator=100),
    st.sampled_from([20, 32, 64, 150]),
)
def test_rational_bounds_hold(exponent: Fraction, digits: int) -> None:
    iv.prec = 1000
    true = enclosed(exponent) / 2**53
    least, most = (iv.mpf(bound.numerator) / bound.denominator for bound in exp_bounds(exponent, digits))
    assert least < true < most
    if exponent < 100:
        assert most - least < true * 10 ** iv.mpf(4 - digits)
