"""A querying party that stops once a party has evaluated its encrypted queries: the worst cost stands."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from ostraka.common.clock import ManualClock
from ostraka.common.plan.plan import Plan
from ostraka.common.sharing.ring import Ring
from ostraka.protos.ostraka.v1 import guardian_pb2
from tests.guardian.federation import PARTIES, Calls, Federation, plan, refusal, unanimous

START = 1_800_000_000.0
QUERIES = 5
POLICY = 'min_sigma = 0.5\nencodings = ["plain", "ckks"]\n'


def encrypted(**changes: object) -> Plan:
    return plan(**{"encoding": "ckks", "ring_bits": 32} | changes)


def opened(guardian: Calls, asked: Plan | None = None, voters: str = "a") -> str:
    """Open a session in which party a, or others, have evaluated batch 1."""
    for site in PARTIES:
        guardian.register(site, head="linear")
        guardian.budget(site, 1000.0)
    session = guardian.open(asked or encrypted()).session_id
    guardian.ticket(session, 1, QUERIES)
    for site in voters:
        guardian.evaluated(site, session, 1)
    return session


@pytest.fixture
def federation(tmp_path: Path) -> Federation:
    return Federation(tmp_path, clock=ManualClock(START), policy=POLICY)


@pytest.fixture
def guardian(federation: Federation) -> Iterator[Calls]:
    with federation.guardian() as calls:
        yield calls


def quorum_lost(guardian: Calls, session: str, time: ManualClock) -> None:
    time.advance(31)
    assert refusal(lambda: guardian.prepare(session, 1)) == "quorum.lost"


def expired(guardian: Calls, session: str, time: ManualClock) -> None:
    time.advance(2 * 86_400)
    guardian.open(encrypted(nonce=b"o" * 16))


ENDINGS: dict[str, Callable[[Calls, str, ManualClock], object]] = {
    "settled": lambda guardian, session, time: guardian.settle(session, 1),
    "closed": lambda guardian, session, time: guardian.query.CloseSession(
        guardian_pb2.CloseSessionRequest(session_id=session)
    ),
    "quorum lost": quorum_lost,
    "expired": expired,
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_who_evaluated_is_charged_at_worst_however_the_batch_ends(
    guardian: Calls, federation: Federation, ending: str
) -> None:
    session = opened(guardian)
    assert [guardian.spent(site) for site in PARTIES] == [0.0, 0.0, 0.0]
    assert isinstance(federation.clock, ManualClock)
    ENDINGS[ending](guardian, session, federation.clock)
    worst, *others = (guardian.spent(site) for site in PARTIES)
    assert worst > 0
    assert others == [0.0, 0.0]


@pytest.mark.heavy
def test_a_batch_that_a_crash_ended_is_charged_and_asked_again_is_charged_again(
    federation: Federation,
) -> None:
    with federation.guardian() as guardian:
        session = opened(guardian)
    with federation.guardian() as guardian:
        once = guardian.spent("a")
        assert once > 0
        guardian.ticket(session, 2, QUERIES)
        guardian.evaluated("a", session, 2)
        guardian.settle(session, 2)
        assert guardian.spent("a") > once
        assert guardian.spent("b") == 0.0


@pytest.mark.heavy
def test_a_released_batch_costs_what_was_answered_and_at_worst_who_was_left_out(guardian: Calls) -> None:
    """The check fails on every query, so that a release costs less than the worst case."""
    session = opened(guardian)
    guardian.evaluated("b", session, 1)
    split_votes = unanimous(QUERIES, sites=2)
    split_votes[:] = 0
    total = guardian_prepared(guardian, session, split_votes)
    guardian.release(session, 1, total)
    a, b, c = (guardian.spent(site) for site in PARTIES)
    assert a > b == c > 0


def test_what_comes_after_the_set_is_frozen_is_refused_and_charges_nothing(guardian: Calls) -> None:
    """A party that was cut off goes on, before the release and after it; one that is in asks again."""
    session = opened(guardian, voters="b")
    total = guardian_prepared(guardian, session, unanimous(QUERIES, sites=2))
    share = np.zeros((QUERIES, 4), dtype=np.uint32)
    assert refusal(lambda: guardian.evaluated("a", session, 1)) == "batch.frozen"
    assert refusal(lambda: guardian.submit("a", session, 1, share)) == "batch.frozen"
    guardian.evaluated("b", session, 1)
    guardian.release(session, 1, total)
    assert refusal(lambda: guardian.evaluated("a", session, 1)) in ("batch.dead", "batch.frozen")
    a, b, c = (guardian.spent(site) for site in PARTIES)
    assert (a, b > 0, b == c) == (0.0, True, True)


def guardian_prepared(guardian: Calls, session: str, votes: np.ndarray) -> np.ndarray:
    """Return the sum of b and c, without a, whose freeze time has come."""
    ring, halves = Ring(32), []
    for site in ("b", "c"):
        share = np.zeros((QUERIES, 4), dtype=np.uint32)
        guardian.submit(site, session, 1, share)
        halves.append(share)
    clock = guardian._federation.clock
    assert isinstance(clock, ManualClock)
    clock.advance(31)
    assert list(guardian.prepare(session, 1).frozen) == ["b", "c"]
    return ring.dtype.type(0) + halves[0]


def test_only_scheduled_parties_of_encrypted_sessions_evaluate(guardian: Calls) -> None:
    for site in PARTIES:
        guardian.register(site, head="linear")
        guardian.budget(site, 1000.0)
    session = guardian.open(encrypted()).session_id
    assert refusal(lambda: guardian.evaluated("a", session, 1)) == "batch.dead"
    guardian.ticket(session, 1, QUERIES, unavailable=["a"])
    assert refusal(lambda: guardian.evaluated("a", session, 1)) == "ticket.invalid"
    plain = guardian.open(plan()).session_id
    guardian.ticket(plain, 1, QUERIES)
    assert refusal(lambda: guardian.evaluated("b", plain, 1)) == "batch.out_of_order"
    assert refusal(lambda: guardian.query.RecordEvaluation(request(session))) == "identity.wrong_role"


def request(session: str) -> guardian_pb2.RecordEvaluationRequest:
    return guardian_pb2.RecordEvaluationRequest(session_id=session, batch_id=1)


@pytest.mark.heavy
def test_under_data_dependent_costs_the_worst_case_is_charged_although_nothing_was_reserved(
    tmp_path: Path,
) -> None:
    policy = POLICY + 'enforce = "data_dependent"\n'
    with Federation(tmp_path, policy=policy).guardian() as guardian:
        session = opened(guardian)
        guardian.settle(session, 1)
        assert [guardian.spent(site) > 0 for site in PARTIES] == [True, False, False]
