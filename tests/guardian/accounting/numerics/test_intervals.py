"""Intervals against exact fractions and many-digit arithmetic."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import log_ndtr

from ostraka.guardian.accounting.numerics.intervals import LIBRARY, Interval
from tests.guardian.accounting.oracle import upper_tail

numbers = st.floats(-1e12, 1e12).filter(lambda x: x == 0 or abs(x) > 1e-12)
pairs = st.tuples(numbers, numbers).map(sorted)
FUNCTIONS: list[tuple[Any, Callable[[Any], Any], float, float]] = [
    (np.log, mp.log, 1e-300, 1e300),
    (np.exp, mp.exp, -700.0, 700.0),
    (np.log1p, mp.log1p, -0.999, 1e9),
    (np.expm1, mp.expm1, -700.0, -1e-12),
    (log_ndtr, lambda x: mp.log(upper_tail(-x)), -1000.0, 5.0),
]


def holds(found: Interval, exact: Any) -> bool:
    return bool(exact >= found.low and exact <= found.high)


@given(pairs, pairs, st.floats(0, 1), st.floats(0, 1))
def test_sums_and_products_hold_those_of_all_numbers_within(
    first: list[float], second: list[float], at: float, also_at: float
) -> None:
    x, y = (Interval(np.array(low), np.array(high)) for low, high in (first, second))
    a, b = (
        Fraction(low) + (Fraction(high) - Fraction(low)) * Fraction(share)
        for (low, high), share in ((first, at), (second, also_at))
    )
    assert holds(x + y, a + b)
    assert holds(x - y, a - b)
    assert holds(x * y, a * b)
    if second[0] > 0 or second[1] < 0:
        assert holds(x / y, a / b)
    else:
        with np.errstate(all="ignore"):
            assert np.isnan((x / y).low)


@given(st.floats(-1e3, -1e-12), st.floats(-1e3, 0), st.floats(1e-12, 1e12))
def test_functions_hold_what_many_digits_say(x: float, y: float, positive: float) -> None:
    one, other, above = Interval.of(x), Interval.of(y), Interval.of(positive)
    with mp.workdps(500):
        assert holds(one.exp(), mp.exp(x))
        assert holds(one.log1mexp(), mp.log(1 - mp.exp(x)))
        assert holds(one.logaddexp(other), mp.log(mp.exp(x) + mp.exp(y)))
        assert holds(above.sqrt(), mp.sqrt(positive))
        assert holds(above.log(), mp.log(positive))
        assert holds(above.log1p(), mp.log1p(positive))
        assert holds(one.log_ndtr(), mp.log(upper_tail(-x)))
        assert holds(above.minimum(other), min(positive, y))


@pytest.mark.parametrize(
    ("function", "exact", "low", "high"), FUNCTIONS, ids=lambda x: getattr(x, "__name__", "")
)
def test_the_library_is_a_dozen_times_as_exact_as_it_is_taken_to_be(
    function: Any, exact: Callable[[Any], Any], low: float, high: float
) -> None:
    """It holds for these points; that it holds for all is what the certificate rests on."""
    draws = np.random.default_rng(0)
    near = np.abs(low) * 10.0 ** draws.uniform(-12, 0, 200) * np.sign(low)
    at = np.concatenate([draws.uniform(low, high, 200), near[(near >= low) & (near <= high)]])
    for x, found in zip(at.tolist(), function(at).tolist(), strict=True):
        true = exact(mp.mpf(x))
        assert abs(found - true) <= LIBRARY / 12 * abs(true)


def test_what_is_not_defined_is_no_number() -> None:
    with np.errstate(all="ignore"):
        for undefined in (Interval.of(-1.0).sqrt(), Interval.of(-1.0).log(), Interval.of(-2.0).log1p()):
            assert math.isnan(undefined.low)
        assert math.isnan(Interval.of(1.0).log1mexp().high)
