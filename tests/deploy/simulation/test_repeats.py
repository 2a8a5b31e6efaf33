"""Figures over several seeds."""

from pathlib import Path

import pytest

from ostraka.deploy.simulation.repeats import figures_table, repeat
from ostraka.deploy.simulation.report import SimulationReport
from ostraka.deploy.simulation.settings import Settings
from tests.deploy.simulation.test_report import report


def test_every_seed_has_its_folder_and_figures_their_spread(tmp_path: Path) -> None:
    ran: list[tuple[int, Path]] = []

    def run(settings: Settings, folder: Path) -> SimulationReport:
        ran.append((settings.records.seed, folder))
        return report(student_accuracy_after=0.1 * settings.records.seed, label_accuracy=None)

    found = repeat(Settings(seed=4), tmp_path, 3, run)
    assert ran == [(seed, tmp_path / f"seed-{seed}") for seed in (4, 5, 6)]
    after = found.figures["student_accuracy_after"]
    assert (after.mean, after.deviation, after.least, after.most) == pytest.approx((0.5, 0.1, 0.4, 0.6))
    assert found.figures["label_accuracy"].mean is None
    assert figures_table(found).row_count == len(found.figures)
