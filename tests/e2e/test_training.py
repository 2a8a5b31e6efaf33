"""Teachers that learn together in processes of their own: simulated, and killed in the middle."""

import os
import signal
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from ostraka.client.run.labelling import LabellingRun, label
from ostraka.client.run.options import PlanOptions
from ostraka.client.training.training_state import TrainingStore
from ostraka.common.config import SITE_FILE, load_site
from ostraka.common.mechanism import GnMax
from ostraka.deploy.simulation.federation import GUARDIAN, QUERY, Federation
from ostraka.deploy.simulation.processes import Child, ChildCommand, Start, Supervisor
from ostraka.deploy.simulation.report import SimulationReport
from ostraka.deploy.simulation.run import simulate
from ostraka.deploy.simulation.settings import Settings
from ostraka.deploy.simulation.split import split_data
from ostraka.guardian.admin.confidential import totals
from ostraka.services.teachers.ensemble import Ensemble
from tests.e2e.sites import POLICY, QUIET, SOON
from tests.waiting import until

pytestmark = pytest.mark.heavy
APART = {
    "parties": 3,
    "teachers": 3,
    "labelled": 20,
    "queries": 100,
    "mechanism": f"gnmax:sigma={QUIET * 10}",
    "epsilon": 1e5,
    "split": "label-sorted",
    "similarity": 0,
    "model": "logistic",
}
TOGETHER = {**APART, "training": "dp-ttac", "training_sigma": 2.0}


def simulated(folder: Path, start: Start, **options: object) -> SimulationReport:
    settings = Settings.model_validate(options)
    return simulate(settings, folder, announce=lambda _: nullcontext(), start=start)


def test_sites_that_differ_label_well_once_they_learn_together(tmp_path: Path, start: Start) -> None:
    report = simulated(tmp_path / "run", start, **TOGETHER)
    training = report.training
    assert training is not None
    assert (training.guarantee, training.rounds, training.taking_part) == ("record", 20, (3,) * 19)
    for cost, unit in zip(training.costs, report.units, strict=True):
        assert cost.site == unit.party
        assert 0 < cost.epsilon < unit.epsilon_worst_case
        assert len(unit.history) == 19 + 1
    assert report.label_accuracy is not None
    assert report.label_accuracy > 0.5, "about 0.85; so few of 100 have a chance below 1e-10"
    gain = report.class_quality.after.accuracy - report.class_quality.own.accuracy
    assert gain > 0, "about 0.19, and its deviation 0.02: the training's noise hardly shows"
    page = (tmp_path / "run" / "report.html").read_text()
    assert "learned together by dp-ttac in 20 rounds" in page
    assert "formal guarantee" not in page


def test_ttac_is_named_by_its_policies_and_every_report_says_what_that_means(
    tmp_path: Path, start: Start
) -> None:
    report = simulated(tmp_path / "run", start, **{**TOGETHER, "training": "ttac", "rounds": 4})
    assert report.training is not None
    assert (report.training.guarantee, report.training.costs) == ("none", ())
    assert "No formal guarantee" in (tmp_path / "run" / "report.html").read_text()
    assert '"guarantee": "none"' in (tmp_path / "run" / "report.json").read_text()
    header = (tmp_path / "run" / QUERY / "run" / "labels.csv").read_text().splitlines()[0]
    assert header.endswith("guarantee")
    for site in (GUARDIAN, *report.settings.sites):
        assert 'mechanisms = ["gnmax", "ttac"]' in (tmp_path / "run" / site / SITE_FILE).read_text()


SETTINGS = Settings.model_validate({**TOGETHER, "rounds": 25})
LEADER, LOST = SETTINGS.sites[:2]


class Training:
    """Processes of a training, and how far it is."""

    def __init__(self, folder: Path, processes: Supervisor, settings: Settings = SETTINGS) -> None:
        self.folder = folder
        self.processes = processes
        self.federation = Federation(folder, settings, processes)
        self.federation.provision()
        self.federation.place(split_data(settings))
        with (folder / GUARDIAN / SITE_FILE).open("a") as config:
            config.write(POLICY)

    @property
    def rounds(self) -> int:
        return 0 if (store := self.store) is None else store.progress.number

    @property
    def store(self) -> TrainingStore | None:
        return TrainingStore.load(self.folder / LEADER / "training")

    def start_again(self, site: str) -> Child:
        """Start a killed party's part again where it was reached before."""
        address = load_site(self.folder / LEADER).parties[site]
        config = self.folder / site / SITE_FILE
        config.write_text(config.read_text().replace("127.0.0.1:0", address))
        ready = self.folder / site / "again.json"
        command = ["party", "train", "--site", str(self.folder / site), "--training", "dp-ttac"]
        child = self.processes.start(ChildCommand(f"{site}-again", [*command, "--ready-file", str(ready)]))
        self.processes.wait_ready(child, ready, 60)
        return child


@pytest.fixture
def training(tmp_path: Path, start: Start) -> Iterator[Training]:
    with Supervisor(tmp_path / "logs", {"OMP_NUM_THREADS": "1"}, start=start) as processes:
        yield Training(tmp_path / "sites", processes)


def kill(child: Child) -> None:
    os.kill(child.process.pid, signal.SIGKILL)
    child.process.wait()


def test_a_training_survives_the_death_of_a_party_and_of_its_lead(training: Training) -> None:
    training.federation.serve_guardian()
    parties = training.federation.start_training()
    training.federation.set_budgets()
    first = training.processes.start(training.federation.leading())
    until(lambda: training.rounds >= 2)
    kill(parties[LOST])
    until(lambda: training.rounds >= 5)
    kill(first)
    rounds = training.rounds
    parties[LOST] = training.start_again(LOST)
    training.processes.run_all([training.federation.leading()], 1)
    training.processes.wait_ended(list(parties.values()))
    store = training.store
    assert store is not None
    taking_part = store.progress.taking_part
    assert len(taking_part) == SETTINGS.teaching.rounds - 1
    assert taking_part[rounds - 1] == 2
    assert taking_part[-1] == 3
    charged = {
        unit["party"]: len({spent["epsilon_worst_case"] for spent in unit["history"]})
        for unit in totals(training.folder / GUARDIAN)
    }
    assert charged.pop(LOST) == sum(number == 3 for number in taking_part)
    assert set(charged.values()) == {SETTINGS.teaching.rounds - 1}
    training.federation.serve_parties()
    site = training.folder / QUERY
    asked = PlanOptions(mechanism=GnMax(sigma=1.0), quorum=3, batch_size=40)
    answered = label(site, site / "pool.npz", asked, site / "run", run=LabellingRun(retry=SOON)).answered
    assert answered == SETTINGS.records.queries
    assert Ensemble.load(training.folder / LOST / "teachers").manifest.together == "dp-ttac"
