import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.sharing.prime_field import ExtensionField, FieldArray, PrimeField

BOTH = pytest.mark.parametrize("bits", [31, 61])
INTEGERS = st.integers(-(2**63), 2**63 - 1)


def elements(field: PrimeField, *integers: int) -> FieldArray:
    return np.array([integer % field.prime for integer in integers], np.uint64)


def edges(field: PrimeField) -> list[int]:
    corners = [0, 2 ** (field.bits - 2), 2 ** (field.bits - 1), 3 * 2 ** (field.bits - 2), field.prime]
    return [corner + step for corner in corners for step in range(-4, 5)]


def corners(field: PrimeField) -> list[int]:
    return sorted({integer % field.prime for integer in edges(field)})


@BOTH
@pytest.mark.parametrize("operation", ["add", "subtract", "multiply"])
@given(a=INTEGERS, b=INTEGERS)
def test_arithmetic_agrees_with_integers(operation: str, bits: int, a: int, b: int) -> None:
    field = PrimeField(bits)
    names = {"add": operator.add, "subtract": operator.sub, "multiply": operator.mul}
    expected = names[operation](a, b) % field.prime
    computed = getattr(field, operation)(elements(field, a), elements(field, b))
    assert computed.dtype == np.uint64
    assert computed.tolist() == [expected]


@BOTH
@pytest.mark.parametrize("operation", ["add", "subtract", "multiply"])
def test_arithmetic_is_exact_at_every_corner(operation: str, bits: int) -> None:
    field = PrimeField(bits)
    names: dict[str, Callable[[int, int], int]] = {
        "add": operator.add,
        "subtract": operator.sub,
        "multiply": operator.mul,
    }
    integers = corners(field)
    values = elements(field, *integers)
    computed = getattr(field, operation)(values[:, None], values[None])
    expected = [[names[operation](a, b) % field.prime for b in integers] for a in integers]
    assert computed.tolist() == expected


@BOTH
@given(a=INTEGERS, b=INTEGERS, factor=st.integers(-(2**80), 2**80), places=st.integers(0, 200))
def test_scaling_rotating_and_offsets_agree_with_integers(
    bits: int, a: int, b: int, factor: int, places: int
) -> None:
    field = PrimeField(bits)
    value, other = elements(field, a), elements(field, b)
    assert field.scale(value, factor).tolist() == [a * factor % field.prime]
    assert field.rotate(value, places).tolist() == [a * 2**places % field.prime]
    moved = field.multiply(field.offset(value, factor), field.offset(other, -1))
    assert moved.tolist() == [(a + factor) * (b - 1) % field.prime]


@BOTH
def test_the_largest_sums_that_are_not_reduced_are_factors(bits: int) -> None:
    field = PrimeField(bits)
    largest = field.offset(elements(field, -1), -1)
    assert field.multiply(largest, largest).tolist() == [4]


@BOTH
@given(value=st.integers(0, 2**64 - 1))
def test_every_unsigned_integer_is_reduced(bits: int, value: int) -> None:
    field = PrimeField(bits)
    assert field.reduce(np.array([value], np.uint64)).tolist() == [value % field.prime]


@BOTH
@given(value=INTEGERS)
def test_inverses_are_inverse(bits: int, value: int) -> None:
    field = PrimeField(bits)
    expected = pow(value, -1, field.prime) if value % field.prime else 0
    assert field.inverse(elements(field, value)).tolist() == [expected]


@BOTH
@pytest.mark.parametrize("terms", [0, 1, 2047, 2048, 5000])
def test_dot_is_exact_for_the_largest_elements(bits: int, terms: int) -> None:
    field = PrimeField(bits)
    largest = np.full((2, terms), field.prime - 1, np.uint64)
    assert field.dot(largest, largest.T).tolist() == [[terms, terms], [terms, terms]]


@BOTH
def test_dot_and_total_agree_with_integers(bits: int) -> None:
    field = PrimeField(bits)
    rng = np.random.default_rng(bits)
    a, b = rng.integers(0, field.prime, (5, 70)), rng.integers(0, field.prime, (70, 3))
    exact = (a.astype(object) @ b.astype(object)) % field.prime
    assert field.dot(a.astype(np.uint64), b.astype(np.uint64)).tolist() == exact.tolist()
    assert field.total(a.astype(np.uint64), 1).tolist() == (a.astype(object).sum(1) % field.prime).tolist()


@BOTH
@pytest.mark.parametrize("kind", [np.int8, np.int32, np.int64, np.uint8, np.uint32, np.uint64])
def test_integers_of_every_type_are_wrapped(bits: int, kind: type[np.integer[Any]]) -> None:
    field = PrimeField(bits)
    integers = [int(np.iinfo(kind).min), 0, 1, int(np.iinfo(kind).max)]
    assert field.wrap(np.array(integers, kind)).tolist() == [integer % field.prime for integer in integers]


