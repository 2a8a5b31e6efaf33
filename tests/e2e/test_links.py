"""A whole round where every link is far, slow, and breaks off the first connection."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from ostraka.client.run.labelling import label
from ostraka.client.run.options import PlanOptions
from ostraka.common.config import load_site, write_site
from ostraka.common.mechanism import GnMax
from ostraka.deploy.simulation.federation import ADMIN, GUARDIAN, QUERY
from ostraka.guardian.serving import server as guardian_server
from ostraka.services.serving import server as party_server
from tests.e2e.sites import QUIET, SETTINGS, Sites
from tests.links import Link, links

FAR_S = 0.3
SLOW = 200_000
"""Bytes a second."""


@pytest.fixture
def linked(sites: Sites) -> Iterator[Sites]:
    """Serve the federation from this process; everybody but its administrator calls through a link."""

    def configure(site: str, **addresses: object) -> None:
        write_site(load_site(sites.folder / site).model_copy(update=addresses))

    ways = {site: Link(FAR_S, SLOW, lost=1) for site in (GUARDIAN, *SETTINGS.sites)}
    with ExitStack() as stack:
        stack.enter_context(links(*ways.values()))
        ways[GUARDIAN].server = stack.enter_context(guardian_server.running(sites.folder / GUARDIAN))
        configure(ADMIN, guardian=ways[GUARDIAN].server)
        for site in SETTINGS.sites:
            configure(site, guardian=ways[GUARDIAN].address)
            serving = party_server.running(sites.folder / site, stop=threading.Event())
            ways[site].server = stack.enter_context(serving)
        parties = {site: ways[site].address for site in SETTINGS.sites}
        configure(QUERY, guardian=ways[GUARDIAN].address, parties=parties)
        sites.federation.set_budgets()
        for way in ways.values():
            way.lost = 1
        yield sites


def test_a_round_over_far_and_slow_links_counts_every_party(linked: Sites) -> None:
    site = linked.folder / QUERY
    options = PlanOptions(
        mechanism=GnMax(sigma=QUIET), quorum=len(SETTINGS.sites), batch_size=SETTINGS.plan.batch_size
    )
    result = label(site, site / "pool.npz", options, linked.run)
    assert (result.answered, dict(result.left_out)) == (SETTINGS.records.queries, {})
    assert [batch.parties for batch in linked.state.batches] == [SETTINGS.sites] * 2
