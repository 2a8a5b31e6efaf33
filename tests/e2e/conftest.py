from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from ostraka.deploy.simulation import run
from ostraka.deploy.simulation.federation import Federation
from ostraka.deploy.simulation.html import Plot, render
from ostraka.deploy.simulation.processes import Start, Supervisor
from ostraka.deploy.simulation.report import SimulationReport
from ostraka.deploy.simulation.split import Split, split_data
from ostraka.services.teachers.config import TrainingConfig
from ostraka.services.teachers.training import train
from tests.e2e.confidential import train_heads
from tests.e2e.sites import SETTINGS, Sites, place


def made(plot: Plot, report: SimulationReport) -> str:
    """Return a plot that is made but not drawn."""
    plot(report)
    return ""


@pytest.fixture(autouse=True)
def plots_are_made_and_not_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip drawing, which takes seconds: tests of pages and simulations in separate processes draw."""
    monkeypatch.setattr(run, "render", partial(render, draw=made))


@pytest.fixture(scope="session")
def split() -> Split:
    return split_data(SETTINGS)


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory, split: Split) -> Path:
    """Train every party's teachers once."""
    folder = tmp_path_factory.mktemp("trained")
    sites = folder / "sites"
    federation = Federation(sites, SETTINGS, Supervisor(folder / "logs"))
    federation.provision()
    task = federation.place(split)
    config = TrainingConfig(teachers=SETTINGS.teaching.teachers, model=SETTINGS.teaching.model)
    for site, shard in zip(SETTINGS.sites, split.shards, strict=True):
        train(shard, task, config, seed=0).save(folder / site)
    return folder


@pytest.fixture(scope="session")
def heads(tmp_path_factory: pytest.TempPathFactory, split: Split) -> Path:
    """Train every party's teachers with linear heads once."""
    return train_heads(tmp_path_factory.mktemp("heads"), split)


@pytest.fixture
def sites(tmp_path: Path, trained: Path, split: Split, start: Start) -> Iterator[Sites]:
    with Supervisor(tmp_path / "logs", {"OMP_NUM_THREADS": "1"}, start=start) as processes:
        yield place(tmp_path / "sites", SETTINGS, trained, split, processes)
