"""A task with a number as its target: whatever answers with classes says what learns it instead."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ostraka.client.run.options import PlanOptions, make_plan
from ostraka.client.run.site import load_class_task
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import GnMax, Mechanism, Moments
from ostraka.common.task import Task, write_task

TASK = Task.model_validate(
    {
        "name": "wages",
        "label": "wage",
        "target": {"kind": "number", "min": 0, "max": 300},
        "input": {"kind": "table", "columns": [{"name": "age", "min": 0, "max": 100}]},
    }
)


def planned(mechanism: Mechanism) -> Any:
    return make_plan(PlanOptions(mechanism=mechanism), TASK, 10, ["a", "b"], bytes(16))


def refused(ask: Callable[[], Any]) -> str:
    with pytest.raises(OstrakaError) as refusal:
        ask()
    assert refusal.value.code is ErrorCode.TASK_NUMERIC
    assert "`ostraka query fit`" in refusal.value.message
    return refusal.value.message


def test_votes_on_numbers_are_not_planned(tmp_path: Path) -> None:
    assert "mechanism gnmax needs classes" in refused(lambda: planned(GnMax(sigma=1)))
    write_task(TASK, tmp_path / "task.toml")
    assert "labelling needs classes" in refused(lambda: load_class_task("labelling", tmp_path))


def test_a_plan_of_sums_counts_a_number_as_one_class() -> None:
    options = PlanOptions(mechanism=Moments(columns=2, codes=1, sigma=1), queries=1)
    plan = make_plan(options, TASK, 1, ["a", "b"], bytes(16))
    assert (plan.classes, plan.labels, plan.multi_label) == (1, (), False)
