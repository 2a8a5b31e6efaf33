"""Federations of processes whose parties are reachable only by a relay."""

import os
import signal
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import psutil

from ostraka.client.peers.retry import Retry
from ostraka.client.run.labelling import LabellingRun, LabelResult, label
from ostraka.client.run.options import PlanOptions
from ostraka.common.clock import SystemClock
from ostraka.common.config import SITE_FILE, SiteConfig, load_site, write_site
from ostraka.common.identity import CertificateAuthority, Identity, Role
from ostraka.common.mechanism import GnMax
from ostraka.common.relay import agent_process
from ostraka.deploy.provisioning.provision import CA_FOLDER
from ostraka.deploy.simulation.federation import GUARDIAN, QUERY
from ostraka.deploy.simulation.processes import Child, ChildCommand, Supervisor
from tests.e2e.sites import QUIET, SETTINGS, Sites
from tests.relay.relaying import UNUSED, append

HUB = "hub"
LONG = Retry(attempts=8)
"""Outlasts a killed relay or agent that restarts on a busy machine; the default waits slightly less."""


class RelayProcess:
    """A relay of a federation of processes."""

    def __init__(self, folder: Path, processes: Supervisor, caller: SiteConfig) -> None:
        """Start it in the folder of all sites; `caller` is a site whose guardian the relay reaches."""
        self.folder = folder / HUB
        self.folder.mkdir()
        identity = Identity(caller.federation, HUB, Role.RELAY)
        CertificateAuthority.load(folder / CA_FOLDER).issue(identity, self.folder, SystemClock())
        self._processes = processes
        self._caller = caller
        self._child: Child
        self.address = self.start("127.0.0.1:0")

    def start(self, listen: str) -> str:
        site = SiteConfig(
            federation=self._caller.federation, site=HUB, role="relay", listen=listen, folder=self.folder
        )
        write_site(site)
        append(
            self.folder, f'[relay]\nreach = {{ {self._caller.guardian_site} = "{self._caller.guardian}" }}'
        )
        ready = self.folder / "ready.json"
        ready.unlink(missing_ok=True)
        command = ["relay", "serve", "--site", str(self.folder), "--ready-file", str(ready)]
        self._child = self._processes.start(ChildCommand(HUB, command))
        return self._processes.wait_ready(self._child, ready, 60)

    def restart(self) -> None:
        """Kill it, and restart it at its port."""
        os.kill(self._child.process.pid, signal.SIGKILL)
        self._child.process.wait()
        self.start(self.address)


def kill_agent(party: Child) -> None:
    """Kill the process that attaches a party to the relay."""
    children = psutil.Process(party.process.pid).children()
    (agent,) = (child for child in children if agent_process.__name__ in child.cmdline())
    agent.kill()


def attach(folder: Path, relay: RelayProcess, table: str = "") -> None:
    """Make a party use a relay for its own calls too.

    `table` says in its table [relay] how to reach the relay; "": directly.
    """
    site = load_site(folder)
    config = folder / SITE_FILE
    config.write_text(config.read_text().replace(site.guardian, UNUSED))
    way = table or f'address = "{relay.address}"\n'
    append(folder, f'[relay]\nsite = "{HUB}"\nguardian = true\n{way}')


def call_by_relay(folder: Path, relay: RelayProcess) -> None:
    """Make a site call all parties at the relay instead of the ports where they listen.

    Its site.toml is written anew, without tables.
    """
    site = load_site(folder)
    write_site(site.model_copy(update={"parties": dict.fromkeys(site.parties, relay.address)}))


def serve_by_relay(sites: Sites, tables: Callable[[str], Mapping[str, str]] = lambda _: {}) -> RelayProcess:
    """Serve a federation whose parties are reached, and reach others, only by a relay.

    `tables` returns the `table` of `attach` for each party, by site, given the relay's address.
    """
    sites.children[GUARDIAN] = sites.federation.serve_guardian()
    relay = RelayProcess(sites.folder, sites.processes, load_site(sites.folder / QUERY))
    ways = tables(relay.address)
    for site in SETTINGS.sites:
        attach(sites.folder / site, relay, ways.get(site, ""))
    sites.children |= sites.federation.serve_parties()
    call_by_relay(sites.folder / QUERY, relay)
    sites.federation.set_budgets()
    return relay


def run(
    sites: Sites,
    on_progress: Callable[[LabelResult], None] = lambda _: None,
    quorum: int = len(SETTINGS.sites),
    retry: Retry = LONG,
) -> LabelResult:
    """Label the pool, with every party or fewer."""
    site = sites.folder / QUERY
    options = PlanOptions(mechanism=GnMax(sigma=QUIET), quorum=quorum, batch_size=SETTINGS.plan.batch_size)
    how = LabellingRun(on_progress, retry=retry)
    return label(site, site / "pool.npz", options, sites.run, run=how)


def require_true_labels(sites: Sites) -> None:
    """Check that every answer is the plurality of all parties' votes, wherever one class leads."""
    answers = sites.state.answers()
    queries = sorted(answers)
    votes = sites.histogram(SETTINGS.sites, queries)
    counts = np.sort(votes, axis=1)
    leads = counts[:, -1] > counts[:, -2]
    assert leads.any()
    given = np.array([answers[query] for query in queries])
    assert (given[leads] == votes.argmax(axis=1)[leads]).all()
