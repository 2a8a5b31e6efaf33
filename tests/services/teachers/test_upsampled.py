import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.services.teachers.upsampled import MOST_COPIES, copies, upsampled_slices

EPSILONS = st.dictionaries(st.text("abc", min_size=1, max_size=3), st.floats(1, 2), min_size=1, max_size=4)
PRECISION = 0.05


def named(*epsilons: float) -> dict[str, float]:
    return {f"level-{row}": epsilon for row, epsilon in enumerate(epsilons)}


@pytest.mark.parametrize(
    ("epsilons", "expected"),
    [
        ((1.0, 2.0, 4.0), (1, 2, 4)),
        ((1.0, 1.5), (2, 3)),
        ((3.0, 3.0), (1, 1)),
        ((4.0, 1.0), (4, 1)),
        ((np.log(2), np.log(16)), (1, 4)),
        ((1.0, 1.04), (1, 1)),
        ((1.0, 1.06), (9, 10)),
    ],
)
def test_copies_are_the_smallest_whole_numbers_in_proportion(
    epsilons: tuple[float, ...], expected: tuple[int, ...]
) -> None:
    assert tuple(copies(named(*epsilons), PRECISION).values()) == expected


@given(EPSILONS, st.floats(0.07, 0.3))
def test_copies_are_in_proportion_up_to_the_precision(epsilons: dict[str, float], precision: float) -> None:
    found = copies(epsilons, precision)
    assert list(found) == list(epsilons)
    smallest = min(epsilons, key=epsilons.__getitem__)
    assert found[smallest] == min(found.values()) >= 1
    assert max(found.values()) <= MOST_COPIES
    for level, count in found.items():
        wanted = found[smallest] * epsilons[level] / epsilons[smallest]
        assert abs(count / wanted - 1) <= precision * (1 + 1e-9)


@pytest.mark.parametrize("epsilons", [(1.0, 17.0), (1.0, 1.93, 1.137)])
def test_too_many_copies_say_to_raise_the_precision(epsilons: tuple[float, ...]) -> None:
    with pytest.raises(OstrakaError, match="raise precision") as refused:
        copies(named(*epsilons), 0.001)
    assert refused.value.code is ErrorCode.CONFIG_INVALID


@given(st.lists(st.integers(1, 4), min_size=8, max_size=80), st.integers(4, 8), st.integers(0, 2**32))
def test_each_record_is_in_as_many_slices_as_copies_and_sizes_are_equal_up_to_one(
    wanted: list[int], teachers: int, seed: int
) -> None:
    parts = upsampled_slices(np.array(wanted), teachers, seed)
    assert len(parts) == teachers
    assert all((np.diff(part) > 0).all() for part in parts)
    assert np.bincount(np.concatenate(parts), minlength=len(wanted)).tolist() == wanted
    sizes = [len(part) for part in parts]
    assert max(sizes) - min(sizes) <= 1


def test_no_two_teachers_share_most_of_their_records() -> None:
    """Records in pairs of teachers drawn at random: 3,000 of them in 12 slices of 500 share about 45."""
    parts = upsampled_slices(np.full(3_000, 2), 12, 0)
    shared = [len(np.intersect1d(one, other)) for row, one in enumerate(parts) for other in parts[:row]]
    assert sum(shared) == 3_000
    assert max(shared) < 100


def test_the_seed_decides() -> None:
    wanted = np.arange(60) % 3 + 1
    first, again, other = (upsampled_slices(wanted, 5, seed) for seed in (1, 1, 2))
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(first, other, strict=True))


@pytest.mark.parametrize(("wanted", "teachers"), [([1, 1], 3), ([1, 4, 1, 1], 3)])
def test_too_few_records_or_teachers_are_refused(wanted: list[int], teachers: int) -> None:
    with pytest.raises(OstrakaError) as refused:
        upsampled_slices(np.array(wanted), teachers, 0)
    assert refused.value.code is ErrorCode.DATA_TOO_FEW
