"""A short siege: what `make chaos` does at length, with schedules and planted faults besides."""

from pathlib import Path

import pytest

from ostraka.deploy.simulation.processes import Start
from tests.chaos.kill import besiege


@pytest.mark.heavy
def test_a_guardian_killed_over_and_over_charges_every_answer_once(tmp_path: Path, start: Start) -> None:
    siege = besiege(tmp_path, 3, 1, start)
    assert siege.kills == 3
    assert siege.problems() == []
