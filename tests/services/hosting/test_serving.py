"""Many sessions at once, too many, a stop and a reload, as querying parties see them."""

import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from numpy.typing import NDArray

from ostraka.client.peers.event_loop import run_async
from ostraka.client.peers.party_peer import VoteBatch, Voter
from ostraka.client.peers.retry import Retry
from ostraka.common.datasets import digits
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Identity, Role
from ostraka.common.plan.signed_lists import SignedEntries
from ostraka.common.rpc import open_async_channel
from ostraka.common.rpc.watcher import Target
from ostraka.common.sharing.ballots import single_label
from ostraka.deploy.simulation.processes import Start
from ostraka.protos.ostraka.v1 import common_pb2, party_pb2
from ostraka.services.hosting.admission import Admission
from ostraka.services.teachers import Ensemble, TrainingConfig, train
from tests.services.process import process, wait_for
from tests.services.wire import FEDERATION, TEACHERS, Ask, Caller, Federation

WAIT_S = 120
"""Longer than anything here takes on a busy machine."""


def queries(attica: Federation, count: int, start: int = 0) -> NDArray[np.float32]:
    return attica.task.prepare(digits().X[start : start + count])


def counts(folder: Path, X: NDArray[np.float32]) -> NDArray[np.int64]:
    return single_label(Ensemble.load(folder / "teachers").predict(X), 10)


def refusal(call: Callable[[], object]) -> ErrorCode:
    with pytest.raises(OstrakaError) as refused:
        call()
    return refused.value.code


class Held:
    """Keeps the first share at the guardian's door, and with it the first batch under way."""

    def __init__(self, made: Federation) -> None:
        self._arrived, self._go_on = threading.Event(), threading.Event()
        self.pool = ThreadPoolExecutor(1)
        made.guardian.on_share = self._hold

    def begin(self, caller: Caller, ask: Ask) -> "Future[party_pb2.VoteReplyHeader]":
        """Return the future reply to `ask`, once its share has arrived at the guardian."""
        reply = self.pool.submit(caller.vote, ask)
        assert self._arrived.wait(WAIT_S)
        return reply

    def release(self) -> None:
        self._go_on.set()

    def _hold(self) -> None:
        self._arrived.set()
        assert self._go_on.wait(WAIT_S)


@pytest.mark.heavy
def test_concurrent_sessions_get_the_votes_on_their_own_queries(attica: Federation) -> None:
    sizes = [1, 90, 17, 250, 3, 64, 128, 40]
    batches = [queries(attica, size, 100 * i) for i, size in enumerate(sizes)]
    with attica.serving() as caller, ThreadPoolExecutor(len(batches)) as pool:
        replies = list(pool.map(lambda i: caller.vote(caller.ask(batches[i], i)), range(len(batches))))
        for i, (X, reply) in enumerate(zip(batches, replies, strict=True)):
            assert np.array_equal(caller.ballots(reply, i), counts(attica.party, X))


