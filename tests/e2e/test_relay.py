"""Labelling where hospitals only call out, through a proxy of their own, and a relay is between all."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from ostraka.client.run.labelling import LabellingRun, LabelResult, label
from ostraka.client.run.options import PlanOptions
from ostraka.common.clock import SystemClock
from ostraka.common.config import SITE_FILE, SiteConfig, load_site, write_site
from ostraka.common.identity import CertificateAuthority, Identity, Role
from ostraka.common.mechanism import GnMax
from ostraka.deploy.provisioning.provision import CA_FOLDER
from ostraka.deploy.simulation.federation import NAME, QUERY
from ostraka.deploy.simulation.processes import Child, ChildCommand
from tests.e2e.sites import QUIET, SETTINGS, Sites
from tests.e2e.test_guardian_killed import require_charged_once
from tests.relay.relaying import UNUSED, Proxy, append, found_corporation, proxying

HUB = Identity(NAME, "hub", Role.RELAY)


class RelayProcess:
    """A relay of a federation of processes."""

    def __init__(self, sites: Sites, table: str) -> None:
        self._sites = sites
        self.folder = sites.folder / "hub"
        self.folder.mkdir()
        authority = CertificateAuthority.load(sites.folder / CA_FOLDER)
        authority.issue(HUB, self.folder, SystemClock())
        self._table = table
        self._child: Child
        self.address = self.start("127.0.0.1:0")

    def start(self, listen: str) -> str:
        site = SiteConfig(federation=NAME, site="hub", role="relay", listen=listen, folder=self.folder)
        write_site(site)
        append(self.folder, f"[relay]\n{self._table}")
        ready = self.folder / "ready.json"
        ready.unlink(missing_ok=True)
        command = ["relay", "serve", "--site", str(self.folder), "--ready-file", str(ready)]
        self._child = self._sites.processes.start(ChildCommand("hub", command))
        return self._sites.processes.wait_ready(self._child, ready, 60)

    def restart(self) -> None:
        """Kill it, and start it again at its port."""
        os.kill(self._child.process.pid, signal.SIGKILL)
        self._child.process.wait()
        self.start(self.address)


@pytest.fixture
def proxy(tmp_path: Path) -> Proxy:
    """Make a proxy that wants a password and inspects all TLS."""
    return Proxy(user="ward:s3cret", inspects=found_corporation(tmp_path / "corporation"))


@pytest.fixture
def relay(sites: Sites, proxy: Proxy, tmp_path: Path) -> Iterator[RelayProcess]:
    """Serve the federation; parties reach nothing but the proxy, and nobody reaches them but the relay."""
    with proxying(proxy) as way:
        sites.children["guardian"] = sites.federation.serve_guardian()
        guardian = sites.guardian_address
        relay = RelayProcess(sites, f'reach = {{ guardian = "{guardian}" }}\n')
        for site in SETTINGS.sites:
            config = sites.folder / site / SITE_FILE
            config.write_text(config.read_text().replace(guardian, UNUSED))
            append(
                sites.folder / site,
                f'[relay]\naddress = "{relay.address}"\nsite = "hub"\nguardian = true\n'
                f'proxy = "http://ward:s3cret@{way}"\nca = "{tmp_path / "corporation" / "root.pem"}"\n',
            )
        sites.children |= sites.federation.serve_parties()
        parties = dict.fromkeys(SETTINGS.sites, relay.address)
        write_site(load_site(sites.folder / QUERY).model_copy(update={"parties": parties}))
        sites.federation.set_budgets()
        yield relay
        # Inside the block: parties drain through the proxy.
        for child in sites.children.values():
            sites.processes.end(child)


def run(sites: Sites, on_progress: object = lambda _: None) -> LabelResult:
    site = sites.folder / QUERY
    options = PlanOptions(
        mechanism=GnMax(sigma=QUIET), quorum=len(SETTINGS.sites), batch_size=SETTINGS.plan.batch_size
    )
    how = LabellingRun(on_progress)  # type: ignore[arg-type]
    return label(site, site / "pool.npz", options, sites.run, run=how)


def require_true_labels(sites: Sites) -> None:
    """Every answer is the plurality of all parties' votes, wherever one class leads."""
    answers = sites.state.answers()
    queries = sorted(answers)
    votes = sites.histogram(SETTINGS.sites, queries)
    counts = np.sort(votes, axis=1)
    leads = counts[:, -1] > counts[:, -2]
    assert leads.any()
    given = np.array([answers[query] for query in queries])
    assert (given[leads] == votes.argmax(axis=1)[leads]).all()


def test_a_relay_killed_in_a_run_through_an_inspecting_proxy_changes_no_label(
    sites: Sites, relay: RelayProcess, proxy: Proxy
) -> None:
    killed: list[int] = []

    def kill(result: LabelResult) -> None:
        if not killed:
            killed.append(result.asked)
            relay.restart()

    result = run(sites, kill)
    assert killed
    assert (result.answered, dict(result.left_out)) == (SETTINGS.records.queries, {})
    require_true_labels(sites)
    require_charged_once(sites)
    # All went through the proxy, and nothing of it was readable there but the relay's own words.
    assert set(proxy.connected) == {relay.address}
    assert b"/ostraka.v1.Party/Vote" not in proxy.seen
    assert b'"kind":"challenge"' in proxy.seen
