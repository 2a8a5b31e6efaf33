"""Tickets that nobody uses die soon, by the guardian's clock, and nobody holds more than some of them."""

from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

from ostraka.common.clock import ManualClock
from ostraka.common.identity import Role
from ostraka.common.mechanism import DpTtac, Recipe
from ostraka.guardian.policy import Policy
from ostraka.guardian.sessions.batch import Batch, Collecting
from ostraka.protos.ostraka.v1 import guardian_pb2
from tests.fair_clock import HANGS_S
from tests.guardian.federation import Calls, Federation, plan, refusal, unanimous

START = 1_800_000_000.0
QUERIES = 5
POLICY = "min_sigma = 0.5\nmax_open_batches = 3\nmax_open_sessions = 2\n"


@pytest.fixture
def time() -> ManualClock:
    return ManualClock(START)


@pytest.fixture
def guardian(tmp_path: Path, time: ManualClock) -> Iterator[Calls]:
    with Federation(tmp_path, clock=time, policy=POLICY).guardian() as calls:
        calls.prepare_all()
        yield calls


def reserved(guardian: Calls) -> float:
    (budget,) = guardian.budgets("a").values()
    return budget.epsilon_reserved


def test_a_ticket_that_nobody_uses_gives_back_what_it_held(guardian: Calls, time: ManualClock) -> None:
    session = guardian.open().session_id
    assert guardian.ticket(session, 1, QUERIES).expires_unix_ms == (START + 900) * 1000
    assert reserved(guardian) > 0
    time.advance(901)
    assert refusal(lambda: guardian.prepare(session, 1)) == "batch.dead"
    assert (reserved(guardian), guardian.spent()) == (0.0, 0.0)
    assert guardian.ticket(session, 2, QUERIES).batch_id == 2


def test_no_ticket_outlives_its_grant(guardian: Calls, time: ManualClock) -> None:
    session = guardian.open().session_id
    time.advance(86_400)
    assert guardian.ticket(session, 1, QUERIES).expires_unix_ms == (START + 86_400 + 60) * 1000


def test_nobody_waits_for_a_batch_that_ends_while_it_is_in_use(
    guardian: Calls, time: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = guardian.open().session_id
    guardian.ticket(session, 1, QUERIES)
    freeze, other = Batch._whole_set, guardian.stub("other", Role.QUERY)

    def slowly(batch: Batch, state: Collecting, held: Collection[str], *, due: bool) -> frozenset[str] | None:
        time.advance(901)
        other.OpenSession(guardian_pb2.OpenSessionRequest(plan=plan().serialize()), timeout=HANGS_S)
        return freeze(batch, state, held, due=due)

    with monkeypatch.context() as busy:
        busy.setattr(Batch, "_whole_set", slowly)
        assert not guardian.prepare(session, 1).frozen
    assert refusal(lambda: guardian.prepare(session, 1)) == "batch.dead"
    assert reserved(guardian) == 0.0


def test_whoever_asks_next_finds_what_others_held(guardian: Calls, time: ManualClock) -> None:
    guardian.ticket(guardian.open().session_id, 1, QUERIES)
    time.advance(901)
    other = guardian.stub("other", Role.QUERY)
    other.OpenSession(guardian_pb2.OpenSessionRequest(plan=plan().serialize()))
    assert reserved(guardian) == 0.0


def test_who_is_slow_but_in_time_is_answered(guardian: Calls, time: ManualClock) -> None:
    session = guardian.open().session_id
    guardian.ticket(session, 1, QUERIES)
    time.advance(899)
    total = guardian.vote(session, 1, unanimous(QUERIES))
    guardian.prepare(session, 1)
    time.advance(900)
    assert len(guardian.release(session, 1, total)) == QUERIES
    time.advance(3600)
    assert len(guardian.release(session, 1, total)) == QUERIES


def test_a_frozen_batch_that_nobody_releases_gives_back_what_it_held(
    guardian: Calls, time: ManualClock
) -> None:
    session = guardian.open().session_id
    guardian.ticket(session, 1, QUERIES)
    guardian.vote(session, 1, unanimous(QUERIES))
    guardian.prepare(session, 1)
    time.advance(1801)
    assert refusal(lambda: guardian.prepare(session, 1)) == "batch.dead"
    assert (reserved(guardian), guardian.spent()) == (0.0, 0.0)


def test_no_more_tickets_are_held_than_the_policy_allows(guardian: Calls, time: ManualClock) -> None:
    session = guardian.open().session_id
    for batch in (1, 2, 3):
        guardian.ticket(session, batch, 1)
    assert guardian.ticket(session, 3, 1).batch_id == 3
    assert refusal(lambda: guardian.ticket(session, 4, 1)) == "policy.open_limit"
    guardian.settle(session, 2)
    guardian.ticket(session, 4, 1)
    assert refusal(lambda: guardian.ticket(session, 5, 1)) == "policy.open_limit"
    time.advance(901)
    guardian.ticket(session, 5, 1)


def test_no_more_sessions_are_open_than_the_policy_allows(guardian: Calls, time: ManualClock) -> None:
    first, second, third = (plan(nonce=bytes([n]) * 16) for n in range(3))
    session = guardian.open(first).session_id
    guardian.open(second)
    assert guardian.open(first).session_id == session
    assert refusal(lambda: guardian.open(third)) == "policy.open_limit"
    guardian.query.CloseSession(guardian_pb2.CloseSessionRequest(session_id=session))
    guardian.open(third)
    time.advance(86_400 + 61)
    guardian.open(plan(nonce=b"x" * 16))


def test_a_restart_keeps_what_is_open_and_ends_what_was_held(tmp_path: Path, time: ManualClock) -> None:
    federation = Federation(tmp_path, clock=time, policy=POLICY)
    with federation.guardian() as guardian:
        guardian.prepare_all()
        for nonce in (b"a", b"b"):
            guardian.ticket(guardian.open(plan(nonce=nonce * 16)).session_id, 1, QUERIES)
    with federation.guardian() as guardian:
        assert reserved(guardian) == 0.0
        assert refusal(lambda: guardian.open(plan(nonce=b"c" * 16))) == "policy.open_limit"


def test_batches_in_which_parties_compute_for_minutes_have_more_time() -> None:
    recipe = Recipe(model="mlp", parameters=2, steps=1, batch_size=1, learning_rate=0.1)
    policy = Policy(ticket_ttl_s=10.0)
    assert policy.ticket_life_s(plan()) == 10.0
    assert policy.ticket_life_s(plan(encoding="ckks", ring_bits=32)) == 40.0
    training = DpTtac(recipe=recipe, radius=1.0, sigma=5.0)
    assert policy.ticket_life_s(plan().model_copy(update={"mechanism": training})) == 40.0
