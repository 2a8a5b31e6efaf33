"""How good models of sums are said to be."""

import numpy as np
import pytest

from ostraka.client.fitting.accuracy import BY_OWN, BY_TEST, UNMEASURED, measure_model, measure_numbers
from ostraka.client.learners.moments import MomentsLearner
from ostraka.client.learners.problem import OwnRecords
from ostraka.common.task import Task
from ostraka.common.task.input import TableInput
from tests.client.learners.problems import draw

MUCH = 20.0


def task_of(classes: tuple[str, ...]) -> Task:
    columns = [{"name": f"x{place}", "min": 0, "max": 1} for place in range(6)]
    inputs = TableInput.model_validate({"preprocessing": "range", "columns": columns})
    return Task(name="drawn", classes=classes, input=inputs)


def test_a_model_is_measured_beside_own_records_and_the_most_frequent_class() -> None:
    drawn = draw("classes", 3)
    model = drawn.learn(MomentsLearner(), MUCH).model
    task = task_of(("a", "b", "c"))
    test = OwnRecords(drawn.X, drawn.y)
    found = measure_model(model, task, drawn.problem.own, test)
    assert (found.measured_on, found.measured) == (BY_TEST, len(drawn.X))
    assert found.model.accuracy == pytest.approx(model.score(drawn.X, drawn.y))
    assert found.gain is not None
    assert found.gain.over_majority.low > 0
    assert found.own is not None

    own = measure_model(model, task, drawn.problem.own, None)
    assert (own.measured_on, own.measured) == (BY_OWN, 60), "records that joined the model are called so"
    assert measure_model(model, task, None, None).measured_on == UNMEASURED


def test_a_number_has_its_explained_variance_and_error_with_intervals() -> None:
    drawn = draw("number", 1)
    model = drawn.learn(MomentsLearner(), MUCH).model
    found = measure_model(model, task_of(("a", "b")), drawn.problem.own, OwnRecords(drawn.X, drawn.y))
    assert found.gain is None
    assert found.model.r2.estimate == pytest.approx(model.score(drawn.X, drawn.y))
    assert found.model.r2.low < found.model.r2.estimate < found.model.r2.high
    assert found.own.r2.estimate < 1


def test_the_mean_explains_nothing_and_the_truth_everything() -> None:
    y = np.array([1.0, 2.0, 3.0, 6.0])
    assert measure_numbers(y, np.full(4, y.mean())).r2.estimate == pytest.approx(0)
    exact = measure_numbers(y, y)
    assert (exact.r2.estimate, exact.mean_absolute_error.estimate) == (1.0, 0.0)
    assert measure_numbers(np.ones(3), np.ones(3)).r2.estimate == 0, "no variance to explain"
