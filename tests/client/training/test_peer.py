"""A party of a training that answers with what is no message, and shares that are not held expanded."""

from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import grpc
import numpy as np
import pytest

from ostraka.client.peers.event_loop import run_async
from ostraka.client.peers.retry import Retry
from ostraka.client.session import summed_rounds
from ostraka.client.session.summed_rounds import SeededShares
from ostraka.client.session.votes import CollectedShares
from ostraka.client.training.peer import FINISH, JOIN, TRAIN, TrainingPeer
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Identity, Role
from ostraka.common.rpc.watcher import Target
from ostraka.common.sharing.ring import Ring
from ostraka.common.sharing.shares import SEED_BYTES, expand
from tests.unsecured import unsecured

GARBAGE = b"\xff\xff\xff"
WORK: Any = SimpleNamespace(messages=lambda site, counted: iter([b""]))
SEEDS = {site: site.encode() * SEED_BYTES for site in "abc"}


class Party(grpc.GenericRpcHandler):
    """Answers every call with garbage."""

    def service(self, details: Any) -> Any:
        if details.method == JOIN:
            return grpc.unary_stream_rpc_method_handler(lambda request, context: iter([GARBAGE]))
        if details.method in (TRAIN, FINISH):
            return grpc.stream_unary_rpc_method_handler(lambda requests, context: GARBAGE)
        return None


@pytest.fixture
def peer() -> Iterator[TrainingPeer]:
    with ThreadPoolExecutor(2) as pool:
        server = grpc.server(pool)
        server.add_generic_rpc_handlers((Party(),))
        address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
        server.start()
        target = Target(address, Identity("fed", "a", Role.PARTY), None)
        peer = TrainingPeer(target, lambda: unsecured(target), Retry(), pool)
        yield peer
        run_async(peer.close())
        server.stop(None)


def refusal(call: Coroutine[Any, Any, Any]) -> ErrorCode:
    with pytest.raises(OstrakaError) as refused:
        run_async(call)
    return refused.value.code


def test_no_reply_is_taken_for_one_that_is_none(peer: TrainingPeer) -> None:
    for call in (peer.join("ttac", print), peer.train(WORK, None), peer.finish(WORK, None)):
        assert refusal(call) is ErrorCode.MESSAGE_INVALID


def test_shares_are_expanded_one_after_the_other_where_they_are_summed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ring, expanded = Ring(64), list[bytes]()

    def counted(seed: bytes, *shape: Any) -> Any:
        expanded.append(seed)
        return expand(seed, *shape)

    monkeypatch.setattr(summed_rounds, "expand", counted)
    votes = CollectedShares(SeededShares(SEEDS, 5, ring), {})
    assert (sorted(votes.shares), len(votes.shares), expanded) == (["a", "b", "c"], 3, [])
    total = votes.total("ac", ring)
    assert np.array_equal(total, expand(SEEDS["a"], 1, 5, ring) + expand(SEEDS["c"], 1, 5, ring))
    assert expanded == [SEEDS["a"], SEEDS["c"]]
