"""Several features in one polynomial: the first coefficients of a weighted sum are what each query is due."""

import numpy as np
import pytest

from ostraka.common.crypto.limbs import product
from ostraka.common.crypto.linear.linear_messages import POLYNOMIAL_BYTES, logit_bytes, queries_bytes
from ostraka.common.crypto.linear.linear_ring import DEGREE, Factor
from ostraka.common.crypto.linear.packing import Packing
from tests.common.crypto.models import Sides, random_head

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("queries", "block"),
    [(1, 1), (2, 2), (3, 4), (1024, 1024), (1025, 2048), (2049, DEGREE)],
)
def test_a_feature_has_as_many_coefficients_as_the_next_power_of_two(queries: int, block: int) -> None:
    assert Packing.of(queries).block == block
    assert Packing.of(queries).together == DEGREE // block


def test_features_lie_behind_each_other() -> None:
    packed = Packing.of(1500).pack(np.arange(1, 4501).reshape(3, 1500).T)
    assert packed.shape == (2, DEGREE)
    assert packed[0, [0, 1499, 1500, 2048]].tolist() == [1, 1500, 0, 1501]
    assert packed[1, [0, 2048]].tolist() == [3001, 0]


@pytest.mark.parametrize("block", [1, 512, 2048, DEGREE])
def test_shifted_polynomials_are_products_with_negative_powers(block: int) -> None:
    packing, features = Packing(block), 6
    packed = RNG.integers(0, 2**64, (packing.polynomials(features), DEGREE), np.uint64)
    for feature, shifted in enumerate(packing.shift(packed, features)):
        polynomial, place = divmod(feature, packing.together)
        power = np.zeros(DEGREE, np.int64)
        # X^(-j) is -X^(4096 - j), and 1 for j = 0.
        power[-place * block % DEGREE] = -1 if place else 1
        assert np.array_equal(shifted, Factor(packed[polynomial]).times(power))


@pytest.mark.parametrize("block", [4, 1024])
def test_first_coefficients_are_the_sums_of_features_alone(block: int) -> None:
    """Of all features' shifted polynomials, what lies beyond the first coefficients is never made."""
    packing, features = Packing(block), 9
    values = RNG.integers(-1000, 1000, (block, features))
    weights = RNG.integers(-1000, 1000, (2, features))
    packed = packing.pack(values).view(np.uint64)
    first = product(weights, 10, packing.constants(packed, features))
    whole = product(weights, 10, packing.shift(packed, features))
    assert np.array_equal(first, whole[:, :block])
    assert np.array_equal(first.view(np.int64), weights @ values.T)


@pytest.mark.parametrize("queries", [1, 5, 700, 1024, 1100])
def test_packed_batches_get_the_logits_in_the_clear(linear: Sides, queries: int) -> None:
    X = RNG.uniform(0, 1, (queries, 11))
    head = random_head(RNG, (11, 3), X)
    assert np.abs(linear.logits([head], X)[0] - head.plain(X)).max() < 2**-12


def test_small_batches_take_few_bytes() -> None:
    assert [queries_bytes(2144, Packing.of(count)) - 64 for count in (1, 64, 1024, 4096)] == [
        POLYNOMIAL_BYTES * polynomials for polynomials in (1, 34, 536, 2144)
    ]
    assert [logit_bytes(Packing.of(count)) for count in (1, 4096)] == [16388, 32768]