def test_a_party_that_is_full_says_so_and_takes_the_batch_when_it_is_asked_again(
    attica: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ostraka.services.serving.server.Admission", partial(Admission, places=1))
    X, held, waits = queries(attica, 3), Held(attica), []
    with attica.serving() as caller:
        first = held.begin(caller, caller.ask(X, 1))
        assert refusal(lambda: caller.vote(caller.ask(X, 2))) is ErrorCode.SERVER_BUSY

        async def pause(seconds: float) -> None:
            waits.append(seconds)
            held.release()
            first.result(WAIT_S)

        voter = querying(attica, caller.address, Retry(pause=pause), held.pool)
        seed = run_async(voter.vote(batch(caller, X, 2)))
        run_async(voter.close())
    assert len(waits) == 1
    assert len(attica.guardian.submissions) == 2
    assert seed != first.result().seed


@pytest.mark.heavy
def test_a_party_told_to_stop_finishes_what_is_under_way_and_takes_no_more(
    attica: Federation, start: Start
) -> None:
    X, held = queries(attica, 3), Held(attica)
    with process(attica, start) as (child, caller):
        first = held.begin(caller, caller.ask(X, 1))
        child.process.terminate()
        wait_for(child, "party.draining")
        assert health(caller) == health_pb2.HealthCheckResponse.NOT_SERVING
        assert refusal(lambda: caller.vote(caller.ask(X, 2))) is ErrorCode.SERVER_STOPPING
        held.release()
        assert np.array_equal(caller.ballots(first.result(WAIT_S)), counts(attica.party, X))
        assert child.process.wait(WAIT_S) == 0
    assert len(attica.guardian.submissions) == 1


@pytest.mark.heavy
def test_new_teachers_take_over_while_a_batch_is_finished_by_the_old(
    attica: Federation, start: Start
) -> None:
    X, held = queries(attica, 200), Held(attica)
    before = counts(attica.party, X)
    with process(attica, start) as (child, caller):
        ask = caller.ask(X, 1)
        first = held.begin(caller, ask)
        retrain(attica, seed=2)
        after = counts(attica.party, X)
        assert not np.array_equal(before, after)
        os.kill(child.process.pid, signal.SIGHUP)
        wait_for(child, "party.reloaded")
        held.release()
        assert np.array_equal(caller.ballots(first.result(WAIT_S)), before)
        assert caller.vote(ask) == first.result()
        assert np.array_equal(caller.ballots(caller.vote(caller.ask(X, 2)), 2), after)
    assert len(attica.guardian.manifests) == 1


@pytest.mark.heavy
def test_more_teachers_are_declared_and_do_not_vote_in_sessions_of_fewer(
    attica: Federation, start: Start
) -> None:
    X = queries(attica, 20)
    with process(attica, start) as (child, caller):
        retrain(attica, seed=2, teachers=TEACHERS + 1)
        os.kill(child.process.pid, signal.SIGHUP)
        wait_for(child, "party.reloaded")
        assert refusal(lambda: caller.vote(caller.ask(X))) is ErrorCode.TICKET_INVALID
    declared = [common_pb2.Manifest.FromString(signed.payload) for signed in attica.guardian.manifests]
    assert [manifest.groups[0].teachers for manifest in declared] == [TEACHERS, TEACHERS + 1]
    assert not attica.guardian.submissions


@pytest.mark.heavy
def test_teachers_that_cannot_be_read_leave_the_old_ones_voting(attica: Federation, start: Start) -> None:
    X = queries(attica, 20)
    before = counts(attica.party, X)
    with process(attica, start) as (child, caller):
        next((attica.party / "teachers").glob("*.skops")).write_bytes(b"damaged")
        os.kill(child.process.pid, signal.SIGHUP)
        wait_for(child, "party.not_reloaded")
        assert np.array_equal(caller.ballots(caller.vote(caller.ask(X))), before)


def retrain(made: Federation, seed: int, teachers: int = TEACHERS) -> None:
    config = TrainingConfig(teachers=teachers, model="logistic_regression")
    train(digits(), made.task, config, seed=seed).save(made.party / "teachers")


def health(caller: Caller) -> int:
    stub: Any = health_pb2_grpc.HealthStub(caller.channel)
    status: int = stub.Check(health_pb2.HealthCheckRequest(), timeout=WAIT_S).status
    return status


def querying(made: Federation, address: str, retry: Retry, pool: Executor) -> Voter:
    """Return a querying party's own client."""
    athens = Identity(FEDERATION, "athens", Role.PARTY)
    connect = partial(open_async_channel, made.querier, address, athens)
    return Voter(Target(address, athens, made.querier), connect, retry, pool)


def batch(caller: Caller, X: NDArray[np.float32], batch_id: int) -> VoteBatch:
    plan = caller.federation.plan
    sent = caller.whole_grant(), caller.whole_ticket(batch_id, len(X))
    grant, ticket = (SignedEntries(whole, plan.parties) for whole in sent)
    return VoteBatch(plan.serialize(), 10, grant, ticket, X)
