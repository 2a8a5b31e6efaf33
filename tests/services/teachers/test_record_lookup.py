"""Records found by their features."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ostraka.services.teachers.record_lookup import Known

ROWS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1)), max_size=12)


def rows(values: list[tuple[int, int]]) -> NDArray[np.float32]:
    return np.array(values, dtype=np.float32).reshape(-1, 2)


def by_hand(records: NDArray[np.float32], queries: NDArray[np.float32]) -> list[int]:
    """Each query takes the first record like it that is left."""
    left = list(range(len(records)))
    found = []
    for query in queries:
        alike = [place for place in left if (records[place] == query).all()]
        found.append(alike[0] if alike else -1)
        left = [place for place in left if place not in alike[:1]]
    return found


@given(records=ROWS, queries=ROWS)
def test_the_next_record_alike_is_found_each_once(
    records: list[tuple[int, int]], queries: list[tuple[int, int]]
) -> None:
    found = Known(rows(records)).find(rows(queries))
    assert found.dtype == np.int64
    assert found.tolist() == by_hand(rows(records), rows(queries))


def test_a_negative_zero_is_zero() -> None:
    known = Known(np.array([[-0.0, 1.0], [0.0, 2.0]], dtype=np.float32))
    asked = np.array([[0.0, 1.0], [-0.0, 2.0]], dtype=np.float32)
    assert known.find(asked).tolist() == [0, 1]


def test_features_that_differ_in_their_last_bit_are_not_alike() -> None:
    one = np.array([[1.0]], dtype=np.float32)
    assert Known(one).find(np.nextafter(one, np.float32(2))).tolist() == [-1]


def test_features_may_be_strided() -> None:
    wide = np.arange(12, dtype=np.float32).reshape(3, 4)
    assert Known(wide[:, ::2]).find(np.ascontiguousarray(wide[::-1, ::2])).tolist() == [2, 1, 0]
