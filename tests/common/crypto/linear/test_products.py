"""Heads with squares as linear ones in products of features: the same logits, bounds, and nothing learned."""

import numpy as np
import pytest

from ostraka.common.crypto.heads import EncryptedHead
from ostraka.common.crypto.inference import FEATURE_LIMIT, scheme_of
from ostraka.common.crypto.linear.linear_ring import FEATURE_SCALE_BITS
from ostraka.common.crypto.linear.products import (
    MAX_FACTOR,
    MAX_PRODUCT_FEATURES,
    expand,
    products,
    terms,
)
from ostraka.common.errors import ErrorCode, OstrakaError
from tests.common.crypto.models import SEED, Sides, affine, random_head

PRECISION = 2**-12
RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def sides() -> Sides:
    return Sides.of("square")


def test_features_come_before_products_row_by_row() -> None:
    assert products(np.array([[2.0, 3.0, 5.0]])).tolist() == [[2, 3, 5, 4, 6, 10, 9, 15, 25]]
    assert [terms(width) for width in (1, 3, 64)] == [2, 9, 2144]


@pytest.mark.parametrize("widths", [(1, 1, 2), (5, 3, 4), (64, 7, 10)])
def test_a_head_with_squares_is_linear_in_products(widths: tuple[int, ...]) -> None:
    X = RNG.uniform(-2, 2, (50, widths[0]))
    head = random_head(RNG, widths, X)
    (layer,) = expand(head).layers
    assert layer.weights.shape == (widths[-1], terms(widths[0]))
    assert np.abs(expand(head).plain(products(X)) - head.plain(X)).max() < 1e-12


@pytest.mark.parametrize("widths", [(3, 2), (3, 2, 2, 2)])
def test_heads_of_another_depth_are_a_mistake(widths: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="unpack"):
        expand(random_head(RNG, widths, np.ones((1, 3))))


def test_encrypted_logits_are_those_in_the_clear(sides: Sides) -> None:
    X = RNG.uniform(0, 1, (40, 9))
    heads = [random_head(RNG, (9, 6, 4), X) for _ in range(2)]
    found = sides.logits([expand(head) for head in heads], X)
    for head, logits in zip(heads, found, strict=True):
        assert np.abs(logits - head.plain(X)).max() < PRECISION


def test_the_largest_products_still_fit(sides: Sides) -> None:
    """Products of +-2^20 in steps of 2^-27 are below 2^63; their weights are as small."""
    X = RNG.choice([-MAX_FACTOR, MAX_FACTOR], (20, 4))
    assert np.abs(products(X)).max() == FEATURE_LIMIT < 2.0 ** (63 - FEATURE_SCALE_BITS)
    head = random_head(RNG, (4, 3, 2), X)
    assert np.abs(sides.logits([expand(head)], X)[0] - head.plain(X)).max() < 2**-9


@pytest.mark.parametrize("value", [np.nan, np.inf, np.nextafter(MAX_FACTOR, np.inf)])
def test_factors_whose_products_overflow_are_refused(sides: Sides, value: float) -> None:
    with pytest.raises(OstrakaError, match=r"finite and within \+-1024") as refused:
        sides.keys.encrypt(np.array([[value]]))
    assert refused.value.code is ErrorCode.DATA_NAN


@pytest.mark.parametrize("shape", [(2, MAX_PRODUCT_FEATURES + 1), (3,), (0, 3), (4097, 1)])
def test_queries_of_another_shape_are_refused(sides: Sides, shape: tuple[int, ...]) -> None:
    with pytest.raises(OstrakaError) as refused:
        sides.keys.encrypt(np.zeros(shape))
    assert refused.value.code is ErrorCode.DATA_SHAPE


def test_products_of_fewer_features_than_heads_take_are_refused(sides: Sides) -> None:
    head = expand(random_head(RNG, (3, 2, 2), np.ones((1, 3))))
    queries = sides.keys.encrypt(np.zeros((2, 2)))
    with pytest.raises(OstrakaError, match="another number of features") as refused:
        list(sides.evaluator().logits([head], queries, SEED, 2))
    assert refused.value.code is ErrorCode.CRYPTO_REFUSED


def test_sizes_are_those_of_linear_heads_of_as_many_terms(sides: Sides) -> None:
    linear = scheme_of("linear")
    assert len(sides.keys.encrypt(np.zeros((1, 5)))) == linear.queries_bytes(terms(5), 1)
    assert sides.scheme.logits_bytes(10, 9) == linear.logits_bytes(10, 9)
    assert sides.scheme.most_public_bytes() == linear.most_public_bytes()


def test_a_head_that_says_nothing_stays_silent() -> None:
    head = EncryptedHead((affine(np.zeros((2, 3)), np.zeros(2)), affine(np.zeros((1, 2)), np.ones(1))))
    (layer,) = expand(head).layers
    assert not layer.weights.toarray().any()
    assert layer.bias.tolist() == [1.0]
