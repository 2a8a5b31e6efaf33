"""Three parties that train together under a real guardian, all over mTLS on loopback."""

import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np

from ostraka.client.peers.retry import Retry
from ostraka.client.training.joining import TrainingOptions
from ostraka.client.training.leading import TrainingReport, lead
from ostraka.client.training.training_state import AveragedModel, TrainingProgress, TrainingStore
from ostraka.common.clock import Clock
from ostraka.common.config import SITE_FILE, load_site, write_site
from ostraka.common.datasets import Dataset, from_arrays
from ostraka.common.task import Task, infer_task, write_task
from ostraka.deploy.provisioning import provision
from ostraka.deploy.provisioning.provision import FederationFolders
from ostraka.guardian.admin.client import admin_call
from ostraka.guardian.admin.confidential import UnitReport, totals
from ostraka.guardian.serving.server import running as running_guardian
from ostraka.protos.ostraka.v1 import admin_pb2
from ostraka.services.teachers import Ensemble
from ostraka.services.teachers.config import TrainingSection
from ostraka.services.teachers.joint_training import JointTeachers, RoundInput, first_parameters
from ostraka.services.teachers.options import Together
from ostraka.services.teachers.preparation import Prepared, prepare
from ostraka.services.training.training_server import running as running_party

PARTIES = ("a", "b", "c")
FEATURES, CLASSES, RECORDS, TEACHERS = 4, 3, 40, 2
ROUNDS = 4
POLICY = "min_sigma = 0.01\nfreeze_after_s = 1.0\n"
WITH_TTAC = POLICY + 'mechanisms = ["ttac", "dp_ttac"]\n'
SOON = Retry(attempts=2, base_s=0.0, sleep=lambda _: None, rng=random.Random(0))  # noqa: S311
TTAC = TrainingOptions(
    kind="ttac",
    rounds=ROUNDS,
    steps=3,
    batch_size=8,
    learning_rate=0.2,
    decay=0.9,
    average_rate=1.0,
    clip="record",
    radius=1.0,
    sigma=0.1,
    quorum=2,
)
DP_TTAC = TrainingOptions(**{**vars(TTAC), "kind": "dp_ttac", "average_rate": 5.0})
"""So little noise that one round too many or too few shows in the result."""


def records(site: str) -> Dataset:
    """Draw a party's own records, mostly of one class."""
    place = PARTIES.index(site)
    draw = np.random.default_rng(place)
    y = np.where(np.arange(RECORDS) % 4 > 0, place, np.arange(RECORDS) % CLASSES)
    return from_arrays(draw.normal(size=(RECORDS, FEATURES)) + y[:, None], y)


