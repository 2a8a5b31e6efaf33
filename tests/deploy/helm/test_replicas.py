"""Two guardians laid out as the chart lays out its pods, as processes on one PostgreSQL."""

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import grpc
import pytest

from ostraka.common.config import SITE_FILE
from ostraka.common.errors import ErrorCode
from ostraka.common.rpc import call_error
from ostraka.deploy.simulation.processes import Child, ChildCommand, Start, Supervisor
from ostraka.guardian.ledger import LedgerReader
from ostraka.guardian.ledger.ledger import LEASE_S
from ostraka.guardian.ledger.units import balances
from ostraka.guardian.serving.server import running
from tests.addresses import free_addresses
from tests.clocks import Ahead
from tests.deploy.helm.charts import Helm, Manifest, pod, the
from tests.guardian.federation import FEDERATION, Calls, Federation, plan, unanimous

CHART = "ostraka-guardian"
POLICY = "[policy]\nmin_sigma = 0.5\n"
CREDENTIALS = ("ca.crt", "tls.crt", "tls.key", "signing.crt", "signing.key")
READY_S = 60.0


@dataclass
class Release:
    """What the chart rendered, and the Secrets that it names as folders on this machine."""

    root: Path
    manifests: list[Manifest]
    addresses: list[str]

    def start_pod(self, number: int) -> Path:
        """Lay out a pod's disk, do what its first container does, and return what is then at its /site."""
        site = self.root / f"guardian-{number}"
        site.mkdir()
        text = the(self.manifests, "ConfigMap")["data"][f"guardian-{number}.toml"]
        text = text.replace("0.0.0.0:7000", self.addresses[number]).replace("0.0.0.0:9100", "127.0.0.1:0")
        (site / SITE_FILE).write_text(re.sub('"(/.*)"', rf'"{self.root}\1"', text))
        (first,) = pod(self.manifests)["initContainers"]
        subprocess.run([self.moved(word, site) for word in first["command"]], check=True)
        return site

    def moved(self, word: str, site: Path) -> str:
        """Return a word of a container's command, with the pod's volumes where they are on this machine."""
        return word.replace("/site", str(site)).replace("/ledger/", f"{self.root}/ledger/")


@pytest.fixture
def federation(tmp_path: Path) -> Federation:
    (tmp_path / "federation").mkdir()
    return Federation(tmp_path / "federation")


@pytest.fixture
def release(helm: Helm, federation: Federation, tmp_path: Path, postgres_url: str) -> Release:
    addresses = free_addresses(2)
    manifests = helm.render(CHART, federation=FEDERATION, addresses=addresses, settings=POLICY)
    (tmp_path / "credentials").mkdir()
    for name in CREDENTIALS:
        (tmp_path / "credentials" / name).write_bytes((federation.guardian_folder / name).read_bytes())
    (tmp_path / "ledger").mkdir()
    (tmp_path / "ledger" / "ledger.key").write_bytes(bytes(range(32)))
    (tmp_path / "database").mkdir()
    (tmp_path / "database" / "url").write_text(postgres_url)
    return Release(tmp_path, manifests, addresses)


@pytest.fixture
def processes(tmp_path: Path, start: Start) -> Iterator[Supervisor]:
    with Supervisor(tmp_path / "logs", start=start) as supervisor:
        yield supervisor


def serve(processes: Supervisor, release: Release, number: int) -> Child:
    """Start a replica as the chart's container does, and wait until it serves."""
    site, ready = release.start_pod(number), release.root / f"ready-{number}.json"
    (container,) = pod(release.manifests)["containers"]
    words = [release.moved(word, site) for word in container["args"]]
    child = processes.start(ChildCommand(f"guardian-{number}", [*words, "--ready-file", str(ready)]))
    assert processes.wait_ready(child, ready, READY_S) == release.addresses[number]
    ostraka, *probe = container["readinessProbe"]["exec"]["command"]
    assert ostraka == "ostraka"
    processes.run_all([ChildCommand("probe", [release.moved(word, site) for word in probe])], at_once=1)
    return child


def test_a_session_goes_on_at_the_other_replica(
    release: Release, federation: Federation, processes: Supervisor, postgres_url: str
) -> None:
    clock = Ahead()
    first = serve(processes, release, 0)
    with running(release.start_pod(1), clock=clock, sleep=lambda _: None) as address:
        here, there = Calls(federation, release.addresses[0]), Calls(federation, address)
        here.prepare_all()
        session = here.open(plan(queries=40)).session_id
        here.ticket(session, 1, 20)
        answers = here.release(session, 1, here.vote(session, 1, unanimous(20, label=2)))
        spent = here.spent()
        assert elsewhere(there, session) == release.addresses[0]

        first.process.kill()
        first.process.wait()
        here.close()
        clock.by = 2 * LEASE_S
        assert there.spent() == spent
        assert answers == [(True, 2)] * 20
        for party in ("a", "b", "c"):
            there.register(party)
        there.ticket(session, 2, 20)
        assert there.release(session, 2, there.vote(session, 2, unanimous(20, label=1))) == [(True, 1)] * 20
        assert there.spent() > spent
        there.close()
    with LedgerReader.open_read_only(postgres_url) as ledger:
        assert all(budget.reserved == 0 for budget in ledger.read(balances.all_budgets))


def elsewhere(guardian: Calls, session: str) -> str:
    """Where a guardian sends those that ask it for another one's session."""
    with pytest.raises(grpc.RpcError) as caught:
        guardian.ticket(session, 2, 20)
    error = call_error(caught.value)
    assert error.code == ErrorCode.SESSION_ELSEWHERE
    return str(error.details["address"])
