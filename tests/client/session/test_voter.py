"""Parties that answer with what is no message, and connections that are closed while they vote."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import grpc
import pytest

from ostraka.client.peers.event_loop import run_async
from ostraka.client.peers.party_peer import VOTE, Voter
from ostraka.client.peers.retry import Retry
from ostraka.client.session.asking import ask_all
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Identity, Role
from ostraka.common.rpc.watcher import Target
from tests.unsecured import unsecured

GARBAGE = b"\xff\xff\xff"
WAIT_S = 60.0


def messages(site: str, *, whole: bool) -> Iterator[bytes]:
    return iter([b""])


BATCH: Any = SimpleNamespace(queries=1, width=10, grant=SimpleNamespace(sha256=b"1"), messages=messages)


class Party(grpc.GenericRpcHandler):
    """Answers with garbage: a probe at once, and what asks for a vote once it may."""

    def __init__(self) -> None:
        self.asked, self.may_vote = threading.Event(), threading.Event()
        self.may_vote.set()

    def service(self, details: Any) -> Any:
        if details.method == VOTE:
            return grpc.stream_stream_rpc_method_handler(self._vote)
        return grpc.unary_unary_rpc_method_handler(lambda request, context: GARBAGE)

    def _vote(self, requests: Iterator[bytes], context: Any) -> Iterator[bytes]:
        self.asked.set()
        self.may_vote.wait(WAIT_S)
        yield GARBAGE


@pytest.fixture
def party() -> Party:
    return Party()


@pytest.fixture
def voter(party: Party) -> Iterator[Voter]:
    with ThreadPoolExecutor(2) as pool:
        server = grpc.server(pool)
        server.add_generic_rpc_handlers((party,))
        address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
        server.start()
        target = Target(address, Identity("fed", "a", Role.PARTY), None)
        voter = Voter(target, lambda: unsecured(target), Retry(), pool)
        yield voter
        run_async(voter.close())
        party.may_vote.set()
        server.stop(None)


def refusal(came: dict[str, Any]) -> ErrorCode:
    error = came["a"]
    assert isinstance(error, OstrakaError)
    return error.code


def test_a_party_that_sends_no_message_is_told_of_as_any_other(voter: Voter) -> None:
    """It ends nobody's run."""
    assert refusal(run_async(ask_all("a", lambda _: voter.vote(BATCH)))) is ErrorCode.MESSAGE_INVALID
    assert refusal(run_async(ask_all("a", lambda _: voter.probe()))) is ErrorCode.MESSAGE_INVALID


def test_a_vote_under_way_when_its_connection_is_closed_has_failed(voter: Voter, party: Party) -> None:
    """Another batch may find the party failed, and probe it, while this one is voted on."""
    party.may_vote.clear()

    async def both() -> dict[str, Any]:
        voting = asyncio.ensure_future(ask_all("a", lambda _: voter.vote(BATCH)))
        await asyncio.to_thread(party.asked.wait, WAIT_S)
        await voter.close()
        return await voting

    assert refusal(run_async(both())) is ErrorCode.PARTY_UNREACHABLE