@BOTH
def test_lift_distance_and_fold_are_exact_at_every_corner(bits: int) -> None:
    field = PrimeField(bits)
    half, quarter = field.prime // 2, 2 ** (bits - 2)
    for integer in edges(field):
        value = elements(field, integer)
        signed = (integer + half) % field.prime - half
        turned = signed if abs(signed) < quarter else (half if signed > 0 else -half) - signed
        assert field.lift(value).tolist() == [signed]
        assert field.distance(value).tolist() == [min(abs(signed), quarter)]
        assert field.lift(field.fold(value)).tolist() == [turned]


@BOTH
@given(start=INTEGERS, step=st.integers(-(2**20), 2**20))
def test_distance_and_fold_move_by_at_most_what_is_added(bits: int, start: int, step: int) -> None:
    field = PrimeField(bits)
    points = [start, *edges(field)]
    before, after = elements(field, *points), elements(field, *(point + step for point in points))
    assert np.abs(field.distance(after) - field.distance(before)).max() <= abs(step)
    moved = field.lift(field.fold(after)) - field.lift(field.fold(before))
    assert np.abs(moved).max() <= abs(step)


@BOTH
def test_bytes_are_little_endian_and_come_back(bits: int) -> None:
    field = PrimeField(bits)
    integers = [0, 1, 2**16, field.prime - 1, field.prime - 2, 258]
    array = elements(field, *integers).reshape(2, 3)
    encoded = field.to_bytes(array)
    assert encoded == b"".join(integer.to_bytes(field.element_bytes, "little") for integer in integers)
    assert np.array_equal(field.from_bytes(encoded, 2, 3), array)
    assert field.from_bytes(encoded, 2, 3).flags.writeable


@pytest.mark.parametrize("size", [0, 23, 25, 48])
def test_a_share_of_another_length_is_refused(size: int) -> None:
    with pytest.raises(OstrakaError, match="2 rows and 3 columns has 24 bytes") as caught:
        PrimeField(31).from_bytes(bytes(size), 2, 3)
    assert caught.value.code == ErrorCode.MESSAGE_INVALID


@BOTH
@pytest.mark.parametrize("excess", [0, 1])
def test_numbers_outside_the_field_are_refused(bits: int, excess: int) -> None:
    field = PrimeField(bits)
    data = (field.prime + excess).to_bytes(field.element_bytes, "little")
    with pytest.raises(OstrakaError, match="or more") as caught:
        field.from_bytes(data, 1, 1)
    assert caught.value.code == ErrorCode.MESSAGE_INVALID


@BOTH
def test_values_of_another_type_are_refused(bits: int) -> None:
    foreign: Any = np.zeros(3, np.int64)
    for use in (
        PrimeField(bits).lift,
        PrimeField(bits).distance,
        PrimeField(bits).fold,
        PrimeField(bits).to_bytes,
    ):
        with pytest.raises(ValueError, match=f"{bits}-bit field"):
            use(foreign)


@pytest.mark.parametrize("bits", [0, 7, 32, 64])
def test_other_widths_are_refused(bits: int) -> None:
    with pytest.raises(ValueError, match="31 or 61"):
        PrimeField(bits)


PAIRS = st.tuples(INTEGERS, INTEGERS)


@given(a=PAIRS, b=PAIRS)
def test_the_extension_of_31_bits_multiplies_as_complex_integers(
    a: tuple[int, int], b: tuple[int, int]
) -> None:
    field = PrimeField(31)
    algebra = ExtensionField(field)
    expected = [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]]
    product = algebra.multiply(elements(field, *a), elements(field, *b))
    assert product.tolist() == [part % field.prime for part in expected]


@BOTH
def test_the_extension_divides_and_multiplies_rows(bits: int) -> None:
    field = PrimeField(bits)
    algebra = ExtensionField(field)
    rng = np.random.default_rng(bits)
    one = algebra.embed(np.array(1, np.uint64))
    for length in (1, 2, 3, 8, 13):
        a, b = rng.integers(0, field.prime, (2, length, field.degree)).astype(np.uint64)
        assert np.array_equal(algebra.multiply(a, algebra.inverse(a)), np.tile(one, (length, 1)))
        product, total = one, algebra.embed(np.array(0, np.uint64))
        for left, right in zip(a, b, strict=True):
            product = algebra.multiply(product, left)
            total = field.add(total, algebra.multiply(left, right))
        assert np.array_equal(algebra.product(a), product)
        assert np.array_equal(algebra.dot(a, b), total)
