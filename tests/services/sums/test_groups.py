"""Sums are of each consent level's records apart, whichever teachers had them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ostraka.common.datasets import from_arrays
from ostraka.common.sharing.ballots import VOTE
from ostraka.common.sums.codes import NumberCodes
from ostraka.common.sums.feature_map import FeatureMap
from ostraka.common.sums.questions import MomentsQuestion
from ostraka.common.task import Task
from ostraka.protos.ostraka.v1 import common_pb2
from ostraka.services.hosting.records import Records
from ostraka.services.sums.summing import sum_cohorts
from ostraka.services.teachers.manifest import TeachersManifest

TASK = Task.model_validate(
    {
        "name": "t",
        "label": "y",
        "target": {"kind": "number", "min": -1, "max": 1},
        "input": {"kind": "table", "columns": [{"name": "x", "min": 0, "max": 1}]},
    }
)
LEVELS = np.array(["low", "high", "high", "low"])
Y = np.array([0.5, -0.25, 0.75, 0.125])
QUESTION = MomentsQuestion(FeatureMap(np.zeros(1), 1.0), NumberCodes(0.0, 1.0))


class Permission:
    """What a party checked: which groups' records answer, and what they weigh."""

    def __init__(self, weights: dict[str, int], present: list[bool]) -> None:
        cohorts = [common_pb2.Cohort(groups=[name], weight=weight) for name, weight in weights.items()]
        self.participant = common_pb2.Participant(cohorts=cohorts)
        self.scheduled = np.array(present)[:, None]


def held(mixed: bool) -> Records:
    groups = [{"name": "high", "records": 2, "teachers": 4}, {"name": "low", "records": 2, "teachers": 4}]
    manifest = TeachersManifest(
        teachers=4 if mixed else 8,
        records=4,
        model="m",
        library="torch",
        training="m",
        task_digest=TASK.digest.hex(),
        seed=0,
        classes=2,
        shape=(1,),
        mixed=mixed,
        groups=groups,
    )
    data = from_arrays(np.ones((4, 1)), Y, columns=("x",), consent=LEVELS, numeric=True)
    return Records.of(data, Path("records.npz"), TASK, manifest)


@pytest.mark.parametrize("mixed", [True, False])
@pytest.mark.parametrize("present", [[True, True], [True, False], [False, True]])
def test_a_groups_records_are_summed_with_its_weight(mixed: bool, present: list[bool]) -> None:
    permission: Any = Permission({"high": VOTE // 2, "low": VOTE}, present)
    weights = np.where(LEVELS == "high", 0.5 * present[0], 1.0 * present[1])
    mapped = QUESTION.map(np.ones((4, 1)))
    expected = (mapped * weights[:, None]).T @ QUESTION.codes(Y)
    found = np.ldexp(sum_cohorts(QUESTION, held(mixed), permission).astype(float), -16)
    np.testing.assert_allclose(found, expected.ravel(), atol=3 * 2.0**-16)
