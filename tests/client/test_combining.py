"""The table of docs/combining.md says of every mechanism what plans and rounds accept."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ostraka.client.rounds.rounds_options import check_rounds
from ostraka.client.run.options import PlanOptions, make_plan
from ostraka.common.datasets import from_arrays
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import Mechanism, labelling
from ostraka.common.mechanism.arguments import make_mechanism
from ostraka.common.task import Task, infer_task

PAGE = Path(__file__).parents[2] / "docs" / "combining.md"
CHECKED = {"sigma1": 40.0, "sigma2": 20.0, "threshold": 30.0}
PARAMETERS: dict[str, dict[str, float]] = {
    "gnmax": {"sigma": 40.0},
    "distributed_gnmax": {"sigma": 40.0, "honest": 1},
    "confident": CHECKED,
    "interactive": CHECKED | {"confidence": 0.9},
    "lnmax": {"gamma": 0.05},
    "threshold": {"sigma": 20.0, "share": 0.25},
    "binary": {"sigma": 20.0},
    "tau": {"sigma": 20.0, "tau": 1.2},
    "l1": {"sigma": 20.0, "tau1": 1.2},
    "powerset": {"sigma": 20.0},
    "noise_cluster": {"sigma": 20.0},
    "rand_res": {"epsilon": 2.0},
    "rand_res_labels": {"epsilon": 4.0},
}
CHANGES: dict[str, list[dict[str, Any]]] = {
    "`--variant`": [{"variant": "weighting"}, {"variant": "vanishing"}],
    "`--encoding ckks`": [{"encoding": "ckks"}],
    "`--tally blind`": [{"tally": "blind"}],
    "`--adjacency label`": [{"adjacency": "label"}],
    "`labels`": [{"labels": "all but the last"}],
}


def cells() -> Iterator[tuple[str, str, bool]]:
    """Yield mechanism, column and whether the page says that they combine."""
    table = [line.strip("| ").split(" | ") for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    heads = table[0]
    for row in table[1 : 1 + len(PARAMETERS)]:
        for head, cell in zip(heads[1:], row[1:], strict=True):
            assert re.fullmatch(r"yes|\d", cell), cell
            yield row[0].split("`")[1], head, cell == "yes"


@pytest.mark.parametrize(("kind", "column", "combines"), cells())
def test_the_page_says_what_combines(kind: str, column: str, combines: bool) -> None:
    mechanism = make_mechanism(kind, **PARAMETERS[kind])
    assert accepted(mechanism, column) is combines


def test_the_page_has_every_mechanism() -> None:
    assert {kind for kind, _, _ in cells()} == set(labelling())


def accepted(mechanism: Mechanism, column: str) -> bool:
    base: dict[str, Any] = {} if "record" in mechanism.adjacencies else {"adjacency": "label"}
    try:
        if column == "`query learn`":
            check_rounds(mechanism)
        asked = task(mechanism)
        for changes in CHANGES.get(column, []):
            named = {"labels": asked.classes[:-1]} if "labels" in changes else changes
            options = PlanOptions.model_validate({"mechanism": mechanism} | base | named)
            make_plan(options, asked, 20, ["x", "y", "z"], bytes(16))
    except OstrakaError as refused:
        if refused.code is not ErrorCode.PLAN_INVALID:
            raise
        return False
    return True


def task(mechanism: Mechanism) -> Task:
    classes = ("a", "b") if mechanism.kind == "threshold" else ("a", "b", "c")
    y = np.array([[0, 1, 1], [1, 0, 1], [1, 1, 0]]) if mechanism.multi_label else np.arange(3) % len(classes)
    return infer_task(from_arrays(np.eye(3), y, classes=classes), "letters")
