import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.services.teachers.assignment import apportion, slices_by_level

COUNTS = st.dictionaries(st.text("abc", min_size=1, max_size=3), st.integers(1, 500), min_size=1, max_size=6)


@pytest.mark.parametrize(
    ("records", "teachers", "expected"),
    [
        ((50, 30, 20), 10, (5, 3, 2)),
        ((55, 30, 15), 10, (6, 3, 1)),
        ((56, 28, 16), 10, (6, 3, 1)),
        ((980, 10, 10), 3, (1, 1, 1)),
        ((980, 10, 10), 20, (18, 1, 1)),
        ((7,), 4, (4,)),
    ],
)
def test_teachers_are_shared_by_largest_remainders(
    records: tuple[int, ...], teachers: int, expected: tuple[int, ...]
) -> None:
    named = {f"level-{row}": count for row, count in enumerate(records)}
    assert tuple(apportion(named, teachers).values()) == expected


@given(COUNTS, st.data())
def test_every_level_gets_a_teacher_and_none_more_than_records(
    records: dict[str, int], data: st.DataObject
) -> None:
    teachers = data.draw(st.integers(len(records), sum(records.values())))
    found = apportion(records, teachers)
    assert list(found) == list(records)
    assert sum(found.values()) == teachers
    assert all(1 <= found[level] <= count for level, count in records.items())


@given(COUNTS, st.data())
def test_shares_are_within_one_of_the_proportion_where_all_reach_one(
    records: dict[str, int], data: st.DataObject
) -> None:
    total = sum(records.values())
    enough = -(-total // min(records.values()))
    teachers = data.draw(st.integers(min(enough, total), total))
    found = apportion(records, teachers)
    if teachers >= enough:
        assert all(abs(found[level] * total - count * teachers) < total for level, count in records.items())


@given(st.lists(st.sampled_from("abc"), min_size=6, max_size=60), st.integers(3, 6), st.integers(0, 2**32))
def test_a_slice_holds_records_of_one_level(consent: list[str], teachers: int, seed: int) -> None:
    levels = {level: np.flatnonzero(np.array(consent) == level) for level in sorted(set(consent))}
    shares = apportion({level: len(rows) for level, rows in levels.items()}, teachers)
    parts = slices_by_level(levels, shares, seed)
    assert sorted(np.concatenate(parts).tolist()) == list(range(len(consent)))
    owners = [{consent[row] for row in part} for part in parts]
    assert owners == [{level} for level, share in shares.items() for _ in range(share)]
    for level in levels:
        sizes = [len(part) for part, owner in zip(parts, owners, strict=True) if owner == {level}]
        assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize(("records", "teachers"), [((3, 3), 7), ((30, 30, 30), 2)])
def test_too_few_records_or_teachers_are_refused(records: tuple[int, ...], teachers: int) -> None:
    with pytest.raises(OstrakaError) as refused:
        apportion({f"level-{row}": count for row, count in enumerate(records)}, teachers)
    assert refused.value.code is ErrorCode.DATA_TOO_FEW
