"""Streams that a server refuses by their first message, while more of them is written."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import grpc
import pytest

from ostraka.client.peers.event_loop import run_async
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.rpc import streaming
from ostraka.common.rpc.status import from_call, to_status
from ostraka.common.rpc.watcher import Target
from tests.common.federation import PARTY
from tests.unsecured import unsecured

CHUNKS, TIMES = 3, 20
REFUSAL = OstrakaError(ErrorCode.SERVER_BUSY, "Come again.")

Answer = Callable[[Iterator[bytes], grpc.ServicerContext], Iterator[bytes]]


def stream() -> Iterator[bytes]:
    yield b"header"
    yield from [bytes(1 << 20)] * CHUNKS


@contextmanager
def served(answer: Answer) -> Iterator[Callable[[int], list[bytes]]]:
    """Serve streams with `answer`, and yield what sends one and returns so many replies."""

    class Handler(grpc.GenericRpcHandler):
        def service(self, _: Any) -> Any:
            return grpc.stream_stream_rpc_method_handler(answer)

    with ThreadPoolExecutor(2) as pool:
        server = grpc.server(pool)
        server.add_generic_rpc_handlers((Handler(),))
        address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
        server.start()

        async def send(most: int) -> list[bytes]:
            channel = unsecured(Target(address, PARTY, None))
            try:
                return await streaming.exchange(channel.stream_stream("/a/B"), stream, most=most)
            finally:
                await channel.close()

        yield lambda most: run_async(send(most))
        server.stop(None)


def refuse(messages: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[bytes]:
    next(messages)
    context.abort_with_status(to_status(REFUSAL))
    yield b""


def test_a_refusal_is_heard_whatever_was_being_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "HEED_S", 60.0)
    with served(refuse) as send:
        for _ in range(TIMES):
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                send(1)
            told = from_call(refused.value)
            assert told is not None
            assert told.code is ErrorCode.SERVER_BUSY


def test_a_stream_that_is_taken_the_second_time_goes_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "HEED_S", 0.0)
    calls = []

    def answer(messages: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[bytes]:
        calls.append(next(messages))
        if len(calls) == 1:
            context.abort(grpc.StatusCode.INTERNAL, "as where a refusal was lost")
        yield str(sum(map(len, messages))).encode()

    with served(answer) as send:
        assert send(1) == [str(CHUNKS << 20).encode()]
    assert calls == [b"header"] * 2


def test_no_more_replies_are_read_than_one_too_many() -> None:
    def answer(messages: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[bytes]:
        while context.is_active():
            yield b"again"

    with served(answer) as send:
        assert send(2) == [b"again"] * 3
