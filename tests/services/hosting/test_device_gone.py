"""A party whose device goes while it serves, as querying parties, the guardian and its operator see it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import grpc
import numpy as np
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from numpy.typing import NDArray
from prometheus_client import CollectorRegistry

from ostraka.common.datasets import digits
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.sharing.ballots import single_label
from ostraka.protos.ostraka.v1 import party_pb2_grpc
from ostraka.services.journal.journal import Journal
from ostraka.services.serving.server import running
from ostraka.services.teachers import Ensemble, estimators
from tests.services.wire import Caller, Federation

WAIT_S = 120
SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
UP = "ostraka_party_device_up"


@contextmanager
def gone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have every prediction fail within the block, as where a GPU or all memory is gone."""

    def fail(model: Any, X: NDArray[np.float32]) -> Any:
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr(estimators, "_classes", fail)
        yield


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


@pytest.fixture
def caller(attica: Federation, registry: CollectorRegistry) -> Iterator[Caller]:
    party = running(attica.party, stop=attica.stop, registry=registry, again_s=0.02)
    with party as address, attica.calling(address) as made:
        yield made


def watched(caller: Caller) -> Iterator[int]:
    """Yield what health says, now and at every change."""
    stub: Any = health_pb2_grpc.HealthStub(caller.channel)
    return (reply.status for reply in stub.Watch(health_pb2.HealthCheckRequest(), timeout=WAIT_S))


def queries(attica: Federation) -> NDArray[np.float32]:
    return attica.task.prepare(digits().X[:20])


def test_nothing_is_voted_and_the_same_batch_is_answered_once_the_device_is_back(
    attica: Federation, caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    X = queries(attica)
    ask = caller.ask(X)
    with gone(monkeypatch), pytest.raises(OstrakaError) as refused:
        caller.vote(ask)
    assert refused.value.code is ErrorCode.SERVER_DEVICE_GONE
    assert not attica.guardian.submissions
    with Journal(attica.party / "journal.db") as journal:
        assert not journal.holds("session", 1)
        assert journal.amount_spent(8.0) == 0
    votes = Ensemble.load(attica.party / "teachers").predict(X)
    assert np.array_equal(caller.ballots(caller.vote(ask)), single_label(votes, attica.plan.classes))
    assert len(attica.guardian.submissions) == 1


def test_querying_parties_are_told_to_ask_again(
    attica: Federation, caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    with gone(monkeypatch), pytest.raises(grpc.RpcError) as refused:
        list(party_pb2_grpc.PartyStub(caller.channel).Vote(caller.ask(queries(attica)).messages()))
    assert refused.value.code() is grpc.StatusCode.UNAVAILABLE


def test_health_and_metrics_say_so_until_a_probe_passes(
    attica: Federation, caller: Caller, registry: CollectorRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    states = watched(caller)
    assert next(states) == SERVING
    assert registry.get_sample_value(UP) == 1
    with gone(monkeypatch):
        with pytest.raises(OstrakaError):
            caller.vote(caller.ask(queries(attica)))
        assert next(states) == NOT_SERVING
        assert registry.get_sample_value(UP) == 0
    assert next(states) == SERVING
    assert registry.get_sample_value(UP) == 1


def test_every_service_is_not_served(
    attica: Federation, caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    with gone(monkeypatch):
        with pytest.raises(OstrakaError):
            caller.vote(caller.ask(queries(attica)))
        stub: Any = health_pb2_grpc.HealthStub(caller.channel)
        everything = health_pb2.HealthListRequest()  # type: ignore[attr-defined, unused-ignore]
        states = stub.List(everything, timeout=WAIT_S).statuses
        assert {name for name, state in states.items() if state.status == NOT_SERVING} == set(states)
        assert "ostraka.v1.Party" in states


def test_a_party_does_not_start_on_a_device_that_is_gone(
    attica: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    with gone(monkeypatch), pytest.raises(OstrakaError) as refused, running(attica.party, stop=attica.stop):
        pass
    assert refused.value.code is ErrorCode.SERVER_DEVICE_GONE
    assert "MemoryError" in refused.value.message
    assert not attica.guardian.manifests


def test_a_query_that_one_model_cannot_take_is_no_sign_of_it(
    attica: Federation, caller: Caller, registry: CollectorRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failure on one query costs a vote for the fixed class, as it always did."""
    X, answer, teachers = queries(attica), estimators._classes, []

    def learn(model: Any, X: NDArray[np.float32]) -> Any:
        teachers.append(model)
        return answer(model, X)

    def picky(model: Any, asked: NDArray[np.float32]) -> Any:
        if model is teachers[0] and (asked == X[4]).all(axis=1).any():
            raise MemoryError
        return answer(model, asked)

    monkeypatch.setattr(estimators, "_classes", learn)
    caller.vote(caller.ask(X, 7))
    monkeypatch.setattr(estimators, "_classes", picky)
    ballots = caller.ballots(caller.vote(caller.ask(X)))
    votes = Ensemble.load(attica.party / "teachers").predict(X)
    assert votes[0, 4] != 0
    votes[0, 4] = 0
    assert np.array_equal(ballots, single_label(votes, attica.plan.classes))
    assert registry.get_sample_value(UP) == 1
