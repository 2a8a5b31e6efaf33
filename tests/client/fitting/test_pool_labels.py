"""labels.csv of a pool, by a model."""

from pathlib import Path

import numpy as np

from ostraka.client.fitting.pool_labels import write_labels
from ostraka.client.fitting.problems import KnownRecords
from ostraka.client.learners.moments import MomentsLearner
from ostraka.client.learners.problem import Kind
from ostraka.client.run.labels import PoolIds
from ostraka.common.estimators.sum_models import SumClassifier, SumRegressor
from ostraka.common.task import Task
from tests.client.learners.problems import draw


def table(
    tmp_path: Path, kind: Kind, outputs: int, task: dict[str, object]
) -> tuple[list[list[str]], KnownRecords]:
    drawn = draw(kind, outputs)
    pool = drawn.problem.pool
    assert pool is not None
    columns = [{"name": f"x{place}", "min": 0, "max": 1} for place in range(6)]
    known = KnownRecords(
        Task.model_validate({"name": "t", "input": {"kind": "table", "columns": columns}} | task),
        pool.astype(np.float32),
        PoolIds("case", [f"c{row}" for row in range(len(pool))]),
        None,
        None,
        encoded=False,
    )
    model: SumClassifier | SumRegressor = drawn.learn(MomentsLearner(), 20.0).model
    path = write_labels(tmp_path, known, model)
    return [line.split(",") for line in path.read_text().splitlines()], known


def test_classes_have_their_probability(tmp_path: Path) -> None:
    (head, *rows), known = table(tmp_path, "classes", 3, {"classes": ["a", "b", "c"]})
    assert head == ["case", "label", "probability", "status"]
    assert len(rows) == len(known.pool if known.pool is not None else ())
    assert {row[1] for row in rows} == {"a", "b", "c"}
    assert all(1 / 3 <= float(row[2]) <= 1 and row[3] == "by model" for row in rows)


def test_labels_are_told_one_by_one_with_the_least_sure(tmp_path: Path) -> None:
    (head, *rows), _ = table(tmp_path, "labels", 2, {"classes": ["a", "b"], "multi_label": True})
    assert head == ["case", "a", "b", "probability", "status"]
    assert all(row[1] in "01" and row[2] in "01" and float(row[3]) >= 0.5 for row in rows)


def test_a_number_is_told_in_its_units(tmp_path: Path) -> None:
    target = {"kind": "number", "min": 0, "max": 1}
    (head, *rows), _ = table(tmp_path, "number", 1, {"label": "wage", "target": target})
    assert head == ["case", "wage", "low", "high", "status"]
    for row in rows:
        number, low, high = map(float, row[1:4])
        assert 0 <= low <= number <= high <= 1
    assert all(0 <= float(row[1]) <= 1 for row in rows)
