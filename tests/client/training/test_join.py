"""A party that answers Join with more than it announces, or announces more than any model has."""

import hashlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from ostraka.client.peers.event_loop import run_async
from ostraka.client.peers.retry import Retry
from ostraka.client.training.peer import JOIN, MAX_PARAMETERS, JoinedParty, TrainingPeer
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.rpc.steps import split
from ostraka.common.rpc.watcher import Target
from ostraka.protos.ostraka.v1 import common_pb2
from ostraka.protos.ostraka.v1.training_pb2 import JoinHeader, JoinReply
from tests.common.federation import PARTY
from tests.common.rpc.lying import Liar, lying
from tests.unsecured import unsecured

MIB = 1 << 20


class Endless(Sequence[bytes]):
    """Begins with a header, and then goes on for as long as it is asked."""

    def __init__(self, header: JoinHeader, part: common_pb2.Chunk) -> None:
        self._first = JoinReply(header=header).SerializeToString()
        self._then = JoinReply(chunk=part).SerializeToString()

    def __getitem__(self, index: Any) -> Any:
        return self._then if index else self._first

    def __len__(self) -> int:
        return 1 << 30


@pytest.fixture
def liar() -> Liar:
    return Liar()


@pytest.fixture
def peer(liar: Liar) -> Iterator[TrainingPeer]:
    with lying(liar) as address, ThreadPoolExecutor(1) as pool:
        target = Target(address, PARTY, None)
        peer = TrainingPeer(target, lambda: unsecured(target), Retry(), pool)
        yield peer
        run_async(peer.close())


def join(peer: TrainingPeer, *, model: str = "net") -> JoinedParty:
    def check(header: JoinHeader) -> None:
        if header.model != model:
            raise OstrakaError(ErrorCode.PLAN_INVALID, "Another model.")

    return run_async(peer.join("ttac", check))


def refusal(peer: TrainingPeer, **options: Any) -> ErrorCode:
    with pytest.raises(OstrakaError) as refused:
        join(peer, **options)
    return refused.value.code


def test_parameters_without_end_are_read_no_further_than_announced(liar: Liar, peer: TrainingPeer) -> None:
    """What gRPC has on its way besides is a few messages."""
    liar.answers[JOIN] = Endless(JoinHeader(model="net", parameters=MIB), common_pb2.Chunk(data=bytes(MIB)))
    assert refusal(peer) is ErrorCode.MESSAGE_TOO_LARGE
    assert liar.sent < 30


def test_empty_parts_without_end_are_refused(liar: Liar, peer: TrainingPeer) -> None:
    liar.answers[JOIN] = Endless(JoinHeader(model="net", parameters=1), common_pb2.Chunk())
    assert refusal(peer) is ErrorCode.MESSAGE_INVALID


@pytest.mark.parametrize("parameters", [0, MAX_PARAMETERS + 1, 2**32 - 1])
def test_a_model_that_no_plan_trains_is_refused_by_its_header(
    liar: Liar, peer: TrainingPeer, parameters: int
) -> None:
    header = JoinHeader(model="net", parameters=parameters)
    liar.answers[JOIN] = Endless(header, common_pb2.Chunk(data=bytes(MIB)))
    assert refusal(peer) is ErrorCode.PLAN_INVALID
    assert liar.sent < 30


def test_what_the_lead_does_not_want_is_refused_by_its_header(liar: Liar, peer: TrainingPeer) -> None:
    header = JoinHeader(model="net", parameters=MAX_PARAMETERS)
    liar.answers[JOIN] = Endless(header, common_pb2.Chunk(data=bytes(MIB)))
    assert refusal(peer, model="other") is ErrorCode.PLAN_INVALID
    assert liar.sent < 30


def test_what_was_announced_is_taken(liar: Liar, peer: TrainingPeer) -> None:
    data = np.arange(5, dtype="<f4").tobytes()
    header = JoinHeader(model="net", parameters=5, sha256=hashlib.sha256(data).digest())
    parts = [JoinReply(header=header), *(JoinReply(chunk=chunk) for chunk in split(data, 8))]
    liar.answers[JOIN] = [part.SerializeToString() for part in parts]
    assert join(peer).untrained.tobytes() == data
