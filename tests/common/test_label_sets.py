from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostraka.common.sharing.label_sets import bits_of, count_sets, index_of


def listed(labels: int, most: int) -> list[tuple[int, ...]]:
    return [chosen for size in range(most + 1) for chosen in combinations(range(labels), size)]


@pytest.mark.parametrize(("labels", "most"), [(2, 2), (5, 5), (7, 3), (9, 1)])
def test_sets_come_by_size_and_then_as_combinations_lists_them(labels: int, most: int) -> None:
    sets = listed(labels, most)
    bits = np.zeros((len(sets), labels), dtype=np.bool_)
    for row, chosen in enumerate(sets):
        bits[row, list(chosen)] = True
    places = np.arange(len(sets))
    assert count_sets(labels, most) == len(sets)
    np.testing.assert_array_equal(index_of(bits), places)
    np.testing.assert_array_equal(bits_of(places, labels), bits)


@given(st.integers(0, 2**40 - 1))
def test_sets_of_forty_labels_have_one_place_each(place: int) -> None:
    bits = bits_of(np.array([place]), 40)
    assert index_of(bits).tolist() == [place]


@given(st.sets(st.integers(0, 100), max_size=4))
def test_small_sets_of_many_labels_lie_within_their_count(chosen: set[int]) -> None:
    bits = np.isin(np.arange(101), list(chosen))
    place = int(index_of(bits))
    assert place < count_sets(101, len(chosen))
    np.testing.assert_array_equal(bits_of(np.array(place), 101), bits)


def test_more_sets_than_anybody_counts_are_2_to_the_62() -> None:
    assert count_sets(61) == 2**61
    assert count_sets(62) == count_sets(10**9) == count_sets(10**9, 10**6) == 2**62
