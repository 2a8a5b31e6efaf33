"""What a run folder holds of statistics, and of anything else."""

from pathlib import Path

import pytest

from ostraka.client.describing.describe_options import DescribeOptions
from ostraka.client.describing.describing import find_own
from ostraka.client.sums.sum_store import SumStore
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.task import Task
from ostraka.common.task.input import TensorInput

TASK = Task(name="i", classes=("a", "b"), input=TensorInput(shape=(2, 2), range=(0, 1)))


def test_sums_of_a_fit_are_not_begun_anew(tmp_path: Path) -> None:
    assert find_own(tmp_path, TASK, DescribeOptions()) == (None, None)
    SumStore.create(tmp_path, b"plan of a fit")
    with pytest.raises(OstrakaError, match="holds sums of something else") as refused:
        find_own(tmp_path, TASK, DescribeOptions())
    assert refused.value.code is ErrorCode.RUN_MISMATCH
    kept = SumStore.load(tmp_path)
    assert kept is not None
    assert kept.plan_bytes == b"plan of a fit"
