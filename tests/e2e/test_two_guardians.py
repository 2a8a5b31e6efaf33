"""Two guardians on one PostgreSQL, one of which is killed while it serves a session."""

import os
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from shutil import copytree

import numpy as np
import pytest

from ostraka.client.run.labelling import LabelResult
from ostraka.common.config import SITE_FILE
from ostraka.common.privacy import amount
from ostraka.deploy.simulation.federation import ADMIN, GUARDIAN, QUERY
from ostraka.deploy.simulation.processes import ChildCommand
from ostraka.guardian.admin.verification import verify_ledger
from ostraka.guardian.ledger import LedgerReader, load_or_create_key
from ostraka.guardian.ledger.ledger import LEASE_S
from ostraka.guardian.ledger.units import balances
from ostraka.guardian.serving.server import running
from tests.addresses import free_addresses
from tests.clocks import Ahead
from tests.e2e.sites import SETTINGS, Sites
from tests.e2e.test_parties_down import require_right_sums, voted
from tests.waiting import until

FIRST, *OTHERS = SETTINGS.sites
BATCH = SETTINGS.plan.batch_size
READY_S = 120
ANY_PORT = "127.0.0.1:0"


class InterruptedRunError(Exception):
    pass


@dataclass
class Pair:
    """A federation whose guardian A is a process, and guardian B a server in this one."""

    sites: Sites
    url: str
    a: str
    b: str
    clock: Ahead = field(default_factory=Ahead)

    def configure(self, folder: str, before: str, after: str) -> None:
        file = self.sites.folder / folder / SITE_FILE
        text = file.read_text()
        assert before in text
        file.write_text(text.replace(before, after))

    def call(self, site: str, guardians: str, before: str = ANY_PORT) -> None:
        """Tell a site where to call the guardian."""
        self.configure(site, f'guardian = "{before}"', f'guardian = "{guardians}"')

    def start(self, group: str, *sites: str) -> list[str]:
        """Start servers of these sites, and return where they are."""
        ready = [self.sites.folder / site / "ready.json" for site in sites]
        for site, file in zip(sites, ready, strict=True):
            command = [group, "serve", "--site", str(self.sites.folder / site), "--ready-file", str(file)]
            self.sites.children[site] = self.sites.processes.start(ChildCommand(site, command))
        waiting = zip(sites, ready, strict=True)
        return [self.sites.processes.wait_ready(self.sites.children[s], f, READY_S) for s, f in waiting]


@pytest.fixture
def pair(sites: Sites, postgres_url: str) -> Iterator[Pair]:
    """Both guardians, and the parties, of which the first knows both and the others B alone."""
    a, b = free_addresses(2)
    pair = Pair(sites, postgres_url, a, b)
    load_or_create_key(sites.folder / GUARDIAN)
    (sites.folder / GUARDIAN / "database.url").write_text(postgres_url)
    with (sites.folder / GUARDIAN / SITE_FILE).open("a") as config:
        config.write('\n[ledger]\nurl_file = "database.url"\n')
    copytree(sites.folder / GUARDIAN, sites.folder / "b")
    pair.configure(GUARDIAN, ANY_PORT, pair.a)
    pair.configure("b", ANY_PORT, pair.b)
    assert pair.start("guardian", GUARDIAN) == [pair.a]
    with running(sites.folder / "b", clock=pair.clock):
        pair.call(QUERY, pair.a)
        pair.call(ADMIN, f"{pair.a}, {pair.b}")
        pair.call(FIRST, f"{pair.a}, {pair.b}")
        for site in OTHERS:
            pair.call(site, pair.b)
        for site, address in zip(SETTINGS.sites, pair.start("party", *SETTINGS.sites), strict=True):
            pair.configure(QUERY, f'{site} = "{ANY_PORT}"', f'{site} = "{address}"')
        sites.federation.set_budgets()
        yield pair


def interrupt(_: LabelResult) -> None:
    raise InterruptedRunError


def test_a_run_goes_on_at_another_guardian_when_its_own_is_killed(pair: Pair) -> None:
    sites = pair.sites
    with pytest.raises(InterruptedRunError):
        sites.label(on_progress=interrupt)
    session = sites.state.session_id
    pair.call(QUERY, pair.b, pair.a)

    def kill() -> None:
        until(lambda: all(voted(sites, site, 2) for site in OTHERS))
        sites.kill(GUARDIAN)
        pair.clock.by = 2 * LEASE_S
        os.kill(sites.children[FIRST].process.pid, signal.SIGCONT)

    def kill_in_second_batch(result: LabelResult) -> None:
        if result.asked == BATCH:
            os.kill(sites.children[FIRST].process.pid, signal.SIGSTOP)
            threading.Thread(target=kill).start()

    result = sites.label(on_progress=kill_in_second_batch)
    assert (result.answered, sites.state.session_id) == (SETTINGS.records.queries, session)
    assert [batch.status for batch in sites.state.batches] == ["released", "dead", "released"]
    require_right_sums(sites)
    require_charged_once(pair)
    assert all(epsilon > 0 for epsilon in sites.charged().values())


def require_charged_once(pair: Pair) -> None:
    """Every party paid for exactly the labels that it voted on, and the audit log says so too."""
    labels = Counter(
        party for batch in pair.sites.state.batches for party in batch.parties * len(batch.answers)
    )
    with LedgerReader.open_read_only(pair.url) as ledger:
        for budget in ledger.read(balances.all_budgets):
            cost = SETTINGS.plan_mechanism.worst_case(budget.order, classes=10)
            assert labels[budget.key.party] in (BATCH, 2 * BATCH)
            expected = amount(cost.rdp(np.ones((BATCH, 1), dtype=np.bool_)))
            assert (budget.spent, budget.reserved) == (labels[budget.key.party] // BATCH * expected, 0)
    assert verify_ledger(pair.url, pair.sites.folder / GUARDIAN / "ca.crt", [])
