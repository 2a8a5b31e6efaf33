"""A real guardian and three real parties on loopback, each with records of two consent levels."""

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ostraka.client.run.labelling import LabellingRun, LabelResult, label
from ostraka.client.run.options import PlanOptions
from ostraka.common.config import SITE_FILE, SiteConfig, write_site
from ostraka.common.datasets import Dataset, digits, save
from ostraka.common.mechanism import GnMax
from ostraka.common.task import Task, infer_task, write_task
from ostraka.services.journal.journal import Journal
from ostraka.services.serving.server import running
from ostraka.services.serving.wiring import AGAIN_S
from ostraka.services.teachers import TrainingConfig, train
from ostraka.services.teachers.config import Variant
from tests.client.driving import QUICK
from tests.guardian.federation import FEDERATION, PARTIES, Calls, Federation
from tests.services.wire import Stop

EPSILONS = {"high": 30.0, "low": 10.0}
TEACHERS, QUERIES, BATCH = 4, 24, 8
MECHANISM = GnMax(sigma=20.0)
POLICY = 'enforce = "worst_case"\nmin_sigma = 0.5\nmin_quorum = 2\n'
GROUPS = tuple(EPSILONS)


def trained(folder: Path, variant: Variant) -> Path:
    """Make a folder with task.toml and the teachers that every party has."""
    data = private_records()
    task = infer_task(digits(), "digits")
    write_task(task, folder / "task.toml")
    config = TrainingConfig(
        teachers=TEACHERS, model="logistic_regression", variant=variant, consent=dict(EPSILONS)
    )
    train(data, task, config, seed=1).save(folder / "teachers")
    return folder


def private_records() -> Dataset:
    """Return the records that every party has, half of them of each level."""
    data = digits().take(slice(0, 400))
    levels = np.where(np.arange(len(data)) % 2 == 0, "low", "high")
    return replace(data, consent=tuple(levels.tolist()))


@dataclass
class Personal:
    """A federation whose members have their folders; no server is running yet.

    `tables` are added to the site.toml of every party.
    """

    members: Federation
    teachers: Path
    task: Task
    tables: str = ""

    @property
    def site(self) -> Path:
        return self.members.root / "q-query"

    @property
    def pool(self) -> Path:
        return self.members.root / "pool.npz"

    @property
    def run(self) -> Path:
        return self.members.root / "run"

    def party(self, name: str) -> Path:
        return self.members.root / f"{name}-party"

    @contextmanager
    def serving(self, again_s: float = AGAIN_S) -> Iterator[Calls]:
        """Run the guardian, and parties that register with it every `again_s` seconds."""
        with self.members.guardian() as calls, ExitStack() as parties:
            addresses = {}
            for name in PARTIES:
                self._write(name, "party", self.party(name), calls.address)
                with (self.party(name) / SITE_FILE).open("a") as config:
                    config.write(self.tables)
                party = running(self.party(name), stop=Stop(), again_s=again_s)
                addresses[name] = parties.enter_context(party)
            self._write("q", "query", self.site, calls.address, parties=addresses)
            yield calls

    def label(self, **changes: Any) -> LabelResult:
        usual = {"mechanism": MECHANISM, "quorum": 2, "batch_size": BATCH, "queries": QUERIES}
        chosen: dict[str, Any] = usual | changes
        return label(self.site, self.pool, PlanOptions(**chosen), self.run, run=LabellingRun(retry=QUICK))

    def journal(self, name: str) -> Journal:
        return Journal(self.party(name) / "journal.db")

    def _write(self, name: str, role: Any, folder: Path, guardian: str, **fields: Any) -> None:
        listen = {"listen": "127.0.0.1:0"} if role == "party" else {}
        config = SiteConfig(
            federation=FEDERATION, site=name, role=role, guardian=guardian, folder=folder, **listen, **fields
        )
        write_site(config)


def build(root: Path, teachers: Path, policy: str = POLICY) -> Personal:
    members = Federation(root, policy=policy)
    task = infer_task(digits(), "digits")
    made = Personal(members, teachers, task)
    for name in PARTIES:
        shutil.copytree(teachers, made.party(name), dirs_exist_ok=True)
    write_task(task, made.site / "task.toml")
    save(digits().take(slice(400, 400 + QUERIES)), made.pool)
    return made


def give_budgets(calls: Calls, epsilons: dict[str, float] | None = None) -> None:
    for name in PARTIES:
        for group, epsilon in (epsilons or EPSILONS).items():
            calls.budget(name, epsilon, group=group)
