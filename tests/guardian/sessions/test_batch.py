"""One open batch: shares kept once, the party set frozen once, sums over exactly that set."""

import numpy as np
import pytest

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.sharing.ring import Ring, RingArray
from ostraka.guardian.noise import DrawnNoise, OpenDpNoise
from ostraka.guardian.sessions.batch import Batch, Share
from ostraka.guardian.sessions.cohorts import Attendance
from ostraka.protos.ostraka.v1 import common_pb2
from tests.guardian.sessions.people import cohort, everybody

SITES = ("a", "b", "c")


def share(value: int) -> Share:
    return Share.of(np.full((2, 3), value, dtype=np.uint64))


@pytest.fixture
def batch() -> Batch:
    return batch_of(everybody([cohort(site) for site in SITES], 2))


def batch_of(attendance: Attendance) -> Batch:
    parties = [common_pb2.Participant(site=site, cohorts=[common_pb2.Cohort()]) for site in SITES]
    schedule = attendance.schedule(parties)
    ticket = common_pb2.Ticket(session_id="s", batch_id=1, size=2, schedule=schedule)
    return Batch(ticket, attendance, DrawnNoise(OpenDpNoise(), {}))


def total(batch: Batch, request: int) -> RingArray:
    return batch.total(share(request), Ring(64))


def test_all_in_freezes_at_once(batch: Batch) -> None:
    for i, site in enumerate(SITES):
        batch.submit(site, share(10**i))
    assert batch.freeze(SITES, 2, due=False) == frozenset(SITES)
    assert (total(batch, 1000) == 1111).all()


def test_waits_for_missing_shares_until_the_time_comes(batch: Batch) -> None:
    batch.submit("a", share(1))
    batch.submit("b", share(2))
    assert batch.freeze(SITES, 2, due=False) is None
    assert batch.freeze(SITES, 2, due=True) == frozenset("ab")


def test_freezes_only_what_both_sides_hold(batch: Batch) -> None:
    for site in SITES:
        batch.submit(site, share(1))
    assert batch.freeze(["a", "c"], 2, due=True) == frozenset("ac")
    assert (total(batch, 5) == 7).all()


def test_frozen_set_never_changes(batch: Batch) -> None:
    for site in SITES:
        batch.submit(site, share(1))
    frozen = batch.freeze(["a", "c"], 2, due=True)
    assert batch.freeze(SITES, 2, due=True) == frozen


def test_sums_wrap_in_the_ring(batch: Batch) -> None:
    for site in SITES:
        batch.submit(site, share(2**63))
    batch.freeze(SITES, 3, due=False)
    assert (total(batch, 2**63 + 5) == 5).all()


def test_quorum_lost(batch: Batch) -> None:
    batch.submit("a", share(1))
    with pytest.raises(OstrakaError) as refused:
        batch.freeze(SITES, 2, due=True)
    assert refused.value.code is ErrorCode.QUORUM_LOST


def test_every_query_keeps_its_quorum() -> None:
    """Two parties are in, but only one of them votes on the second query."""
    present = np.array([[1, 1], [1, 0], [1, 1]], dtype=np.bool_)
    batch = batch_of(Attendance(tuple(cohort(site) for site in SITES), present))
    for site in "ab":
        batch.submit(site, share(1))
    with pytest.raises(OstrakaError) as refused:
        batch.freeze(SITES, 2, due=True)
    assert refused.value.code is ErrorCode.QUORUM_LOST
    assert batch.frozen is None
    batch.submit("c", share(1))
    assert batch.freeze(SITES, 2, due=False) == frozenset(SITES)


def test_no_sum_before_the_freeze(batch: Batch) -> None:
    batch.submit("a", share(1))
    with pytest.raises(OstrakaError) as refused:
        total(batch, 0)
    assert refused.value.code is ErrorCode.BATCH_NOT_FROZEN


def test_another_sum_than_the_first_is_refused(batch: Batch) -> None:
    for site in SITES:
        batch.submit(site, share(1))
    batch.freeze(SITES, 2, due=False)
    assert (total(batch, 1) == total(batch, 1)).all()
    with pytest.raises(OstrakaError) as refused:
        total(batch, 2)
    assert refused.value.code is ErrorCode.BATCH_ALTERED


@pytest.mark.parametrize(
    ("site", "value", "code"),
    [("a", 2, ErrorCode.BATCH_ALTERED), ("z", 1, ErrorCode.TICKET_INVALID)],
)
def test_refused_shares(batch: Batch, site: str, value: int, code: ErrorCode) -> None:
    batch.submit("a", share(1))
    batch.submit("a", share(1))
    with pytest.raises(OstrakaError) as refused:
        batch.submit(site, share(value))
    assert refused.value.code is code
    assert batch.shares["a"].same(share(1))


def test_late_share_is_refused(batch: Batch) -> None:
    batch.submit("a", share(1))
    batch.submit("b", share(1))
    batch.freeze(SITES, 2, due=True)
    with pytest.raises(OstrakaError) as refused:
        batch.submit("c", share(1))
    assert refused.value.code is ErrorCode.BATCH_FROZEN


def test_shares_of_another_shape_differ() -> None:
    flat = Share.of(np.ones((1, 6), dtype=np.uint64))
    assert not flat.same(Share.of(np.ones((2, 3), dtype=np.uint64)))
