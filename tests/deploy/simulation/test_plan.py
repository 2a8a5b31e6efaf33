from typing import Any

import pytest

from ostraka.common.datasets import digits
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.task import Task, infer_task
from ostraka.deploy.simulation.plan import plan_of, plan_options
from ostraka.deploy.simulation.settings import Settings


@pytest.fixture(scope="module")
def task() -> Task:
    return infer_task(digits(), "digits")


def test_the_plan_has_the_settings_switches() -> None:
    options = plan_options(Settings(encoding="ckks", tally="blind", batch_size=7))
    assert (options.encoding, options.tally, options.batch_size) == ("ckks", "blind", 7)


@pytest.mark.parametrize("encoding", ["plain", "ckks"])
@pytest.mark.parametrize("tally", ["aggregate", "blind"])
def test_the_demo_can_be_asked_in_every_combination(task: Task, encoding: Any, tally: Any) -> None:
    plan_of(Settings(encoding=encoding, tally=tally), 300, task)


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"mechanism": "interactive", "tally": "blind"}, "choose tally aggregate"),
        ({"mechanism": "noise_cluster", "encoding": "ckks"}, "choose encoding plain"),
        ({"encoding": "ckks", "batch_size": 5000, "queries": 5000}, "batches of at most as many"),
    ],
)
def test_choices_that_exclude_each_other_are_refused(
    task: Task, settings: dict[str, Any], named: str
) -> None:
    with pytest.raises(OstrakaError, match=named) as caught:
        plan_of(Settings(**settings), 5000, task)
    assert caught.value.code == ErrorCode.PLAN_INVALID
