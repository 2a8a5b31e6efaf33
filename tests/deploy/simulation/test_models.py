"""Models of sums beside votes, and what they are compared with."""

from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from ostraka.common.datasets import from_arrays
from ostraka.common.task import Task, infer_task
from ostraka.deploy.simulation.models import (
    affordable_epsilon,
    constant_metrics,
    draw_model,
    measure_pooled,
)
from ostraka.deploy.simulation.settings import Settings
from ostraka.deploy.simulation.split import Split

ENDS = (0, 300, 600, 620, 700, 900)
"""Of the records of two parties, own labelled ones, the pool and test records."""


@cache
def halves(shape: str = "records") -> tuple[Split, Task]:
    """Return records of which the first of four features tells the class, or two of them two labels."""
    random = np.random.default_rng(1)
    X = random.random((900, 4), np.float32)
    y = (X[:, :2] > 0.5) if shape == "labels" else X[:, 0] > 0.6
    data = from_arrays(X, y.astype(np.int64))
    task = infer_task(data, "halves")
    first, second, labelled, pool, test = (data.take(slice(*pair)) for pair in pairwise(ENDS))
    return Split((first, second), labelled, pool, pool.labels(), test), task


@pytest.mark.parametrize("shape", ["records", "labels"])
def test_a_model_of_a_large_budget_is_nearly_as_good_as_one_of_all_records(shape: str) -> None:
    split, task = halves(shape)
    drawn = draw_model(Settings(epsilon=20), split, task)
    pooled = measure_pooled(split, task)
    assert drawn is not None
    assert pooled is not None
    assert drawn.metrics is not None
    assert drawn.gain is not None
    assert not drawn.asked
    assert drawn.records == 600
    assert drawn.metrics.accuracy > pooled.accuracy - 0.15
    assert drawn.metrics.accuracy > constant_metrics(split, task).accuracy + 0.1
    assert drawn.gain.accuracy.estimate == pytest.approx(drawn.metrics.accuracy)


@pytest.mark.parametrize(
    "settings",
    [
        Settings(consent={"low": 1.0}),
        Settings(epsilons={"party-1": 3.0}),
        Settings(queriers=1),
        Settings(training="dp-ttac"),
        Settings(label_dp="ldp-normal", adjacency="label", mechanism="rand_res"),
    ],
)
def test_no_model_is_drawn_where_budgets_are_not_one(settings: Settings) -> None:
    assert draw_model(settings, *halves()) is None


def test_the_most_frequent_class_is_what_a_constant_says() -> None:
    split, task = halves()
    share = float((split.test.labels() == 0).mean())
    found = constant_metrics(split, task)
    assert found.accuracy == pytest.approx(max(share, 1 - share))
    assert found.balanced_accuracy == 0.5


def test_everybodys_budget_pays_unless_a_variant_uses_the_largest() -> None:
    differing = {"parties": 2, "epsilon": 3.0, "epsilons": {"party-2": 5.0}, "learn": "moments"}
    assert affordable_epsilon(Settings(**differing)) == 3.0
    assert affordable_epsilon(Settings(**differing, variant="weighting")) == 5.0
    levels = {"consent": {"low": 0.5, "high": 0.5}, "levels": {"low": 1.0, "high": 4.0}, "learn": "moments"}
    assert affordable_epsilon(Settings(**levels)) == 1.0