@dataclass
class Sites:
    """Folders of all sites, and which of them serve."""

    folders: FederationFolders
    together: Together
    task: Task
    guardian: ExitStack
    serving: dict[str, ExitStack] = field(default_factory=dict)
    stored: dict[str, int] = field(default_factory=dict)

    def prepared(self, site: str, task: Task | None = None, **changes: Any) -> Prepared:
        section = TrainingSection(**{"teachers": TEACHERS, "model": "logistic", **changes})
        known = task or self.task
        return prepare(records(site), known, section, seed=section.seed, together=self.together)

    def start(self, site: str, task: Task | None = None, **changes: Any) -> None:
        """Serve a party, at its previous address if it had one."""
        folder, stack = self.folders.parties[site], ExitStack()
        party = running_party(
            folder,
            self.prepared(site, task, **changes),
            task or self.task,
            stop=Event(),
            progress=lambda done, total: None,
            finished=lambda ensemble: self.stored.update({site: self.stored.get(site, 0) + 1}),
        )
        address = stack.enter_context(party)
        self.serving[site] = stack
        _configure(folder, listen=address)
        leader = self.folders.parties["a"]
        _configure(leader, parties={**load_site(leader).parties, site: address})

    def restart_guardian(self) -> None:
        """Stop the guardian, and serve its next instance at the same address."""
        _configure(self.folders.guardian, listen=load_site(self.folders.admin).guardian)
        self.guardian.close()
        self.guardian.enter_context(running_guardian(self.folders.guardian, sleep=lambda _: None))

    def start_all(self, epsilon: float = 1e9) -> None:
        for site in PARTIES:
            self.start(site)
            self.budget(site, epsilon)

    def stop(self, site: str) -> None:
        self.serving.pop(site).close()

    def budget(self, site: str, epsilon: float) -> None:
        asked = admin_pb2.SetBudgetRequest(
            party=site, group="all", adjacency="record", epsilon=epsilon, delta=1e-5
        )
        admin_call(self.folders.admin, lambda stub: stub.SetBudget(asked))

    def lead(
        self,
        options: TrainingOptions,
        *,
        out: Path | None = None,
        on_progress: Callable[[TrainingProgress], None] = lambda _: None,
        clock: Clock | None = None,
    ) -> TrainingReport:
        return lead(
            self.folders.parties["a"], options, out=out, on_progress=on_progress, clock=clock, retry=SOON
        )

    def state(self, out: Path | None = None) -> TrainingStore:
        found = TrainingStore.load(out or self.folders.parties["a"] / "training")
        assert found is not None
        return found

    @property
    def units(self) -> dict[str, UnitReport]:
        """What every party was charged."""
        return {unit["party"]: unit for unit in totals(self.folders.guardian)}

    @property
    def charged(self) -> dict[str, int]:
        """The number of rounds that every party was charged for."""
        return {site: len(unit["history"]) for site, unit in self.units.items()}

    def teachers(self, site: str) -> Ensemble:
        return Ensemble.load(self.folders.parties[site] / "teachers")

    def expected(self, options: TrainingOptions, rounds: int = ROUNDS - 1) -> AveragedModel:
        """Return the average after rounds of all parties without noise, by Algorithm 1 in one process."""
        mechanism = options.mechanism("logistic", (FEATURES + 1) * CLASSES)
        parties = [self.prepared(site) for site in PARTIES]
        learners = [
            JointTeachers(party.slices, "logistic", CLASSES, party.config, mechanism.recipe)
            for party in parties
        ]
        seed = parties[0].manifest.seed
        average = AveragedModel.starting_at(first_parameters("logistic", (FEATURES,), CLASSES, seed))
        variates = [np.zeros((TEACHERS, len(average.theta)), np.float32)] * len(parties)
        for number in range(rounds):
            now = RoundInput(average.theta.astype(np.float32), average.c.astype(np.float32), number)
            taken = [one.update(mechanism, now, own) for one, own in zip(learners, variates, strict=True)]
            variates = [after for _, after in taken]
            average = average.after(
                mechanism,
                np.sum([update for update, _ in taken], axis=0),
                teachers_in=TEACHERS * len(parties),
                teachers=TEACHERS * len(parties),
                records=RECORDS * len(parties),
            )
        return average


@contextmanager
def training_sites(root: Path, together: Together, policy: str) -> Iterator[Sites]:
    """Run a serving guardian, and make folders of parties that do not serve yet."""
    folders = provision("fed", PARTIES, "query", root / "sites", base_port=0)
    task = infer_task(records("a"), "columns", *map(records, PARTIES[1:]))
    _set_policy(folders.guardian, policy)
    with ExitStack() as stack:
        home = stack.enter_context(running_guardian(folders.guardian, sleep=lambda _: None))
        for folder in (folders.admin, *folders.parties.values()):
            _configure(folder, guardian=home)
        for folder in folders.parties.values():
            write_task(task, folder / "task.toml")
            if together == "ttac":
                _set_policy(folder, 'mechanisms = ["ttac"]\n')
        sites = Sites(folders, together, task, stack)
        try:
            yield sites
        finally:
            for site in tuple(sites.serving):
                sites.stop(site)


def _set_policy(folder: Path, policy: str) -> None:
    write_site(load_site(folder))
    with (folder / SITE_FILE).open("a") as file:
        file.write(f"\n[policy]\n{policy}")


def _configure(folder: Path, **addresses: Any) -> None:
    """Change a site's addresses; the rest of its file stays."""
    tables = (folder / SITE_FILE).read_text().partition("\n[policy]")
    write_site(load_site(folder).model_copy(update=addresses))
    with (folder / SITE_FILE).open("a") as file:
        file.write("".join(tables[1:]))
