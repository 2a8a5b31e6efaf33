"""Exactly the counts of a statement can be written as digits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostraka.common.verified.writing import Digit, cheapest, digits_of, write


def writable(digits: tuple[Digit, ...]) -> set[int]:
    """Return every sum of digits within their tops."""
    sums = {0}
    for digit in digits:
        sums = {total + digit.weight * value for total in sums for value in range(digit.top + 1)}
    return sums


@given(most=st.integers(1, 700), top=st.integers(1, 64))
def test_exactly_the_counts_can_be_written(most: int, top: int) -> None:
    digits = digits_of(most, top)
    assert max(digit.top for digit in digits) <= top
    assert writable(digits) == set(range(most + 1))


@given(most=st.integers(1, 2000))
def test_every_count_comes_back_from_its_digits(most: int) -> None:
    counts, digits = np.arange(most + 1), cheapest(most)
    written = write(counts, digits).astype(np.int64)
    assert (written <= np.array([digit.top for digit in digits])[:, None]).all()
    assert np.array_equal(np.array([digit.weight for digit in digits]) @ written, counts)


@given(most=st.integers(1, 2**40), share=st.floats(0, 1))
def test_large_counts_come_back_as_well(most: int, share: float) -> None:
    digits, count = cheapest(most), int(most * share)
    written = write(np.array([count]), digits).ravel().tolist()
    assert all(value <= digit.top for value, digit in zip(written, digits, strict=True))
    assert sum(value * digit.weight for value, digit in zip(written, digits, strict=True)) == count


@pytest.mark.parametrize(("most", "places"), [(1, 1), (30, 1), (31, 2), (50, 2), (400, 2), (60_000, 4)])
def test_more_digits_are_used_where_they_save_work(most: int, places: int) -> None:
    assert len(cheapest(most)) == places
