"""Which learner is chosen: by what is public and what the querying party has itself."""

from dataclasses import replace

import numpy as np
import pytest

from ostraka.client.learners.choice import LEARNERS, choose
from ostraka.client.learners.problem import OwnRecords, Problem
from tests.client.learners.problems import draw

TABLE = draw("classes", 2).problem
IMAGES = replace(draw("classes", 10).problem, image=True)


@pytest.mark.parametrize(
    ("problem", "mu", "name"),
    [
        (replace(TABLE, records=30_000), 0.14, "boost"),
        (replace(TABLE, records=30_000, image=True), 1.0, "moments"),
        (replace(TABLE, records=30_000, pool=None, own=None), 1.0, "moments"),
        (TABLE, 0.5, "gradients"),
        (replace(TABLE, own=None), 0.5, "moments"),
        (draw("classes", 2, rare=0.2).problem, 0.14, "moments"),
        (draw("classes", 2, rare=0.2).problem, 1.5, "gradients"),
        (replace(IMAGES, records=1_000), 1.0, "gradients"),
        (replace(IMAGES, records=60_000), 0.14, "moments"),
        (draw("number", 1).problem, 1.0, "gradients"),
        (replace(draw("number", 1).problem, own=None), 1.0, "moments"),
        (draw("labels", 3).problem, 1.0, "moments"),
    ],
)
def test_the_choice_follows_records_budget_and_kind(problem: Problem, mu: float, name: str) -> None:
    choice = choose(problem, mu)
    assert choice.name == name
    assert choice.learner is LEARNERS[choice.name]
    assert choice.reason.endswith(".")


def test_rare_labels_are_ranked_by_gradients() -> None:
    y = np.zeros((50, 30), np.int64)
    y[0] = 1
    problem = Problem("labels", 30, 4, 5000, None, OwnRecords(np.zeros((50, 4)), y))
    assert choose(problem, 1.0).name == "gradients"
