import os
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from shutil import copytree

import numpy as np
from numpy.typing import NDArray

from ostraka.client.peers.retry import Retry
from ostraka.client.run.labelling import LabellingRun, LabelResult, label
from ostraka.client.run.options import PlanOptions
from ostraka.client.session.meter import SessionObserver
from ostraka.client.session.run_state import RunState, load_state
from ostraka.common.config import SITE_FILE, load_site
from ostraka.common.mechanism import GnMax
from ostraka.common.plan.choices import BALLOTS
from ostraka.common.task import Task
from ostraka.deploy.simulation.federation import ADMIN, GUARDIAN, QUERY, Federation
from ostraka.deploy.simulation.processes import Child, ChildCommand, Supervisor
from ostraka.deploy.simulation.settings import Settings
from ostraka.deploy.simulation.split import Split
from ostraka.guardian.admin.client import admin_call
from ostraka.protos.ostraka.v1 import admin_pb2
from ostraka.services.teachers.ensemble import Ensemble

QUIET = 0.1
"""So little noise that a label is the true plurality wherever one class leads."""
SETTINGS = Settings(
    parties=3,
    teachers=2,
    labelled=20,
    queries=20,
    batch_size=10,
    mechanism=f"gnmax:sigma={QUIET}",
    epsilon=1e6,
    model="logistic_regression",
)
POLICY = "min_sigma = 0.01\nfreeze_after_s = 2.0\n"
SOON = Retry(attempts=2, base_s=0.01)


@dataclass
class Sites:
    """A federation of processes with trained teachers, not yet started."""

    folder: Path
    federation: Federation
    processes: Supervisor
    task: Task
    split: Split
    children: dict[str, Child] = field(default_factory=dict)

    @property
    def run(self) -> Path:
        return self.folder / QUERY / "run"

    @property
    def state(self) -> RunState:
        return load_state(self.run)

    def start(self) -> None:
        self.children = self.federation.serve()
        self.federation.set_budgets()

    def kill(self, site: str) -> None:
        child = self.children[site].process
        os.kill(child.pid, signal.SIGKILL)
        child.wait()

    def restart(self, site: str, group: str, address: str) -> None:
        """Restart a killed site at its previous address."""
        config = self.folder / site / SITE_FILE
        config.write_text(config.read_text().replace("127.0.0.1:0", address))
        ready = self.folder / site / "ready.json"
        ready.unlink()
        command = [group, "serve", "--site", str(self.folder / site), "--ready-file", str(ready)]
        self.children[site] = self.processes.start(ChildCommand(site, command))
        self.processes.wait_ready(self.children[site], ready, 60)

    @property
    def guardian_address(self) -> str:
        return load_site(self.folder / QUERY).guardian

    def label(
        self,
        quorum: int = 2,
        on_progress: Callable[[LabelResult], None] = lambda _: None,
        ballots: BALLOTS = "unverified",
        watch: SessionObserver | None = None,
    ) -> LabelResult:
        site = self.folder / QUERY
        options = PlanOptions(
            mechanism=GnMax(sigma=QUIET), quorum=quorum, batch_size=SETTINGS.plan.batch_size, ballots=ballots
        )
        how = LabellingRun(on_progress, watch=watch, retry=SOON)
        return label(site, site / "pool.npz", options, self.run, run=how)

    def histogram(self, parties: tuple[str, ...], queries: list[int]) -> NDArray[np.int64]:
        """Return the joint votes of these parties' teachers, (queries, classes)."""
        X = self.task.prepare(self.split.pool.X[queries])
        votes = np.concatenate([Ensemble.load(self.folder / p / "teachers").predict(X) for p in parties])
        return np.stack([np.bincount(vote, minlength=len(self.task.classes)) for vote in votes.T])

    def charged(self) -> dict[str, float]:
        request = admin_pb2.ListBudgetsRequest()
        budgets = admin_call(self.folder / ADMIN, lambda stub: list(stub.ListBudgets(request)))
        return {budget.party: budget.epsilon_worst_case for budget in budgets}


def place(folder: Path, settings: Settings, trained: Path, split: Split, processes: Supervisor) -> Sites:
    """Make a federation with trained teachers, not yet started."""
    federation = Federation(folder, settings, processes)
    federation.provision()
    task = federation.place(split)
    with (folder / GUARDIAN / SITE_FILE).open("a") as config:
        config.write(POLICY)
    for site in settings.sites:
        copytree(trained / site, folder / site / "teachers")
    return Sites(folder, federation, processes, task, split)
