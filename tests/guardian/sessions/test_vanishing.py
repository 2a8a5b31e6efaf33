"""Timetables of vanishing cohorts: shares, stability, and nothing but public randomness."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostraka.guardian.sessions.planned_voters import frequencies, timetable

DIGEST = bytes(range(32))
OFTEN = st.lists(
    st.fractions(0, 1, max_denominator=40) | st.sampled_from([Fraction(0), Fraction(1, 4), Fraction(1)]),
    min_size=1,
    max_size=12,
)


def test_the_cohort_that_pays_for_most_votes_always_and_others_in_proportion() -> None:
    assert frequencies([100, 25, 50]) == [1, Fraction(1, 4), Fraction(1, 2)]
    assert frequencies([0, 0]) == [1, 1]
    assert frequencies([]) == []


def test_who_has_no_limit_always_votes_and_nobody_is_measured_by_that() -> None:
    assert frequencies([None, 100, 25]) == [1, 1, Fraction(1, 4)]
    assert frequencies([None, None]) == [1, 1]
    assert frequencies([None, 0]) == [1, 1]


def test_who_pays_for_nothing_keeps_a_turn_for_the_policy_to_act_on() -> None:
    assert frequencies([100, 0]) == [1, Fraction(1, 100)]


@pytest.mark.heavy
@given(often=OFTEN, queries=st.integers(1, 60), batch=st.integers(0, 2**63 - 1))
def test_every_cohort_votes_on_its_share_of_queries(often: list[Fraction], queries: int, batch: int) -> None:
    """Within the rounding of its deck: a deck deals as many as its cohorts ask for, to all of them alike."""
    table = timetable(often, queries, DIGEST, batch)
    assert table.shape == (len(often), queries)
    for frequency in set(often):
        deck = table[[each == frequency for each in often]]
        wanted = frequency * len(deck) * queries
        assert abs(int(deck.sum()) - wanted) < 1
        each = deck.sum(axis=1)
        assert each.max() - each.min() <= 1


@pytest.mark.heavy
@given(often=OFTEN, queries=st.integers(1, 60))
def test_the_number_of_cohorts_is_stable(often: list[Fraction], queries: int) -> None:
    """Every query takes from a deck what its frequency says, rounded up or down."""
    table = timetable(often, queries, DIGEST, 7)
    for frequency in set(often):
        deck = table[[each == frequency for each in often]]
        taken, wanted = deck.sum(axis=0), frequency * len(deck)
        assert all(abs(int(count) - wanted) < 1 for count in taken)


def test_equal_periods_are_shifted_against_each_other() -> None:
    """Three cohorts of nearly the same frequency take turns, so that one votes on each query."""
    often = [Fraction(1, 3), Fraction(1001, 3000), Fraction(1002, 3000), Fraction(1)]
    assert set(timetable(often, 60, DIGEST, 1).sum(axis=0)) == {2}


def test_decks_are_shuffled_anew() -> None:
    """Cohorts of one frequency vote with others each time."""
    table = timetable([Fraction(1, 3)] * 6, 90, DIGEST, 1)
    assert set(table.sum(axis=0)) == {2}
    pairs = {tuple(np.flatnonzero(query)) for query in table.T}
    assert len(pairs) > 8


def test_a_timetable_is_that_of_its_plan_and_batch() -> None:
    often = [Fraction(1, 2)] * 8
    table = timetable(often, 40, DIGEST, 1)
    np.testing.assert_array_equal(table, timetable(often, 40, DIGEST, 1))
    assert (table != timetable(often, 40, DIGEST, 2)).any()
    assert (table != timetable(often, 40, bytes(32), 1)).any()


def test_the_randomness_is_the_documented_one() -> None:
    """The first numbers of Philox under SHA-256 of domain, digest and batch id: a known answer."""
    packed = np.packbits(timetable([Fraction(1, 2)] * 4, 4, DIGEST, 3), axis=1)
    assert packed.tobytes().hex() == "5050a0a0"


@pytest.mark.heavy
def test_over_batches_of_one_query_everybody_gets_its_share() -> None:
    often = [Fraction(1, 4)] * 4 + [Fraction(1)]
    votes = np.sum([timetable(often, 1, DIGEST, batch)[:, 0] for batch in range(4000)], axis=0)
    assert votes[4] == 4000
    assert np.abs(votes[:4] - 1000).max() < 6.2 * np.sqrt(4000 * 3 / 16)
