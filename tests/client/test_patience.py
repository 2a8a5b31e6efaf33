"""How long a querying party waits for its guardian, by the waits that it asks for."""

import random

import grpc
import pytest

from ostraka.client.peers.guardian_peer import GuardianPeer
from ostraka.client.peers.retry import PATIENCE, Retry
from ostraka.client.run.labelling import LabellingRun, label
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.rpc.redirect import Replicas
from ostraka.guardian.ledger.ledger import LEASE_S
from ostraka.protos.ostraka.v1.guardian_pb2 import PrepareReply
from tests.client.driving import options, run_of
from tests.client.federation import Federation


class Shortest(random.Random):
    """Draws the shortest wait that there may be."""

    def uniform(self, a: float, b: float) -> float:
        return a


def waits_of_nobody(call: str) -> list[float]:
    """Seconds that a call waits each time where no guardian listens."""
    waits: list[float] = []
    replicas = Replicas(grpc.insecure_channel, "127.0.0.1:1")
    peer = GuardianPeer(replicas, Retry(sleep=waits.append, rng=Shortest()))
    with pytest.raises(OstrakaError) as away:
        peer.settle("s", 1) if call == "settle" else peer.close_session("s")
    replicas.close()
    assert away.value.code is ErrorCode.SERVER_UNREACHABLE
    return waits


def test_settling_outwaits_the_lease_of_a_guardian_that_died() -> None:
    assert sum(waits_of_nobody("settle")) > LEASE_S > sum(waits_of_nobody("close"))


def test_settling_is_tried_a_few_times_more_than_other_calls_and_then_given_up() -> None:
    assert len(waits_of_nobody("settle")) - len(waits_of_nobody("close")) == PATIENCE


def test_a_guardian_that_says_to_ask_again_at_once_is_asked_a_while_later(federation: Federation) -> None:
    """It waits for a share that never comes, and asks for a millisecond's patience meanwhile."""
    waits: list[float] = []
    federation.parties["c"].submits = False
    federation.guardian.polls_until_freeze = 4
    label(
        federation.site,
        federation.pool,
        options(queries=4),
        run_of(federation),
        run=LabellingRun(retry=Retry(sleep=waits.append)),
    )
    assert waits == [0.01] * 3


@pytest.mark.parametrize(
    ("said_ms", "waited_s"),
    [(0, 0.01), (9, 0.01), (11, 0.011), (60_000, 60.0), (60_001, 60.0), (2**32 - 1, 60.0)],
)
def test_a_set_is_waited_for_neither_too_briefly_nor_too_long(
    said_ms: int, waited_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    replicas = Replicas(grpc.insecure_channel, "127.0.0.1:1")
    peer = GuardianPeer(replicas, Retry(sleep=waits.append))
    replies = iter([PrepareReply(retry_after_ms=said_ms), PrepareReply(frozen=["a"])])
    monkeypatch.setattr(peer, "_call", lambda *_: next(replies))
    assert peer.prepare("s", 1, ["a"]) == (("a",), frozenset())
    assert waits == [waited_s]
