"""Parties that leave out labels: which plans do without their votes, and who is counted where."""

from typing import Any

import numpy as np
import pytest

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import L1, Binary, GnMax, Mechanism, Powerset, Tau
from ostraka.common.plan.plan import Plan
from ostraka.guardian.sessions.cohorts import ONE_VOTE_STEPS, Attendance, Cohort
from ostraka.guardian.sessions.policy_checks import check_abstains
from ostraka.protos.ostraka.v1 import common_pb2
from tests.guardian.federation import plan as any_plan

HALF = ONE_VOTE_STEPS // 2
COHORTS = (
    Cohort("a", (), 2, ONE_VOTE_STEPS, (1, 3)),
    Cohort("a", (), 4, HALF, (1, 3)),
    Cohort("b", (), 5, ONE_VOTE_STEPS, (3,)),
    Cohort("c", (), 7, ONE_VOTE_STEPS, (0, 3)),
)
PRESENT = np.array([[1, 1, 1], [0, 1, 1], [1, 1, 0], [1, 1, 1]], dtype=np.bool_)


def plan(mechanism: Mechanism, **changes: Any) -> Plan:
    return any_plan(mechanism=mechanism, multi_label=mechanism.multi_label, **changes)


def test_who_abstains_counts_neither_way() -> None:
    attendance = Attendance(COHORTS, PRESENT)
    votes = [[7, 12, 14, 0], [9, 12, 16, 0], [4, 7, 11, 0]]
    totals = attendance.totals_by_label(4)
    assert totals.dtype == np.int64
    np.testing.assert_array_equal(totals, np.array(votes) * ONE_VOTE_STEPS)
    np.testing.assert_array_equal(attendance.totals(), totals[:, 2])


def test_every_label_that_anybody_votes_on_counts_for_the_quorum() -> None:
    everyone = np.ones_like(PRESENT)
    assert Attendance(COHORTS, everyone).fewest_parties() == 2
    assert Attendance(COHORTS, PRESENT).fewest_parties() == 1
    assert Attendance(COHORTS[:2], everyone[:2]).fewest_parties() == 1
    assert Attendance(COHORTS, everyone).of({"b", "c"}).fewest_parties() == 1
    assert Attendance(COHORTS, everyone).of(()).fewest_parties() == 0


@pytest.mark.parametrize("mechanism", [Binary(sigma=5), Tau(sigma=5, tau=1), L1(sigma=5, tau1=1)])
def test_mechanisms_that_decide_each_label_do_without_some_votes(mechanism: Mechanism) -> None:
    for abstains in ([], [0], [3], [0, 1, 2]):
        check_abstains(plan(mechanism), common_pb2.Manifest(site="a", abstains=abstains))
    ciphered = plan(mechanism, encoding="ckks", ring_bits=32)
    check_abstains(ciphered, common_pb2.Manifest(site="a", abstains=[1]))


@pytest.mark.parametrize(
    ("asked", "abstains", "code", "advice"),
    [
        (plan(Binary(sigma=5)), [4], ErrorCode.TASK_MISMATCH, "does not have"),
        (plan(Binary(sigma=5)), [0, 1, 2, 3], ErrorCode.TASK_MISMATCH, "all it has"),
        (plan(GnMax(sigma=5)), [1], ErrorCode.TASK_MISMATCH, "does not have"),
        (plan(Powerset(sigma=5)), [1], ErrorCode.PLAN_INVALID, "binary, tau or l1"),
        (plan(Binary(sigma=5), tally="blind", ring_bits=32), [1], ErrorCode.PLAN_INVALID, "tally aggregate"),
    ],
)
def test_what_cannot_do_without_them_is_refused(
    asked: Plan, abstains: list[int], code: ErrorCode, advice: str
) -> None:
    check_abstains(asked, common_pb2.Manifest(site="a"))
    with pytest.raises(OstrakaError, match="Party a ") as refused:
        check_abstains(asked, common_pb2.Manifest(site="a", abstains=abstains))
    assert refused.value.code is code
    assert advice in refused.value.message
