"""Streams that a server refuses by their first message, while more of them is written."""

from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
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
DEADLINE_S = 300.0
REFUSAL = OstrakaError(ErrorCode.SERVER_BUSY, "Come again.")

Answer = Callable[[Iterator[bytes], grpc.ServicerContext], Iterator[bytes]]
Send = Callable[..., Awaitable[Any]]
EXCHANGE = partial(streaming.exchange, most=1)


def stream() -> Iterator[bytes]:
    yield b"header"
    yield from [bytes(1 << 20)] * CHUNKS


@contextmanager
def served(answer: Answer) -> Iterator[Callable[[Send], Any]]:
    """Serve streams with `answer`, and yield what sends one by `exchange` or `submit`."""

    class Handler(grpc.GenericRpcHandler):
        def service(self, _: Any) -> Any:
            return grpc.stream_stream_rpc_method_handler(answer)

    with ThreadPoolExecutor(2) as pool:
        server = grpc.server(pool)
        server.add_generic_rpc_handlers((Handler(),))
        address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
        server.start()

        async def ask(send: Send) -> Any:
            channel = unsecured(Target(address, PARTY, None))
            try:
                return await send(channel.stream_stream("/a/B"), stream, timeout=DEADLINE_S)
            finally:
                await channel.close()

        yield lambda send: run_async(ask(send))
        server.stop(None)


def refuse(messages: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[bytes]:
    next(messages)
    context.abort_with_status(to_status(REFUSAL))
    yield b""


@pytest.mark.parametrize("send", [EXCHANGE, streaming.submit])
def test_a_refusal_is_heard_whatever_was_being_written(monkeypatch: pytest.MonkeyPatch, send: Send) -> None:
    monkeypatch.setattr(streaming, "HEED_S", 60.0)
    with served(refuse) as ask:
        for _ in range(TIMES):
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                ask(send)
            told = from_call(refused.value)
            assert told is not None
            assert told.code is ErrorCode.SERVER_BUSY


@pytest.mark.parametrize(("send", "several"), [(EXCHANGE, True), (streaming.submit, False)])
def test_a_stream_that_is_taken_the_second_time_goes_whole(
    monkeypatch: pytest.MonkeyPatch, send: Send, several: bool
) -> None:
    monkeypatch.setattr(streaming, "HEED_S", 0.0)
    calls = []

    def answer(messages: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[bytes]:
        calls.append(next(messages))
        if len(calls) == 1:
            context.abort(grpc.StatusCode.INTERNAL, "as where a refusal was lost")
        yield str(sum(map(len, messages))).encode()

    reply = str(CHUNKS << 20).encode()
    with served(answer) as ask:
        assert ask(send) == ([reply] if several else reply)
    assert calls == [b"header"] * 2


def test_no_more_replies_are_read_than_one_too_many() -> None:
    def answer(messages: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[bytes]:
        while context.is_active():
            yield b"again"

    with served(answer) as ask:
        assert ask(partial(streaming.exchange, most=2)) == [b"again"] * 3
        with pytest.raises(OstrakaError, match="more than one"):
            ask(streaming.submit)
