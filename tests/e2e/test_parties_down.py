import os
import signal
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing

import numpy as np
import pytest

from ostraka.client.run.labelling import LabelResult
from ostraka.common.errors import ErrorCode, OstrakaError
from tests.e2e.sites import SETTINGS, Sites
from tests.waiting import until

FIRST, *OTHERS = SETTINGS.sites


def voted(sites: Sites, party: str, batches: int) -> bool:
    """Whether a party's journal has this many batches, which it writes before it replies."""
    with closing(sqlite3.connect(sites.folder / party / "journal.db")) as journal:
        return bool(journal.execute("SELECT count(*) FROM charges").fetchone()[0] >= batches)


def kill_in_second_batch(sites: Sites, *killed: str) -> Callable[[LabelResult], None]:
    """Return a progress callback: hold these parties still after the first batch, kill them in the second."""
    survivor = OTHERS[-1]

    def kill() -> None:
        until(lambda: voted(sites, survivor, 2))
        for party in killed:
            sites.kill(party)

    def on_progress(result: LabelResult) -> None:
        if result.asked == SETTINGS.batch_size:
            for party in killed:
                os.kill(sites.children[party].process.pid, signal.SIGSTOP)
            threading.Thread(target=kill).start()

    return on_progress


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
    assert (result.asked, result.answered) == (SETTINGS.queries, SETTINGS.queries)
    assert all(batch.parties == SETTINGS.sites for batch in sites.state.batches)
    require_right_sums(sites)


def test_a_party_killed_in_a_batch_is_left_out_and_the_sums_stay_right(sites: Sites) -> None:
    sites.start()
    result = sites.label(quorum=2, on_progress=kill_in_second_batch(sites, FIRST))
    assert result.asked == SETTINGS.queries
    assert [set(batch.parties) for batch in sites.state.batches] == [set(SETTINGS.sites), set(OTHERS)]
    assert result.left_out[FIRST].code == ErrorCode.SERVER_UNREACHABLE
    require_right_sums(sites)


def test_a_lost_quorum_stops_with_the_labels_that_came(sites: Sites) -> None:
    sites.start()
    with pytest.raises(OstrakaError, match="quorum") as caught:
        sites.label(quorum=3, on_progress=kill_in_second_batch(sites, FIRST))
    assert caught.value.code == ErrorCode.QUORUM_LOST
    assert len(sites.state.answers()) == SETTINGS.batch_size
    require_right_sums(sites)


def test_a_party_down_at_the_start_is_left_out(sites: Sites) -> None:
    sites.start()
    sites.kill(FIRST)
    result = sites.label(quorum=2)
    assert result.asked == SETTINGS.queries
    assert all(set(batch.parties) == set(OTHERS) for batch in sites.state.batches)
    assert sites.charged()[FIRST] == 0
    require_right_sums(sites)


def test_too_many_parties_down_at_the_start_is_told_before_anything_is_asked(sites: Sites) -> None:
    sites.start()
    for party in SETTINGS.sites[:2]:
        sites.kill(party)
    with pytest.raises(OstrakaError, match="get more parties up") as caught:
        sites.label(quorum=2)
    assert caught.value.code == ErrorCode.QUORUM_LOST
    assert set(sites.charged().values()) == {0}
