"""A federation on one machine: folders for every site, then guardian and parties as processes."""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from operator import methodcaller
from pathlib import Path
from typing import Any

from ostraka.client.training.leading import TrainingReport
from ostraka.common.config import SITE_FILE, load_site, write_site
from ostraka.common.datasets import Dataset, save
from ostraka.common.privacy.filters import FILTERS
from ostraka.common.task import Task, infer_task, write_task
from ostraka.deploy.provisioning import provision
from ostraka.deploy.simulation.processes import Child, ChildCommand, Supervisor
from ostraka.deploy.simulation.settings import Settings
from ostraka.deploy.simulation.site_tables import tables
from ostraka.deploy.simulation.split import Split
from ostraka.guardian.admin.client import admin_call
from ostraka.protos.ostraka.v1 import admin_pb2

NAME = "simulation"
GUARDIAN = "guardian"
ADMIN = "admin"
QUERY = "query"
GROUP = "all"
READY_S = 120.0
VOTES_MAY_TELL = "--stops-and-times-tell-votes"
"""A simulation shows everything anyway, and waits for the data-dependent costs."""
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Federation:
    """Site folders below one folder, and the processes that serve them."""

    def __init__(self, folder: Path, settings: Settings, processes: Supervisor) -> None:
        """Take an empty folder; nothing happens before the first call."""
        self._folder = folder
        self._settings = settings
        self._processes = processes
        self._guardian: Child | None = None

    def site(self, name: str) -> Path:
        """Return the folder of one site."""
        return self._folder / name

    def provision(self) -> None:
        """Write the CA and a folder with keys, certificates and configuration for every site and role."""
        settings = self._settings
        provision(NAME, settings.sites, QUERY, self._folder, guardian=GUARDIAN, base_port=0)
        self._configure(GUARDIAN)
        for site in settings.sites:
            self._configure(site)

    def place(self, split: Split) -> Task:
        """Give every site its records and the task, which is inferred from all records unless it is given.

        A simulation may look at all parties' records to declare their ranges; a real federation agrees on
        ranges from public knowledge.
        """
        name = Path(self._settings.records.data).stem
        asked = replace(split.pool, y=split.truth)
        columns = self._settings.records.label_columns
        label = {"label": columns} if isinstance(columns, str) else {}
        task = split.task or infer_task(split.test, name, split.labelled, asked, *split.shards, **label)
        for site, shard in zip(self._settings.sites, split.shards, strict=True):
            shared = {"shared": split.pool} if self._settings.learning.label_dp == "pate-fm" else {}
            self._place(site, task, data=shard, **shared)
        self._place(QUERY, task, labelled=split.labelled, pool=split.pool, test=split.test)
        return task

    def train(self, on_ended: Callable[[int], None] = lambda _: None) -> None:
        """Train every party's teachers, one process per party, as many at once as there are cores.

        `on_ended` is called with the number of parties that are done.
        """
        commands = [ChildCommand(f"{site}-train", self._train(site)) for site in self._settings.sites]
        self._processes.run_all(commands, CORES, on_ended)

    def train_jointly(self) -> TrainingReport:
        """Train every party's teachers together, led by the first party, under a running guardian.

        Budgets are set after every party has registered, and before anything is charged to them.
        """
        parties = self.start_training()
        self.set_budgets()
        report = self._folder / "training.json"
        self._processes.run_all([self.leading("--json", str(report))], 1)
        self._processes.wait_ended(list(parties.values()))
        return TrainingReport.model_validate_json(report.read_text(encoding="utf-8"))

    def start_training(self) -> dict[str, Child]:
        """Start every party's part of a training, and give the first party their ports.

        Returns the processes by site, after each has registered and is ready for rounds.
        """
        ready = {site: self.site(site) / "training-ready.json" for site in self._settings.sites}
        children = {
            site: self._processes.start(
                ChildCommand(f"{site}-train", [*self._train(site), "--ready-file", str(file)])
            )
            for site, file in ready.items()
        }
        addresses = {
            site: self._processes.wait_ready(child, ready[site], READY_S) for site, child in children.items()
        }
        self._configure(self._settings.sites[0], parties=addresses)
        return children

    def leading(self, *arguments: str) -> ChildCommand:
        """Return the first party's command to lead the training."""
        settings = self._settings
        options = {
            "site": self.site(settings.sites[0]),
            "training": settings.teaching.training,
            "rounds": settings.teaching.rounds,
            "learning-rate": settings.teaching.learning_rate,
            "sigma": settings.teaching.training_sigma,
            "quorum": settings.least_parties,
        }
        return ChildCommand(
            "lead", ["lead", *(f"--{name}={value}" for name, value in options.items()), *arguments]
        )

    def serve(self) -> dict[str, Child]:
        """Start the guardian, then the parties, and write their ports into all site folders.

        Returns the processes by site.
        """
        return {GUARDIAN: self.serve_guardian(), **self.serve_parties()}

    def start_guardian(self) -> Child:
        """Start the guardian without waiting for it; no file of another site is written."""
        self._guardian = self._start("guardian", GUARDIAN, VOTES_MAY_TELL)
        return self._guardian

    def serve_guardian(self) -> Child:
        """Start the guardian unless it was started, and write its port into all site folders."""
        home = self._guardian or self.start_guardian()
        address = self._ready(home)
        for site in (*self._settings.sites, QUERY, ADMIN):
            self._configure(site, guardian=address)
        return home

    def end_guardian(self) -> None:
        """Stop the guardian, which first computes every batch's data-dependent cost."""
        if self._guardian is not None:
            self._processes.end(self._guardian)

    def serve_parties(self) -> dict[str, Child]:
        """Start the parties with their trained teachers, and give the querying party their ports.

        Returns the processes by site.
        """
        parties = {site: self._start("party", site) for site in self._settings.sites}
        self._configure(QUERY, parties={site: self._ready(child) for site, child in parties.items()})
        return parties

    def set_budgets(self) -> None:
        """Set every unit's budget as an administrator; the guardian proposes the order."""
        settings = self._settings
        for site in settings.sites:
            for level in settings.budgets.level_epsilons:
                consent = admin_pb2.SetConsentRequest(
                    party=site, group=level, level=level, adjacency=settings.plan.adjacency
                )
                admin_call(self.site(ADMIN), methodcaller("SetConsent", consent))
            if settings.budgets.consent is None:
                budget = admin_pb2.SetBudgetRequest(
                    party=site,
                    group=GROUP,
                    adjacency=settings.plan.adjacency,
                    epsilon=settings.budgets.epsilon_of(site),
                    delta=settings.budgets.delta,
                    order=settings.order,
                    filter=FILTERS[1] if settings.learning.sums else "",
                )
                admin_call(self.site(ADMIN), methodcaller("SetBudget", budget))

    def _place(self, site: str, task: Task, **data: Dataset) -> None:
        write_task(task, self.site(site) / "task.toml")
        for name, records in data.items():
            save(records, self.site(site) / f"{name}.npz")

    def _train(self, site: str) -> list[str]:
        settings = self._settings
        training = ["--training", settings.teaching.training] if settings.teaching.joint else []
        return ["party", "train", "--site", str(self.site(site)), *training]

    def _start(self, group: str, site: str, *options: str) -> Child:
        ready = str(self._ready_file(site))
        serve = [group, "serve", "--site", str(self.site(site)), "--ready-file", ready]
        return self._processes.start(ChildCommand(site, [*serve, *options]))

    def _ready(self, child: Child) -> str:
        return self._processes.wait_ready(child, self._ready_file(child.name), READY_S)

    def _ready_file(self, site: str) -> Path:
        return self.site(site) / "ready.json"

    def _configure(self, site: str, **addresses: Any) -> None:
        """Write a site's configuration with these addresses and the tables of its role."""
        config = load_site(self.site(site)).model_copy(update=addresses)
        write_site(config)
        lines = []
        for name, table in tables(config.role, self._settings).items():
            lines += ["", f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in table.items())]
        with (self.site(site) / SITE_FILE).open("a") as file:
            file.write("\n".join([*lines, ""]))
