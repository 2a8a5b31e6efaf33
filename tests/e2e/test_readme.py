from pathlib import Path

import pytest

from ostraka.deploy.simulation.processes import Start
from tests.e2e import walkthrough

README = walkthrough.ROOT / "README.md"
MOST_WORDS = 600


def commands() -> list[str]:
    """Return the commands of "Run your own", in order."""
    return walkthrough.commands(README.read_text().split("## Run your own")[1].split("\n## ")[0])


@pytest.mark.heavy
def test_every_command_of_run_your_own_works(
    tmp_path: Path, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    walkthrough.run(commands(), tmp_path, start, monkeypatch)
    labels = (tmp_path / "fed/west/run/labels.csv").read_text()
    assert labels.count(",answered") > 0


def test_run_your_own_covers_every_role() -> None:
    starts = {" ".join(command.split()[:3]) for command in commands()}
    assert {"ostraka guardian serve", "ostraka party train", "ostraka party serve"} <= starts
    assert {"ostraka query label", "ostraka query retrain", "ostraka guardian budget"} <= starts
    assert {"ostraka task init", "ostraka task check"} <= starts


def test_it_is_short() -> None:
    assert len(README.read_text().split()) <= MOST_WORDS
