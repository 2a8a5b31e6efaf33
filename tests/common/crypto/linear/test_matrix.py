"""Products modulo 2^64 against Python's integers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostraka.common.crypto.limbs import product

WEIGHT_BITS = 45


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from((3, 20, WEIGHT_BITS)), st.integers(1, 40))
def test_products_are_exact(seed: int, bits: int, terms: int) -> None:
    rng = np.random.default_rng(seed)
    weights = rng.integers(-(2**bits), 2**bits + 1, (3, terms))
    values = rng.integers(0, 2**64, (terms, 5), dtype=np.uint64)
    expected = weights.astype(object) @ values.astype(object) % 2**64
    assert (product(weights, bits, values) == expected).all()


@pytest.mark.parametrize("value", [2**63 - 1, 2**63, 2**64 - 1])
@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("terms", [1, 785, 4095])
def test_products_of_the_largest_values(value: int, sign: int, terms: int) -> None:
    weights = np.full((2, terms), sign * 2**WEIGHT_BITS)
    values = np.full((terms, 3), value, np.uint64)
    assert (product(weights, WEIGHT_BITS, values) == terms * sign * 2**WEIGHT_BITS * value % 2**64).all()


def test_columns_beyond_a_chunk() -> None:
    values = np.arange(2 * 5000, dtype=np.uint64).reshape(2, 5000)
    expected = (3 * np.arange(5000) - np.arange(5000, 10000)).astype(np.uint64)
    assert (product(np.array([[3, -1]]), 3, values) == expected).all()
