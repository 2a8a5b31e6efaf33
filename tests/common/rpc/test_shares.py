"""Shares in one message or as a stream: which is sent to whom, and what a server takes."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.rpc.shares import MAX_WHOLE_BYTES, ShareSender, read_stream, read_whole, stream_share
from ostraka.common.rpc.steps import CHUNK_BYTES
from ostraka.common.wire.limits import request_bytes
from ostraka.protos.ostraka.v1 import guardian_pb2 as pb
from ostraka.protos.ostraka.v1.guardian_pb2_grpc import GuardianStub
from tests.fair_clock import HANGS_S

SMALL = b"share"


class Server(grpc.GenericRpcHandler):
    """Takes shares as streams, and in one message where it is of this version; it knows what it was asked."""

    def __init__(self, *, old: bool, refusal: grpc.StatusCode | None = None) -> None:
        self.asked: list[str] = []
        self._old, self._refusal = old, refusal

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> Any:
        name = handler_call_details.method.rpartition("/")[2]
        self.asked.append(name)
        if name == "SubmitBallots":
            return grpc.stream_unary_rpc_method_handler(self._answer)
        return None if self._old else grpc.unary_unary_rpc_method_handler(self._answer)

    def _answer(self, _: object, context: grpc.ServicerContext) -> bytes:
        if self._refusal is not None:
            context.abort(self._refusal, "no")
        return b""


@pytest.fixture
def call() -> Iterator[Callable[[Server], grpc.Channel]]:
    """Yield what has a server take calls, and opens a channel to it."""
    servers, channels = [], []

    def begin(handler: Server) -> grpc.Channel:
        server = grpc.server(ThreadPoolExecutor(2), handlers=[handler])
        channels.append(grpc.insecure_channel(f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"))
        servers.append(server)
        server.start()
        return channels[-1]

    yield begin
    for channel in channels:
        channel.close()
    for server in servers:
        server.stop(None).wait()


def send(sender: ShareSender, channel: grpc.Channel, size: int = len(SMALL)) -> object:
    """Send a share that is said to have `size` bytes."""
    stub = GuardianStub(channel)
    header = pb.BallotsHeader(session_id="s")
    return sender.send(
        channel,
        size,
        whole=lambda: stub.SubmitBallotsWhole(pb.SubmitBallotsWholeRequest(data=SMALL), timeout=HANGS_S),
        stream=lambda: stub.SubmitBallots(
            stream_share(pb.SubmitBallotsRequest, header, SMALL), timeout=HANGS_S
        ),
    )


def test_a_share_goes_in_one_message_up_to_the_limit_and_as_a_stream_beyond(
    call: Callable[[Server], grpc.Channel],
) -> None:
    server, sender = Server(old=False), ShareSender()
    channel = call(server)
    for size in (0, MAX_WHOLE_BYTES, MAX_WHOLE_BYTES + 1):
        assert send(sender, channel, size) == pb.SubmitBallotsReply()
    assert server.asked == ["SubmitBallotsWhole", "SubmitBallotsWhole", "SubmitBallots"]


def test_a_server_that_knows_streams_alone_is_asked_once_and_remembered(
    call: Callable[[Server], grpc.Channel],
) -> None:
    old, new, sender = Server(old=True), Server(old=False), ShareSender()
    at_old, at_new = call(old), call(new)
    for channel in (at_old, at_new, at_old, at_new):
        assert send(sender, channel) == pb.SubmitBallotsReply()
    assert old.asked == ["SubmitBallotsWhole", "SubmitBallots", "SubmitBallots"]
    assert new.asked == ["SubmitBallotsWhole", "SubmitBallotsWhole"]


def test_no_other_refusal_has_a_share_sent_again(call: Callable[[Server], grpc.Channel]) -> None:
    server, sender = Server(old=False, refusal=grpc.StatusCode.INVALID_ARGUMENT), ShareSender()
    channel = call(server)
    for _ in range(2):
        with pytest.raises(grpc.RpcError):
            send(sender, channel)
    assert server.asked == ["SubmitBallotsWhole"] * 2


def test_both_forms_are_read_alike() -> None:
    header = pb.BallotsHeader(session_id="s", rows=3)
    data = bytes(range(256)) * (CHUNK_BYTES // 256) + SMALL
    read, chunks = read_stream(stream_share(pb.SubmitBallotsRequest, header, data))
    assert read == header
    assert list(chunks) == [data[:CHUNK_BYTES], SMALL]
    whole = pb.SubmitBallotsWholeRequest(header=header, data=data)
    assert read_whole(whole) == (header, (data,))


@pytest.mark.parametrize("parts", [[], [pb.SubmitBallotsRequest()]])
def test_a_stream_without_a_header_is_refused(parts: list[pb.SubmitBallotsRequest]) -> None:
    with pytest.raises(OstrakaError, match="begins with its header") as refused:
        read_stream(iter(parts))
    assert refused.value.code is ErrorCode.MESSAGE_INVALID


def test_what_is_due_as_a_stream_is_refused_in_one_message() -> None:
    largest = pb.SubmitBallotsWholeRequest(data=bytes(MAX_WHOLE_BYTES))
    assert read_whole(largest)[1] == (largest.data,)
    with pytest.raises(OstrakaError, match="as a stream") as refused:
        read_whole(pb.SubmitBallotsWholeRequest(data=bytes(MAX_WHOLE_BYTES + 1)))
    assert refused.value.code is ErrorCode.MESSAGE_TOO_LARGE


@pytest.mark.parametrize("name", ["SubmitBallots", "SubmitProof", "VerifyBallots", "Release"])
def test_the_largest_share_fits_a_message_of_grpc(name: str) -> None:
    """Servers take 4 MiB at once; a header, with a signed evaluation, is no larger than other messages."""
    most = request_bytes(f"/ostraka.v1.Guardian/{name}Whole")
    assert MAX_WHOLE_BYTES + request_bytes("/ostraka.v1.Guardian/AttestBallots") == most == 4 << 20
