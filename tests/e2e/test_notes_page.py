"""docs/notes.md: free text, from a table to labels of encrypted queries."""

import json
import re
from pathlib import Path

import pytest

from ostraka.deploy.simulation.processes import Start
from tests.e2e import walkthrough

PAGE = walkthrough.ROOT / "docs" / "notes.md"
TASK = walkthrough.ROOT / "examples" / "triage.toml"


@pytest.mark.heavy
def test_every_command_works_and_notes_are_labelled(
    tmp_path: Path, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    walkthrough.run(walkthrough.commands(PAGE.read_text()), tmp_path, start, monkeypatch)
    report = json.loads((tmp_path / "run" / "report.json").read_text())
    assert report["answered"] >= 15


def test_the_task_that_is_shown_is_the_example() -> None:
    shown = "".join(re.findall(r"```toml\n(.*?)```", PAGE.read_text(), re.S))
    assert shown
    assert shown in TASK.read_text()
