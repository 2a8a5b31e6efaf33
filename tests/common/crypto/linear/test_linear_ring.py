"""Products of polynomials in double precision against exact ones."""

from typing import Any

import numpy as np
import pytest

from ostraka.common.crypto.linear.linear_ring import DEGREE, Factor

RNG = np.random.default_rng(0)
UNIFORM = RNG.integers(0, 2**64, DEGREE, dtype=np.uint64)
TERNARY = RNG.integers(-1, 2, DEGREE)


SLOT = 10
"""Bytes of a coefficient of a product, packed."""


def exact(polynomial: Any, small: Any) -> Any:
    """Return the product modulo X^n + 1 and 2^64, by products of packed integers (Kronecker)."""
    number = packed(polynomial)
    positive, negative = (unpacked(number * packed(np.maximum(part, 0))) for part in (small, -small))
    product = [first - second for first, second in zip(positive, negative, strict=True)]
    wrapped = zip(product[:DEGREE], product[DEGREE:], strict=True)
    return np.array([(low - high) % 2**64 for low, high in wrapped], np.uint64)


def packed(coefficients: Any) -> int:
    return int.from_bytes(b"".join(int(value).to_bytes(SLOT, "little") for value in coefficients), "little")


def unpacked(number: int) -> list[int]:
    data = number.to_bytes(2 * DEGREE * SLOT, "little")
    return [int.from_bytes(data[at : at + SLOT], "little") for at in range(0, len(data), SLOT)]


@pytest.mark.parametrize(
    "value", [0, 1, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 1, 0x7FFFFFFF80000000]
)
@pytest.mark.parametrize("small", [np.ones(DEGREE, np.int64), TERNARY])
def test_products_of_the_largest_limbs_are_exact(value: int, small: Any) -> None:
    polynomial = np.full(DEGREE, value, np.uint64)
    polynomial[RNG.integers(0, 2, DEGREE).astype(np.bool_)] *= np.uint64(2**64 - 1)
    assert np.array_equal(Factor(polynomial).times(small), exact(polynomial, small))


def test_products_of_several_polynomials_are_exact() -> None:
    polynomials = np.stack([UNIFORM, UNIFORM[::-1]])
    products = Factor(polynomials).times(TERNARY)
    for polynomial, product in zip(polynomials, products, strict=True):
        assert np.array_equal(product, exact(polynomial, TERNARY))


def test_the_ring_wraps_with_a_sign() -> None:
    small = np.zeros(DEGREE, np.int64)
    small[1] = 1
    product = Factor(UNIFORM).times(small)
    assert np.array_equal(product[1:], UNIFORM[:-1])
    assert product[0] == np.negative(UNIFORM[-1])


def test_no_error_comes_near_a_half(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is rounded away is far smaller than its bound, at the largest limbs of either sign."""
    fractions = []
    rint = np.rint

    def watched(values: Any) -> Any:
        fractions.append(np.abs(values - rint(values)).max())
        return rint(values)

    monkeypatch.setattr("ostraka.common.crypto.linear.linear_ring.np.rint", watched)
    signs = RNG.choice([np.uint64(0x7FFFFFFF7FFFFFFF), np.uint64(0x8000000080000000)], (20, DEGREE))
    Factor(signs).times(TERNARY)
    assert 0 < max(fractions) < 2**-6
