"""Words of wires against Python's integers: every pair of small words, and wide words by hypothesis."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ostraka.common.crypto import word_arithmetic
from ostraka.common.crypto.circuit import Gates, PlainGates, Wires
from tests.common.crypto.clear import plain_values, plain_word

Integers = NDArray[Any]
Binary = tuple[Callable[[Gates, Wires, Wires], Wires], Callable[[int, int, int], int], Callable[[int], int]]


def signed(value: int, bits: int) -> int:
    return value - 2**bits if value >> (bits - 1) else value


WORDS: dict[str, Binary] = {
    "add": (word_arithmetic.add, lambda a, b, bits: (a + b) % 2**bits, lambda bits: bits - 1),
    "subtract": (word_arithmetic.subtract, lambda a, b, bits: (a - b) % 2**bits, lambda bits: bits - 1),
    "or": (word_arithmetic.or_, lambda a, b, bits: a | b, lambda bits: bits),
}
WIRES: dict[str, Binary] = {
    "greater": (word_arithmetic.greater, lambda a, b, bits: a > b, lambda bits: bits),
    "greater_signed": (
        word_arithmetic.greater_signed,
        lambda a, b, bits: signed(a, bits) > signed(b, bits),
        lambda bits: bits,
    ),
    "equal": (word_arithmetic.equal, lambda a, b, bits: a == b, lambda bits: bits - 1),
}


def check_pairs(name: str, a: list[int], b: list[int], bits: int) -> None:
    operation, meaning, ands = (WORDS | WIRES)[name]
    gates = PlainGates()
    result = operation(gates, plain_word(np.array(a), bits), plain_word(np.array(b), bits))
    values = plain_values(result if name in WORDS else result[None])
    assert values.tolist() == [meaning(x, y, bits) for x, y in zip(a, b, strict=True)]
    assert gates.ands == ands(bits) * len(a)


@pytest.mark.parametrize("bits", range(1, 6))
@pytest.mark.parametrize("name", WORDS | WIRES)
def test_every_pair_of_small_words(name: str, bits: int) -> None:
    pairs = [(a, b) for a in range(2**bits) for b in range(2**bits)]
    check_pairs(name, [a for a, _ in pairs], [b for _, b in pairs], bits)


@pytest.mark.parametrize("name", WORDS | WIRES)
@given(bits=st.integers(20, 32), data=st.data())
def test_wide_words(name: str, bits: int, data: Any) -> None:
    word = st.integers(0, 2**bits - 1)
    pairs = data.draw(st.lists(st.tuples(word, word), min_size=1, max_size=5))
    equal = [(a, a) for a, _ in pairs]
    check_pairs(name, [a for a, _ in pairs + equal], [b for _, b in pairs + equal], bits)


@given(bits=st.integers(1, 32), choice=st.booleans(), data=st.data())
def test_a_word_is_selected_or_kept(bits: int, choice: bool, data: Any) -> None:
    yes, no = (data.draw(st.integers(0, 2**bits - 1)) for _ in range(2))
    gates = PlainGates()
    wire = plain_word(np.array([choice]), 1)[0]
    yes_word, no_word = (plain_word(np.array([value]), bits) for value in (yes, no))
    assert plain_values(word_arithmetic.select(gates, wire, yes_word, no_word)).tolist() == [
        yes if choice else no
    ]
    assert plain_values(word_arithmetic.keep(gates, wire, yes_word)).tolist() == [yes if choice else 0]
    assert gates.ands == 2 * bits


def bits_of_every_number(count: int) -> Wires:
    return plain_word(np.arange(2**count), count)


@pytest.mark.parametrize("count", range(1, 10))
def test_all_and_any_of_wires(count: int) -> None:
    gates = PlainGates()
    wires = bits_of_every_number(count)
    assert word_arithmetic.all_of(gates, wires)[..., 0].tolist() == [0] * (2**count - 1) + [1]
    assert word_arithmetic.any_of(gates, wires)[..., 0].tolist() == [0] + [1] * (2**count - 1)
    assert gates.ands == 2 * (count - 1) * 2**count


@pytest.mark.parametrize("count", range(1, 13))
def test_every_set_of_wires_is_counted(count: int) -> None:
    gates = PlainGates()
    word = word_arithmetic.popcount(gates, bits_of_every_number(count))
    assert len(word) == count.bit_length()
    assert plain_values(word).tolist() == [number.bit_count() for number in range(2**count)]
    assert gates.ands == (count - count.bit_count()) * 2**count


@pytest.mark.heavy
@given(ones=st.lists(st.booleans(), min_size=13, max_size=120))
def test_many_wires_are_counted(ones: list[bool]) -> None:
    gates = PlainGates()
    word = word_arithmetic.popcount(gates, plain_word(np.array(ones), 1)[0][:, None])
    assert plain_values(word).tolist() == [sum(ones)]
    assert gates.ands == len(ones) - len(ones).bit_count()


@given(bits=st.integers(1, 20), data=st.data())
def test_every_entry_of_a_table_is_found(bits: int, data: Any) -> None:
    table = data.draw(st.lists(st.integers(0, 2**bits - 1), min_size=1, max_size=110))
    gates = PlainGates()
    index_bits = max((len(table) - 1).bit_length(), 1)
    index = plain_word(np.arange(len(table)), index_bits + 1)
    assert plain_values(word_arithmetic.lookup(gates, table, bits, index)).tolist() == table
    free = 1 + (len(table) - 1).bit_length()
    assert gates.ands == (len(table) - free) * len(table)


@given(rows=st.integers(1, 3), columns=st.integers(1, 3), data=st.data())
def test_words_keep_the_shape_of_their_instances(rows: int, columns: int, data: Any) -> None:
    element = st.lists(st.integers(0, 2**8 - 1), min_size=rows * columns, max_size=rows * columns)
    a, b = (np.array(data.draw(element)).reshape(rows, columns) for _ in range(2))
    total = word_arithmetic.add(PlainGates(), plain_word(a, 8), plain_word(b, 8))
    assert np.array_equal(plain_values(total), (a + b) % 2**8)
