"""One open batch: shares kept once, the party set frozen once, sums over exactly that set."""

from collections.abc import Callable, Iterable

import numpy as np
import pytest

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.sharing.modulus import RingArray
from ostraka.common.sharing.shares import RowSums
from ostraka.guardian.noise import DrawnNoise, ExactNoise
from ostraka.guardian.sessions.batch import Batch, Collecting, Dead, Drawn, Frozen, Share, State
from ostraka.guardian.sessions.cohorts import Attendance
from ostraka.guardian.sessions.outcome import Outcome
from ostraka.protos.ostraka.v1 import common_pb2
from tests.guardian.federation import plan
from tests.guardian.sessions.people import cohort, everybody

SITES = ("a", "b", "c")
QUORUM = 2


def share(value: int) -> Share:
    return Share.of(np.full((2, 3), value, dtype=np.uint64))


@pytest.fixture
def batch() -> Batch:
    return batch_of(everybody([cohort(site) for site in SITES], 2))


def batch_of(attendance: Attendance) -> Batch:
    parties = [common_pb2.Participant(site=site, cohorts=[common_pb2.Cohort()]) for site in SITES]
    schedule = attendance.schedule(parties)
    ticket = common_pb2.Ticket(session_id="s", batch_id=1, size=2, schedule=schedule)
    return Batch(plan(parties=list(SITES), quorum=QUORUM), ticket, attendance, DrawnNoise(ExactNoise(), {}))


def freeze(batch: Batch, held: Iterable[str], *, due: bool) -> frozenset[str] | None:
    frozen = batch.freeze(list(held), RowSums(b"", {}), due=due)
    return None if frozen is None else frozen.parties


def sums(batch: Batch, request: int) -> list[RingArray]:
    """Send a sum, and return what noise is added to, if any is drawn for it."""
    drawn: list[RingArray] = []

    def draw(total: RingArray, attendance: Attendance) -> Outcome:
        drawn.append(total)
        return Outcome(b"answers", 2, ())

    assert batch.release(share(request), draw=draw, commit=lambda outcome: outcome.answers) == b"answers"
    return drawn


def total(batch: Batch, request: int) -> RingArray:
    return sums(batch, request)[0]


def test_all_in_freezes_at_once(batch: Batch) -> None:
    for i, site in enumerate(SITES):
        batch.submit(site, share(10**i))
    assert freeze(batch, SITES, due=False) == frozenset(SITES)
    assert (total(batch, 1000) == 1111).all()


def values_kept(batch: Batch) -> set[str]:
    """Return the sites of which the batch has more than a digest."""
    assert isinstance(batch.state, Frozen)
    return {site for site, share in batch.state.shares.items() if share.values.size}


def test_shares_that_are_summed_no_more_are_gone_and_retries_are_known(batch: Batch) -> None:
    for site in SITES:
        batch.submit(site, share(1))
    freeze(batch, "ac", due=True)
    assert values_kept(batch) == {"a", "c"}
    assert (total(batch, 5) == 7).all()
    assert values_kept(batch) == set()
    assert sums(batch, 5) == [], "a retry draws nothing anew"
    batch.submit("a", share(1))
    with pytest.raises(OstrakaError) as refused:
        batch.submit("a", share(2))
    assert refused.value.code is ErrorCode.BATCH_ALTERED


def test_waits_for_missing_shares_until_the_time_comes(batch: Batch) -> None:
    batch.submit("a", share(1))
    batch.submit("b", share(2))
    assert freeze(batch, SITES, due=False) is None
    assert freeze(batch, SITES, due=True) == frozenset("ab")


def test_freezes_only_what_both_sides_hold(batch: Batch) -> None:
    for site in SITES:
        batch.submit(site, share(1))
    assert freeze(batch, "ac", due=True) == frozenset("ac")
    assert (total(batch, 5) == 7).all()


def test_frozen_set_never_changes(batch: Batch) -> None:
    for site in SITES:
        batch.submit(site, share(1))
    frozen = freeze(batch, "ac", due=True)
    assert freeze(batch, SITES, due=True) == frozen


def test_sums_wrap_in_the_ring(batch: Batch) -> None:
    for site in SITES:
        batch.submit(site, share(2**63))
    freeze(batch, SITES, due=False)
    assert (total(batch, 2**63 + 5) == 5).all()


def refusal(step: Callable[[], object]) -> ErrorCode:
    with pytest.raises(OstrakaError) as refused:
        step()
    return refused.value.code


def test_quorum_lost(batch: Batch) -> None:
    batch.submit("a", share(1))
    assert refusal(lambda: freeze(batch, SITES, due=True)) is ErrorCode.QUORUM_LOST


