import os
import signal
import sqlite3
import threading
from contextlib import closing

import numpy as np
import pytest

from ostraka.client.session.meter import Peer, Traffic
from ostraka.common.config import load_site
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.plan.plan import Plan
from ostraka.deploy.simulation.federation import QUERY
from tests.e2e.sites import SETTINGS, Sites
from tests.waiting import until

FIRST, *OTHERS = SETTINGS.sites


def voted(sites: Sites, party: str, batches: int) -> bool:
    """Whether a party's journal has this many batches, which it writes before it replies."""
    with closing(sqlite3.connect(sites.folder / party / "journal.db")) as journal:
        return bool(journal.execute("SELECT count(*) FROM charges").fetchone()[0] >= batches)


class KillInSecondBatch:
    """Observes a run: holds parties still at the second batch's ticket, and kills them while others vote."""

    def __init__(self, sites: Sites, *killed: str) -> None:
        self._sites = sites
        self._killed = killed
        self._tickets = 0

    def step(self, peer: Peer, name: str, seconds: float, traffic: Traffic) -> None:
        self._tickets += name == "ticket"
        if name == "ticket" and self._tickets == 2:
            for party in self._killed:
                os.kill(self._sites.children[party].process.pid, signal.SIGSTOP)
            threading.Thread(target=self._kill).start()

    def batch(self, plan: Plan, queries: int, *, released: bool, left_out: int) -> None:
        """Nothing is done where a batch ends."""

    def _kill(self) -> None:
        until(lambda: voted(self._sites, OTHERS[-1], 2))
        for party in self._killed:
            self._sites.kill(party)


class RestartAfterFirstBatch:
    """Observes a run: restarts a party once all have voted on the first batch."""

    def __init__(self, sites: Sites, restarted: str) -> None:
        self._sites = sites
        self._restarted = restarted
        self._votes = 0

    def step(self, peer: Peer, name: str, seconds: float, traffic: Traffic) -> None:
        self._votes += name == "vote"
        if name == "vote" and self._votes == len(SETTINGS.sites):
            address = load_site(self._sites.folder / QUERY).parties[self._restarted]
            self._sites.kill(self._restarted)
            self._sites.restart(self._restarted, "party", address)

    def batch(self, plan: Plan, queries: int, *, released: bool, left_out: int) -> None:
        """Nothing is done where a batch ends."""


def require_right_sums(sites: Sites) -> None:
    """Every label is the plurality of exactly the parties that the batch was released with."""
    for batch in sites.state.batches:
        if batch.status != "released":
            continue
        counts = sites.histogram(batch.parties, list(batch.queries))
        ordered = np.sort(counts, axis=1)
        led = ordered[:, -1] > ordered[:, -2]
        answers = np.array(batch.answers)
        assert led.any()
        np.testing.assert_array_equal(answers[led], counts.argmax(axis=1)[led])


@pytest.mark.processes
def test_labels_are_the_plurality_of_all_parties(sites: Sites) -> None:
    sites.start()
    result = sites.label()
    assert (result.asked, result.answered) == (SETTINGS.records.queries, SETTINGS.records.queries)
    assert all(batch.parties == SETTINGS.sites for batch in sites.state.batches)
    require_right_sums(sites)


def test_a_party_killed_in_a_batch_is_left_out_and_the_sums_stay_right(sites: Sites) -> None:
    sites.start()
    result = sites.label(quorum=2, watch=KillInSecondBatch(sites, FIRST))
    assert result.asked == SETTINGS.records.queries
    assert [set(batch.parties) for batch in sites.state.batches] == [set(SETTINGS.sites), set(OTHERS)]
    assert result.left_out[FIRST].code == ErrorCode.SERVER_UNREACHABLE
    require_right_sums(sites)


def test_a_party_restarted_between_batches_is_sent_plan_and_grant_again(sites: Sites) -> None:
    """No batch goes without it. A ticket that was held while it started may be given back."""
    sites.start()
    result = sites.label(quorum=3, watch=RestartAfterFirstBatch(sites, FIRST))
    assert result.asked == SETTINGS.records.queries
    assert not result.left_out
    released = [batch.parties for batch in sites.state.batches if batch.status == "released"]
    assert released == [SETTINGS.sites] * 2
    require_right_sums(sites)


def test_a_lost_quorum_stops_with_the_labels_that_came(sites: Sites) -> None:
    sites.start()
    with pytest.raises(OstrakaError, match="quorum") as caught:
        sites.label(quorum=3, watch=KillInSecondBatch(sites, FIRST))
    assert caught.value.code == ErrorCode.QUORUM_LOST
    assert len(sites.state.answers()) == SETTINGS.plan.batch_size
    require_right_sums(sites)


def test_a_party_down_at_the_start_is_left_out(sites: Sites) -> None:
    sites.start()
    sites.kill(FIRST)
    result = sites.label(quorum=2)
    assert result.asked == SETTINGS.records.queries
    assert all(set(batch.parties) == set(OTHERS) for batch in sites.state.batches)
    assert sites.charged()[FIRST] == 0
    require_right_sums(sites)


def test_too_many_parties_down_at_the_start_is_told_before_anything_is_asked(sites: Sites) -> None:
    sites.start()
    for party in SETTINGS.sites[:2]:
        sites.kill(party)
    with pytest.raises(OstrakaError, match="have more parties serve") as caught:
        sites.label(quorum=2)
    assert caught.value.code == ErrorCode.QUORUM_LOST
    assert set(sites.charged().values()) == {0}
