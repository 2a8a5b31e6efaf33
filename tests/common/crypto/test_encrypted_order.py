"""The order of votes in an encrypted batch, against loops over cohorts, teachers and queries."""

from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ostraka.common.crypto.ballot_computation import cohort_votes
from ostraka.protos.ostraka.v1 import common_pb2


def participant(*teachers: int) -> common_pb2.Participant:
    cohorts = [common_pb2.Cohort(teachers=count, weight=10 + count) for count in teachers]
    return common_pb2.Participant(cohorts=cohorts)


@given(st.lists(st.integers(1, 3), min_size=1, max_size=3), st.integers(1, 5), st.randoms())
def test_instances_are_teacher_by_teacher_the_scheduled_queries(
    teachers: list[int], size: int, random: Random
) -> None:
    scheduled = np.array([[random.random() < 0.6 for _ in range(size)] for _ in teachers])
    cohorts = cohort_votes(participant(*teachers), scheduled)
    assert [cohort.place for cohort in cohorts] == [
        place for place, votes in enumerate(scheduled) if votes.any()
    ]
    for cohort in cohorts:
        assert (cohort.teachers, cohort.weight) == (teachers[cohort.place], 10 + teachers[cohort.place])
        logits = np.arange(cohort.teachers * size * 2).reshape(cohort.teachers, size, 2)
        expected = [
            logits[t, q] for t in range(cohort.teachers) for q in range(size) if scheduled[cohort.place, q]
        ]
        assert np.array_equal(cohort.select(logits), expected)
        assert cohort.instances == len(expected)


def test_shares_are_added_up_in_the_ring_where_they_were_scheduled() -> None:
    (cohort,) = cohort_votes(participant(2), np.array([[True, False, True]]))
    shares = np.array([[2**32 - 1, 1], [5, 6], [2, 3], [7, 8]], np.uint32)
    assert cohort.ballots(shares, 3).tolist() == [[1, 4], [0, 0], [12, 14]]
