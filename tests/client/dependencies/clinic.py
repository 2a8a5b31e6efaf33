"""Insects again: an insect that is no bee is no cat, so two labels are asked for all and one for some."""

import csv
from pathlib import Path
from typing import Any, Literal

from ostraka.client.dependencies.conditional_labelling import label_by_dependencies
from ostraka.client.dependencies.several_runs import PartedResult
from ostraka.client.run.dependency_rules import Dependencies, Dependency, write_dependencies
from ostraka.client.run.labelling import LabellingRun
from ostraka.common.mechanism import Binary
from tests.client.driving import QUICK, options, run_of
from tests.client.federation import Federation

BINARY = Binary(sigma=5.0)
TRUE = [("1", "0", "0"), ("1", "1", "0"), ("1", "1", "1")]


def rule(parent: str, child: str, implies: Literal["absence", "presence"] = "absence") -> Dependency:
    return Dependency(parent=parent, child=child, confidence=1.0, missed=0.25, support=40, implies=implies)


RULES = Dependencies(task="insects", dependencies=(rule("bee", "cat"),))


def file_of(federation: Federation, rules: Dependencies = RULES) -> Path:
    path = federation.root / "deps.toml"
    write_dependencies(rules, path)
    return path


def ask(federation: Federation, rules: Dependencies = RULES, **changes: Any) -> PartedResult:
    chosen = options(**{"mechanism": BINARY, **changes})
    file = file_of(federation, rules)
    return label_by_dependencies(
        federation.site,
        federation.pool,
        chosen,
        run_of(federation),
        dependencies=file,
        run=LabellingRun(retry=QUICK),
    )


def table(federation: Federation) -> list[tuple[str, ...]]:
    with (run_of(federation) / "labels.csv").open(newline="") as file:
        return [tuple(row.values()) for row in csv.DictReader(file)]


def whole(row: int) -> tuple[str, ...]:
    """Return everything that is finally known of a query."""
    implied = row % 3 == 0
    return str(row), *TRUE[row % 3], "implied" if implied else "answered", "cat" if implied else ""
