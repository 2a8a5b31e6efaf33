import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import GnMax
from ostraka.common.privacy import budget_rdp, proportions, propose_order
from ostraka.services.teachers.assignment import MAX_COPIES, copies, slices_with_copies

EPSILONS = st.dictionaries(
    st.text("abc", min_size=1, max_size=3), st.sampled_from([1.0, 1.2, 1.7, 2.0]), min_size=1, max_size=4
)
DELTA = 1e-5
PRECISION = 0.05


def named(*epsilons: float) -> dict[str, float]:
    return {f"level-{row}": epsilon for row, epsilon in enumerate(epsilons)}


@pytest.mark.parametrize(
    ("epsilons", "expected"),
    [
        ((10.0, 20.0, 40.0), (3, 5, 9)),
        ((1.0, 1.55), (2, 3)),
        ((3.0, 3.0), (1, 1)),
        ((4.0, 2.0), (9, 5)),
        ((np.log(2), np.log(16)), (2, 7)),
        ((1.0, 1.04), (1, 1)),
        ((10.0, 20.0, 1e6), (3, 5, 5)),
        ((1e6, 2e6), (1, 1)),
    ],
)
def test_copies_are_the_smallest_whole_numbers_in_proportion(
    epsilons: tuple[float, ...], expected: tuple[int, ...]
) -> None:
    assert tuple(copies(named(*epsilons), DELTA, PRECISION).values()) == expected


@given(EPSILONS, st.floats(0.07, 0.3))
def test_copies_are_in_proportion_up_to_the_precision(epsilons: dict[str, float], precision: float) -> None:
    found = copies(epsilons, DELTA, precision)
    assert list(found) == list(epsilons)
    smallest = min(epsilons, key=epsilons.__getitem__)
    assert found[smallest] == min(found.values()) >= 1
    assert max(found.values()) <= MAX_COPIES
    ratios = proportions(epsilons, DELTA)
    for level, count in found.items():
        assert abs(count / (found[smallest] * ratios[level]) - 1) <= precision * (1 + 1e-9)


def test_copies_make_budgets_pay_for_as_many_queries() -> None:
    """Copies as large as epsilons leave the largest budget used up first.

    Mühl and Boenisch 2022, Appendix B.
    """
    epsilons = {"low": 10.0, "medium": 20.0, "high": 40.0}

    def paid(found: dict[str, int]) -> list[float]:
        orders = {level: propose_order(each, DELTA) for level, each in epsilons.items()}
        return [
            budget_rdp(each, DELTA, orders[level])
            / GnMax(sigma=40).worst_case(orders[level], found[level], classes=10).answer
            for level, each in epsilons.items()
        ]

    even = paid(copies(epsilons, DELTA, PRECISION))
    assert max(even) < 1.2 * min(even)
    uneven = paid({"low": 3, "medium": 6, "high": 12})
    assert min(uneven) == uneven[-1] < uneven[0] / 1.7


@pytest.mark.parametrize("epsilons", [(1.0, 70.0), (1.0, 1.93, 1.137)])
def test_too_many_copies_say_to_raise_the_precision(epsilons: tuple[float, ...]) -> None:
    with pytest.raises(OstrakaError, match="raise precision") as refused:
        copies(named(*epsilons), DELTA, 0.001)
    assert refused.value.code is ErrorCode.CONFIG_INVALID


def test_an_epsilon_that_pays_for_nothing_is_refused() -> None:
    with pytest.raises(OstrakaError) as refused:
        copies(named(1e-6, 1.0), DELTA, PRECISION)
    assert refused.value.code is ErrorCode.BUDGET_TOO_SMALL


@given(st.lists(st.integers(1, 4), min_size=8, max_size=80), st.integers(4, 8), st.integers(0, 2**32))
def test_each_record_is_in_as_many_slices_as_copies_and_sizes_are_equal_up_to_one(
    wanted: list[int], teachers: int, seed: int
) -> None:
    parts = slices_with_copies(np.array(wanted), teachers, seed)
    assert len(parts) == teachers
    assert all((np.diff(part) > 0).all() for part in parts)
    assert np.bincount(np.concatenate(parts), minlength=len(wanted)).tolist() == wanted
    sizes = [len(part) for part in parts]
    assert max(sizes) - min(sizes) <= 1


def test_no_two_teachers_share_most_of_their_records() -> None:
    """Records in pairs of teachers drawn at random: 3,000 of them in 12 slices of 500 share about 45."""
    parts = slices_with_copies(np.full(3_000, 2), 12, 0)
    shared = [len(np.intersect1d(one, other)) for row, one in enumerate(parts) for other in parts[:row]]
    assert sum(shared) == 3_000
    assert max(shared) < 100


def test_the_seed_decides() -> None:
    wanted = np.arange(60) % 3 + 1
    first, again, other = (slices_with_copies(wanted, 5, seed) for seed in (1, 1, 2))
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(first, other, strict=True))


@pytest.mark.parametrize(("wanted", "teachers"), [([1, 1], 3), ([1, 4, 1, 1], 3)])
def test_too_few_records_or_teachers_are_refused(wanted: list[int], teachers: int) -> None:
    with pytest.raises(OstrakaError) as refused:
        slices_with_copies(np.array(wanted), teachers, 0)
    assert refused.value.code is ErrorCode.DATA_TOO_FEW
