"""A whole federation in one process: a real guardian, two real parties, and a querying site, on loopback."""

import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import ostraka.guardian.serving.server
import ostraka.services.serving.server
from ostraka.client.peers.retry import Retry
from ostraka.client.run.labelling import LabellingRun, LabelResult, label
from ostraka.client.run.options import PlanOptions
from ostraka.common.clock import SystemClock
from ostraka.common.config import SiteConfig, write_site
from ostraka.common.datasets import digits, save
from ostraka.common.identity import CertificateAuthority, Identity, Role
from ostraka.common.mechanism import GnMax, Mechanism
from ostraka.common.task import infer_task, write_task
from ostraka.guardian.admin.client import admin_call
from ostraka.protos.ostraka.v1 import admin_pb2
from ostraka.services.teachers import TrainingConfig, train

FEDERATION = "attica"
PARTIES = ("athens", "sparta")
QUERIES = 12
BATCH = 6
USUAL = GnMax(sigma=4.0)


@dataclass
class Whole:
    """Folders of its members, by site."""

    root: Path
    ca: CertificateAuthority

    def folder(self, site: str) -> Path:
        return self.root / site

    def copied(self, root: Path) -> "Whole":
        """Return a copy of the federation in another folder."""
        shutil.copytree(self.root, root, dirs_exist_ok=True)
        return Whole(root, self.ca)

    @contextmanager
    def guardian(self) -> Iterator[str]:
        """Run a serving guardian whose address every member knows."""
        with ostraka.guardian.serving.server.running(
            self.folder("guardian"), sleep=lambda _: None
        ) as address:
            self.tell_guardian(address)
            yield address

    @contextmanager
    def parties(self) -> Iterator[dict[str, str]]:
        """Run both parties, with budgets, known to the querying site."""
        with ExitStack() as stack:
            addresses = {}
            for party in PARTIES:
                serving = ostraka.services.serving.server.running(self.folder(party), stop=threading.Event())
                addresses[party] = stack.enter_context(serving)
            self.tell_parties(addresses)
            yield addresses

    def tell_guardian(self, address: str) -> None:
        """Write the guardian's address into every other member's folder."""
        for site, role in (*((party, "party") for party in PARTIES), ("q", "query"), ("ops", "admin")):
            self._write(site, role, guardian=address)

    def tell_parties(self, addresses: dict[str, str]) -> None:
        """Set budgets of serving parties, and write their addresses into the querying site's folder."""
        for party in addresses:
            self._budget(party)
        query = self.folder("q") / "site.toml"
        listed = "".join(f'{party} = "{at}"\n' for party, at in addresses.items())
        query.write_text(f"{query.read_text().partition('[parties]')[0]}\n[parties]\n{listed}")

    def label(
        self,
        run: Path,
        on_progress: Callable[[LabelResult], None] = lambda _: None,
        mechanism: Mechanism = USUAL,
        batch: int = BATCH,
    ) -> LabelResult:
        """Label the pool into `run`."""
        options = PlanOptions(mechanism=mechanism, quorum=2, batch_size=batch, queries=QUERIES)
        pool = self.root / "pool.npz"
        return label(self.folder("q"), pool, options, run, run=LabellingRun(on_progress, retry=Retry(1)))

    def add(self, site: str, role: str, **listening: str) -> Path:
        """Make a folder with certificates and a `site.toml`."""
        folder = self.folder(site)
        folder.mkdir(exist_ok=True)
        self.ca.issue(Identity(FEDERATION, site, Role(role)), folder, SystemClock())
        self._write(site, role, **listening)
        return folder

    def _write(self, site: str, role: str, **values: str) -> None:
        listen = {"listen": "127.0.0.1:0"} if role in ("guardian", "party") else {}
        folder, name = self.folder(site), FEDERATION
        more = (folder / "more.toml").read_text() if (folder / "more.toml").exists() else ""
        write_site(SiteConfig(federation=name, site=site, role=role, folder=folder, **listen | values))
        with (folder / "site.toml").open("a") as file:
            file.write(more)

    def _budget(self, party: str) -> None:
        request = admin_pb2.SetBudgetRequest(
            party=party, group="all", adjacency="record", epsilon=100.0, delta=1e-5, reason="a test"
        )
        admin_call(self.folder("ops"), lambda stub: stub.SetBudget(request))


def build(root: Path) -> Whole:
    """Make its folders; parties have three teachers of scikit-learn's digits each."""
    data = digits()
    task = infer_task(data, "digits")
    whole = Whole(root, CertificateAuthority.create(FEDERATION, SystemClock()))
    whole.add("guardian", "guardian")
    for index, party in enumerate(PARTIES):
        folder = whole.add(party, "party", guardian="127.0.0.1:1")
        records = data.take(slice(200 * index, 200 * (index + 1)))
        write_task(task, folder / "task.toml")
        train(records, task, TrainingConfig(teachers=3, model="logistic_regression"), seed=1).save(
            folder / "teachers"
        )
    for site, role in (("q", "query"), ("ops", "admin")):
        whole.add(site, role, guardian="127.0.0.1:1")
    write_task(task, whole.folder("q") / "task.toml")
    save(data.take(slice(1000, 1000 + QUERIES)), root / "pool.npz")
    return whole
