"""Federations of processes whose parties are reached by a relay alone."""

import os
import signal
from collections.abc import Mapping

import numpy as np

from ostraka.client.run.labelling import LabellingRun, LabelResult, label
from ostraka.client.run.options import PlanOptions
from ostraka.client.session.meter import SessionObserver
from ostraka.common.clock import SystemClock
from ostraka.common.config import SITE_FILE, SiteConfig, load_site, write_site
from ostraka.common.identity import CertificateAuthority, Identity, Role
from ostraka.common.mechanism import GnMax
from ostraka.deploy.provisioning.provision import CA_FOLDER
from ostraka.deploy.simulation.federation import GUARDIAN, NAME, QUERY
from ostraka.deploy.simulation.processes import Child, ChildCommand
from tests.e2e.sites import QUIET, SETTINGS, Sites
from tests.relay.relaying import UNUSED, append

HUB = Identity(NAME, "hub", Role.RELAY)


class RelayProcess:
    """A relay of a federation of processes."""

    def __init__(self, sites: Sites, table: str = "") -> None:
        """Start it with what else its table [relay] has."""
        self._sites = sites
        self.folder = sites.folder / HUB.site
        self.folder.mkdir()
        authority = CertificateAuthority.load(sites.folder / CA_FOLDER)
        authority.issue(HUB, self.folder, SystemClock())
        self._table = table
        self._child: Child
        self.address = self.start("127.0.0.1:0")

    def start(self, listen: str) -> str:
        site = SiteConfig(federation=NAME, site=HUB.site, role="relay", listen=listen, folder=self.folder)
        write_site(site)
        append(self.folder, f"[relay]\n{self._table}")
        ready = self.folder / "ready.json"
        ready.unlink(missing_ok=True)
        command = ["relay", "serve", "--site", str(self.folder), "--ready-file", str(ready)]
        self._child = self._sites.processes.start(ChildCommand(HUB.site, command))
        return self._sites.processes.wait_ready(self._child, ready, 60)

    def kill(self) -> None:
        os.kill(self._child.process.pid, signal.SIGKILL)
        self._child.process.wait()

    def restart(self) -> None:
        """Kill it, and start it again at its port."""
        self.kill()
        self.start(self.address)


def start_relay(sites: Sites) -> RelayProcess:
    """Serve a guardian, and a relay that reaches it."""
    sites.children[GUARDIAN] = sites.federation.serve_guardian()
    return RelayProcess(sites, f'reach = {{ {GUARDIAN} = "{sites.guardian_address}" }}\n')


def serve_parties(sites: Sites, relay: RelayProcess, tables: Mapping[str, str] | None = None) -> None:
    """Serve parties that reach nothing but the way to the relay that their table [relay] says.

    A site without a table of its own goes straight to the relay; every one calls the guardian by it, too.
    """
    guardian = sites.guardian_address
    for site in SETTINGS.sites:
        config = sites.folder / site / SITE_FILE
        config.write_text(config.read_text().replace(guardian, UNUSED))
        table = (tables or {}).get(site, f'address = "{relay.address}"\n')
        append(sites.folder / site, f'[relay]\nsite = "{HUB.site}"\nguardian = true\n{table}')
    sites.children |= sites.federation.serve_parties()
    # Not at the ports at which they listen, which stand in their place.
    parties = dict.fromkeys(SETTINGS.sites, relay.address)
    write_site(load_site(sites.folder / QUERY).model_copy(update={"parties": parties}))
    sites.federation.set_budgets()


def run(
    sites: Sites, on_progress: object = lambda _: None, watch: SessionObserver | None = None
) -> LabelResult:
    """Label the pool with every party."""
    site = sites.folder / QUERY
    options = PlanOptions(
        mechanism=GnMax(sigma=QUIET), quorum=len(SETTINGS.sites), batch_size=SETTINGS.plan.batch_size
    )
    how = LabellingRun(on_progress, watch=watch)  # type: ignore[arg-type]
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
