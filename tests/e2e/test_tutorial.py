import csv
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from ostraka.common.config import load_site
from ostraka.deploy.simulation.processes import Start, Supervisor
from tests.e2e import gallery, walkthrough
from tests.e2e.relayed import RelayProcess, attach, call_by_relay

TUTORIAL = walkthrough.ROOT / "docs" / "tutorial.md"
COMPLETED = walkthrough.ROOT / "examples" / "hospital.toml"
BY_PEOPLE = {"min", "max", "dtype", "missing", "unit", "clip"}
"""What the tutorial adds to a proposed column."""


def columns(task: Path) -> list[dict[str, Any]]:
    """Return the columns of a task file, without what people write."""
    described = tomllib.loads(task.read_text())["input"]["columns"]
    return [{key: value for key, value in column.items() if key not in BY_PEOPLE} for column in described]


def require_labels(folder: Path) -> None:
    """Every patient of the pool has a label, or is said to have none."""
    with (folder / "fed/west/run/labels.csv").open() as file:
        labels = list(csv.DictReader(file))
    with (folder / "tables/west-pool.csv").open(encoding="utf-8-sig") as file:
        patients = [row["patient_id"] for row in csv.DictReader(file, delimiter=";")]
    assert [row["patient_id"] for row in labels] == patients
    assert {row["label"] for row in labels if row["status"] == "answered"} == {"none", "sepsis"}


@pytest.mark.heavy
def test_every_command_works_and_labels_have_the_patients_ids(
    tmp_path: Path, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(gallery.COLUMNS))
    page = walkthrough.commands(TUTORIAL.read_text())
    walkthrough.run(page, tmp_path, start, monkeypatch)
    gallery.keep_picture("tutorial", gallery.TUTORIAL(tmp_path, page))
    require_labels(tmp_path)
    assert columns(tmp_path / "task.toml") == columns(COMPLETED)


@pytest.mark.heavy
def test_every_command_works_where_hospitals_only_call_out(
    tmp_path: Path, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    sites = tmp_path / "fed"

    def put_relay_between(processes: Supervisor) -> None:
        relay = RelayProcess(sites, processes, load_site(sites / "west"))
        call_by_relay(sites / "west", relay)
        for hospital in ("north", "south", "east"):
            attach(sites / hospital, relay)

    page = walkthrough.commands(TUTORIAL.read_text())
    walkthrough.run(page, tmp_path, start, monkeypatch, put_relay_between)
    require_labels(tmp_path)


def test_completed_lines_are_those_of_the_example() -> None:
    shown = re.findall(r"```toml\n(.*?)```", TUTORIAL.read_text(), re.S)
    assert shown
    assert set("".join(shown).splitlines()) <= set(COMPLETED.read_text().splitlines())
