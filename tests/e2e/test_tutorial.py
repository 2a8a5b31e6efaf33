import csv
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from ostraka.deploy.simulation.processes import Start
from tests.e2e import walkthrough

TUTORIAL = walkthrough.ROOT / "docs" / "tutorial.md"
COMPLETED = walkthrough.ROOT / "examples" / "hospital.toml"
BY_PEOPLE = {"min", "max", "dtype", "missing", "unit", "clip"}
"""What the tutorial adds to a proposed column."""


def columns(task: Path) -> list[dict[str, Any]]:
    """Return the columns of a task file, without what people write."""
    described = tomllib.loads(task.read_text())["input"]["columns"]
    return [{key: value for key, value in column.items() if key not in BY_PEOPLE} for column in described]


@pytest.mark.heavy
def test_every_command_works_and_labels_have_the_patients_ids(
    tmp_path: Path, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    walkthrough.run(walkthrough.commands(TUTORIAL.read_text()), tmp_path, start, monkeypatch)
    with (tmp_path / "fed/west/run/labels.csv").open() as file:
        labels = list(csv.DictReader(file))
    with (tmp_path / "tables/west-pool.csv").open(encoding="utf-8-sig") as file:
        patients = [row["patient_id"] for row in csv.DictReader(file, delimiter=";")]
    assert [row["patient_id"] for row in labels] == patients
    assert {row["label"] for row in labels if row["status"] == "answered"} == {"none", "sepsis"}
    assert columns(tmp_path / "task.toml") == columns(COMPLETED)


def test_completed_lines_are_those_of_the_example() -> None:
    shown = re.findall(r"```toml\n(.*?)```", TUTORIAL.read_text(), re.S)
    assert shown
    assert set("".join(shown).splitlines()) <= set(COMPLETED.read_text().splitlines())