def test_a_batch_that_lost_its_quorum_is_buried_once_and_takes_nothing_more(batch: Batch) -> None:
    buried: list[State] = []

    def lose() -> None:
        batch.freeze(SITES, RowSums(b"", {}), due=True, bury=lambda: buried.append(batch.state))

    assert [refusal(lose), refusal(lose)] == [ErrorCode.QUORUM_LOST, ErrorCode.BATCH_DEAD]
    assert [type(state) for state in buried] == [Collecting]
    assert isinstance(batch.state, Dead)
    assert refusal(lambda: batch.submit("a", share(1))) is ErrorCode.BATCH_DEAD


def test_a_quorum_that_cannot_be_lost_in_the_ledger_is_not_lost(batch: Batch) -> None:
    """A batch that the ledger still has open is not dead in memory either."""

    def locked() -> None:
        raise OstrakaError(ErrorCode.LEDGER_LOCKED, "Wait.")

    batch.submit("a", share(1))
    code = refusal(lambda: batch.freeze(SITES, RowSums(b"", {}), due=True, bury=locked))
    assert code is ErrorCode.LEDGER_LOCKED
    batch.submit("b", share(1))
    assert freeze(batch, SITES, due=True) == frozenset("ab")


def test_an_outcome_is_drawn_once_and_stored_until_the_ledger_has_it(batch: Batch) -> None:
    for site in SITES:
        batch.submit(site, share(1))
    freeze(batch, SITES, due=False)
    outcomes = iter([Outcome(b"first", 2, ()), Outcome(b"second", 2, ())])
    stored: list[bytes] = []

    def commit(outcome: Outcome) -> bytes:
        stored.append(outcome.answers)
        if len(stored) == 1:
            raise OstrakaError(ErrorCode.LEDGER_LOCKED, "Wait.")
        return outcome.answers

    def release() -> bytes:
        return batch.release(share(1), draw=lambda total, voters: next(outcomes), commit=commit)

    assert refusal(release) is ErrorCode.LEDGER_LOCKED
    assert isinstance(batch.state, Drawn)
    assert not batch.is_released
    assert (release(), release()) == (b"first", b"first")
    assert stored == [b"first"] * 3
    assert batch.is_released


def test_what_is_settled_without_answers_is_dead_and_with_them_stays(batch: Batch) -> None:
    for site in SITES:
        batch.submit(site, share(1))
    freeze(batch, SITES, due=False)
    assert batch.settle(lambda: b"answers") == b"answers"
    assert len(sums(batch, 1)) == 1
    other = batch_of(everybody([cohort(site) for site in SITES], 2))
    assert other.settle(lambda: None) is None
    assert refusal(lambda: freeze(other, SITES, due=True)) is ErrorCode.BATCH_DEAD


def test_every_query_keeps_its_quorum() -> None:
    """Two parties are in, but only one of them votes on the second query."""
    present = np.array([[1, 1], [1, 0], [1, 1]], dtype=np.bool_)
    batch = batch_of(Attendance(tuple(cohort(site) for site in SITES), present))
    for site in "ab":
        batch.submit(site, share(1))
    assert freeze(batch, SITES, due=False) is None
    assert refusal(lambda: freeze(batch, SITES, due=True)) is ErrorCode.QUORUM_LOST


def test_no_sum_before_the_freeze(batch: Batch) -> None:
    batch.submit("a", share(1))
    assert refusal(lambda: total(batch, 0)) is ErrorCode.BATCH_NOT_FROZEN


def test_another_sum_than_the_first_is_refused(batch: Batch) -> None:
    for site in SITES:
        batch.submit(site, share(1))
    freeze(batch, SITES, due=False)
    assert [len(sums(batch, 1)), len(sums(batch, 1))] == [1, 0]
    assert refusal(lambda: sums(batch, 2)) is ErrorCode.BATCH_ALTERED


@pytest.mark.parametrize(
    ("site", "value", "code"),
    [("a", 2, ErrorCode.BATCH_ALTERED), ("z", 1, ErrorCode.TICKET_INVALID)],
)
def test_refused_shares(batch: Batch, site: str, value: int, code: ErrorCode) -> None:
    batch.submit("a", share(1))
    batch.submit("a", share(1))
    assert refusal(lambda: batch.submit(site, share(value))) is code
    assert isinstance(batch.state, Collecting)
    assert batch.state.shares["a"].same(share(1))


def test_late_share_is_refused(batch: Batch) -> None:
    batch.submit("a", share(1))
    batch.submit("b", share(1))
    freeze(batch, SITES, due=True)
    assert refusal(lambda: batch.submit("c", share(1))) is ErrorCode.BATCH_FROZEN


def test_shares_of_another_shape_differ() -> None:
    flat = Share.of(np.ones((1, 6), dtype=np.uint64))
    assert not flat.same(Share.of(np.ones((2, 3), dtype=np.uint64)))
