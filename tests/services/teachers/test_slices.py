import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.services.teachers.assignment import slices


@given(st.integers(1, 30), st.integers(0, 200), st.integers(0, 2**32))
def test_every_record_is_in_one_slice_and_sizes_are_equal_up_to_one(
    teachers: int, more: int, seed: int
) -> None:
    parts = slices(teachers + more, teachers, seed)
    assert sorted(np.concatenate(parts).tolist()) == list(range(teachers + more))
    sizes = [len(part) for part in parts]
    assert len(sizes) == teachers
    assert max(sizes) - min(sizes) <= 1


def test_the_seed_decides() -> None:
    first, again, other = (slices(100, 5, seed) for seed in (1, 1, 2))
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(first, other, strict=True))


def test_fewer_records_than_teachers_are_refused() -> None:
    with pytest.raises(OstrakaError) as refused:
        slices(4, 5, 0)
    assert refused.value.code is ErrorCode.DATA_TOO_FEW
