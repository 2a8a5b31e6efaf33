"""A party's sum over its cohorts: who is in it, and what they weigh."""

from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from ostraka.common.sharing.ballots import VOTE
from ostraka.common.sums.codes import ClassCodes
from ostraka.common.sums.feature_map import FeatureMap
from ostraka.common.sums.questions import MomentsQuestion
from ostraka.services.admission.grants import Permission
from ostraka.services.hosting.records import Records
from ostraka.services.sums.summing import sum_cohorts

COUNT = MomentsQuestion(FeatureMap(np.zeros(1), 1.0, 0.5), ClassCodes(np.array([[1.0], [1.0]])))
"""Of which the last value is half the records."""


def count(cohorts: list[int], weights: list[int], scheduled: list[bool]) -> float:
    """Return the weighed number of records, of records in these cohorts."""
    X = np.zeros((len(cohorts), 1), np.float32)
    groups = np.array(cohorts, np.int64)
    y = np.zeros(len(cohorts), np.int64)
    records = Records(X, y, groups, 2, groups=groups, codes=X, features=X)
    allowed = SimpleNamespace(
        participant=SimpleNamespace(cohorts=[SimpleNamespace(weight=weight) for weight in weights]),
        scheduled=np.array(scheduled)[:, None],
    )
    return float(2 * sum_cohorts(COUNT, records, cast(Permission, allowed))[-1] / VOTE)


@pytest.mark.parametrize(
    ("cohorts", "weights", "scheduled", "counted"),
    [
        ([0, 0, 1], [VOTE, VOTE], [True, True], 3.0),
        ([0, 0, 1], [VOTE // 2, 3 * VOTE], [True, True], 4.0),
        ([0, 0, 1], [VOTE, VOTE], [True, False], 2.0),
        ([0, 0, 1], [VOTE, VOTE, VOTE], [True, True, True], 3.0),
        ([], [VOTE], [True], 0.0),
    ],
    ids=["all", "weighed", "one has vanished", "nobody is in one", "no records"],
)
def test_cohorts_that_are_scheduled_count_by_their_weight(
    cohorts: list[int], weights: list[int], scheduled: list[bool], counted: float
) -> None:
    assert count(cohorts, weights, scheduled) == counted
