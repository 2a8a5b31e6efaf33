"""The largest of several words against NumPy: all small words, and wide ones by hypothesis."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ostraka.common.crypto.circuit import PlainGates
from ostraka.common.crypto.word_arithmetic import argmax, index
from tests.common.crypto.clear import plain_values, plain_word


def check(values: NDArray[np.int64], bits: int) -> None:
    instances, count = values.shape
    gates = PlainGates()
    largest = argmax(gates, plain_word(values, bits))
    expected = np.eye(count, dtype=np.uint64)[values.argmax(axis=1)]
    np.testing.assert_array_equal(largest[..., 0], expected)
    np.testing.assert_array_equal(plain_values(index(largest)), values.argmax(axis=1))
    assert gates.ands == instances * (bits * (2 * count - 3) + count - 2)


@pytest.mark.parametrize(("bits", "count"), [(1, 2), (4, 2), (3, 3), (2, 4), (2, 5), (1, 9)])
def test_all_small_words(bits: int, count: int) -> None:
    signed = range(-(2 ** (bits - 1)), 2 ** (bits - 1))
    check(np.array(list(itertools.product(signed, repeat=count))), bits)


@pytest.mark.heavy
@given(bits=st.integers(20, 32), count=st.integers(2, 40), data=st.data())
def test_wide_words_with_equal_ones_among_them(bits: int, count: int, data: Any) -> None:
    word = st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    few = data.draw(st.lists(word, min_size=1, max_size=3))
    row = st.lists(st.sampled_from(few) | word, min_size=count, max_size=count)
    check(np.array(data.draw(st.lists(row, min_size=1, max_size=3))), bits)
