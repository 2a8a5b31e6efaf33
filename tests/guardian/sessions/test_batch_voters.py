"""Who votes on what: as tickets say it, and what the guardian counts from it."""

import numpy as np
import pytest

from ostraka.guardian.sessions.cohorts import ONE_VOTE_STEPS, Attendance
from ostraka.protos.ostraka.v1 import common_pb2
from tests.guardian.sessions.people import cohort

HALF = ONE_VOTE_STEPS // 2
COHORTS = (cohort("a", "low", 2), cohort("a", "high", 3, HALF), cohort("b", "all", 5), cohort("c", "all", 7))
PRESENT = np.array([[1, 1, 1], [0, 1, 0], [1, 0, 0], [0, 0, 0]], dtype=np.bool_)
PARTICIPANTS = [
    common_pb2.Participant(site=site, cohorts=[common_pb2.Cohort()] * count)
    for site, count in (("a", 2), ("b", 1), ("c", 1))
]


@pytest.fixture
def attendance() -> Attendance:
    return Attendance(COHORTS, PRESENT)


def test_weights_voters_and_parties_of_each_query(attendance: Attendance) -> None:
    votes = np.array([7.0, 3.5, 2.0])
    np.testing.assert_array_equal(attendance.totals(), votes * ONE_VOTE_STEPS)
    assert attendance.totals().dtype == np.int64
    assert attendance.voters() == 7
    assert attendance.fewest_parties() == 1
    assert attendance.sites == {"a", "b"}


def test_the_votes_of_all_parties_add_up_to_the_total(attendance: Attendance) -> None:
    assert attendance.totals_of("a").tolist() == [2 * ONE_VOTE_STEPS, 7 * HALF, 2 * ONE_VOTE_STEPS]
    each = [attendance.totals_of(site) for site in ("a", "b", "c", "none")]
    np.testing.assert_array_equal(np.sum(each, axis=0), attendance.totals())


def test_a_query_on_which_nobody_votes_counts_nothing(attendance: Attendance) -> None:
    alone = attendance.of({"b"})
    assert alone.totals().tolist() == [5 * ONE_VOTE_STEPS, 0, 0]
    assert alone.fewest_parties() == 0
    assert alone.totals_of("a").tolist() == [0, 0, 0]
    assert attendance.without(COHORTS).voters() == 0


def test_a_ticket_says_it_all_but_who_has_no_vote(attendance: Attendance) -> None:
    messages = attendance.schedule(PARTICIPANTS)
    assert [m.participant.site for m in messages] == ["a", "b"]
    assert [list(m.queries) for m in messages] == [[b"", b"\x40"], [b"\x80"]]
    read = Attendance.of_ticket(common_pb2.Ticket(size=3, schedule=messages), COHORTS)
    assert read.cohorts == COHORTS[:3]
    np.testing.assert_array_equal(read.present, PRESENT[:3])
