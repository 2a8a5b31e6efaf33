from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ostraka.deploy.simulation.schemes import Shards, by_values, check_option, dirichlet, iid, label_sorted

CLASSES = st.lists(st.integers(0, 5), min_size=1, max_size=120).map(lambda y: np.array(y, dtype=np.int64))
PARTIES = st.integers(1, 12)
SEEDS = st.integers(0, 2**32 - 1)
OPTIONS: dict[str, object] = {"similarity": None, "alpha": None, "by": None}


def random(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def sizes(shards: Shards) -> list[int]:
    return [len(rows) for rows in shards]


def counts(y: NDArray[np.int64], shards: Shards) -> NDArray[np.int64]:
    return np.stack([np.bincount(y[rows], minlength=int(y.max()) + 1) for rows in shards])


def assert_each_record_has_one_holder(shards: Shards, records: int) -> None:
    np.testing.assert_array_equal(np.sort(np.concatenate(shards)), np.arange(records))


@pytest.mark.heavy
@given(CLASSES, PARTIES, st.floats(0, 100), SEEDS)
def test_schemes_of_equal_sizes_give_every_record_to_one_party(
    y: NDArray[np.int64], parties: int, similarity: float, seed: int
) -> None:
    for shards in (iid(len(y), parties, random(seed)), label_sorted(y, parties, similarity, random(seed))):
        assert_each_record_has_one_holder(shards, len(y))
        assert sizes(shards) == [len(part) for part in np.array_split(y, parties)]


@given(CLASSES, PARTIES, SEEDS)
def test_no_similarity_is_the_records_in_the_order_of_their_classes(
    y: NDArray[np.int64], parties: int, seed: int
) -> None:
    shards = label_sorted(y, parties, 0, random(seed))
    expected = [sorted(part) for part in np.array_split(np.sort(y), parties)]
    assert [sorted(y[rows]) for rows in shards] == expected


@pytest.mark.heavy
@given(CLASSES, PARTIES, SEEDS)
def test_full_similarity_is_iid(y: NDArray[np.int64], parties: int, seed: int) -> None:
    sorted_by_none = label_sorted(y, parties, 100, random(seed))
    for one, other in zip(sorted_by_none, iid(len(y), parties, random(seed)), strict=True):
        np.testing.assert_array_equal(one, other)


@given(CLASSES, PARTIES, st.floats(0, 100), SEEDS)
def test_what_is_not_at_random_is_sorted_by_class(
    y: NDArray[np.int64], parties: int, similarity: float, seed: int
) -> None:
    shards = label_sorted(y, parties, similarity, random(seed))
    at_random = [len(part) for part in np.array_split(np.arange(round(len(y) * similarity / 100)), parties)]
    rest = np.concatenate([y[rows[dealt:]] for rows, dealt in zip(shards, at_random, strict=True)])
    assert (np.diff(rest) >= 0).all()


def test_as_many_classes_as_parties_are_one_each() -> None:
    y = random(1).permutation(np.repeat(np.arange(10), 20))
    np.testing.assert_array_equal(counts(y, label_sorted(y, 10, 0, random(2))), 20 * np.eye(10))


@pytest.mark.heavy
@given(CLASSES, PARTIES, st.floats(1e-3, 1e6), SEEDS)
def test_a_dirichlet_shares_every_class_out_as_drawn(
    y: NDArray[np.int64], parties: int, alpha: float, seed: int
) -> None:
    shards = dirichlet(y, parties, alpha, random(seed))
    assert_each_record_has_one_holder(shards, len(y))
    replay = random(seed)
    for label in np.unique(y):
        of_class = replay.permutation(np.flatnonzero(y == label))
        drawn = replay.dirichlet(np.full(parties, alpha)) * len(of_class)
        assert np.abs(counts(y, shards)[:, label] - drawn).max() <= 1 + 1e-9


def test_parties_are_alike_for_a_large_alpha_and_hold_whole_classes_for_a_small_one() -> None:
    y = np.repeat(np.arange(10), 100)
    alike = counts(y, dirichlet(y, 5, 1e6, random(3)))
    assert np.abs(alike - 20).max() <= 2
    apart = counts(y, dirichlet(y, 5, 1e-3, random(3)))
    assert (apart.max(axis=0) >= 99).sum() >= 8


@pytest.mark.heavy
@given(st.lists(st.integers(-3, 3), min_size=1, max_size=80), PARTIES)
def test_a_column_gives_every_party_values_of_its_own_in_order(column: list[int], parties: int) -> None:
    values = np.array(column, dtype=np.float32)
    assume(len(np.unique(values)) >= parties)
    shards = by_values(values, parties)
    assert_each_record_has_one_holder(shards, len(values))
    assert all(sizes(shards))
    for lower, upper in pairwise(shards):
        assert values[lower].max() < values[upper].min()
    if len(np.unique(values)) == parties:
        assert [set(values[rows]) for rows in shards] == [{value} for value in np.unique(values)]


@given(st.integers(1, 200), PARTIES, SEEDS)
def test_a_column_without_repeats_is_cut_at_its_quantiles(records: int, parties: int, seed: int) -> None:
    assume(records >= parties)
    shards = by_values(random(seed).permutation(records).astype(np.float32), parties)
    assert max(sizes(shards)) - min(sizes(shards)) <= 1


def test_no_value_is_cut_where_one_is_most_of_the_column() -> None:
    values = np.array([1.0] * 90 + [2.0] * 5 + [3.0] * 5, dtype=np.float32)
    assert sizes(by_values(values, 3)) == [90, 5, 5]
    assert sizes(by_values(-values, 3)) == [5, 5, 90]


def test_fewer_values_than_parties_are_refused() -> None:
    with pytest.raises(ValueError, match="2 values for 3 parties"):
        by_values(np.array([0, 1, 1, 0], dtype=np.float32), 3)


@pytest.mark.parametrize(
    ("scheme", "chosen", "told"),
    [
        ("label-sorted", {}, "needs similarity"),
        ("dirichlet", {}, "needs alpha"),
        ("column", {}, "needs by"),
        ("iid", {"alpha": 1.0}, "alpha is for split dirichlet"),
        ("dirichlet", {"alpha": 1.0, "similarity": 0.0}, "similarity is for split label-sorted"),
    ],
)
def test_a_scheme_has_its_own_option_and_no_other(scheme: str, chosen: dict[str, object], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        check_option(scheme, OPTIONS | chosen)  # type: ignore[arg-type]


def test_a_scheme_with_its_option_is_taken() -> None:
    check_option("iid", OPTIONS)
    check_option("label-sorted", OPTIONS | {"similarity": 0.0})
