"""Servers that answer with what is no reply: by every method of Ostraka, on both kinds of channels."""

import ast
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import grpc
import pytest
from google.protobuf import message_factory
from google.protobuf.descriptor import MethodDescriptor
from grpc_health.v1 import health_pb2

import ostraka.common
from ostraka.client.peers.event_loop import run_async
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.rpc import call_error, checked
from ostraka.common.rpc.checked import CheckedChannel
from ostraka.common.rpc.received import Allowance, limit_replies, limit_requests
from ostraka.common.rpc.watcher import Target
from ostraka.common.wire.limits import reply_bytes
from ostraka.protos.ostraka.v1 import admin_pb2, common_pb2, guardian_pb2, party_pb2, site_pb2, training_pb2
from ostraka.protos.ostraka.v1.guardian_pb2_grpc import GuardianStub
from ostraka.protos.ostraka.v1.site_pb2_grpc import SiteStub
from tests.common.federation import PARTY
from tests.common.rpc.lying import Liar, lying
from tests.fair_clock import HANGS_S
from tests.unsecured import unsecured

ROOT = Path(ostraka.common.__path__[0]).parents[1]
SERVED: tuple[ModuleType, ...] = (admin_pb2, guardian_pb2, party_pb2, site_pb2, training_pb2, health_pb2)
METHODS = [
    method
    for file in SERVED
    for service in file.DESCRIPTOR.services_by_name.values()
    for method in service.methods
]
UNREADABLE = b"\xff\xff\xff"
GRPC_TAKES = 4 << 20
"""Bytes of a message at most, unless it is told otherwise."""
Call = Callable[[MethodDescriptor], list[Any]]


def name(method: MethodDescriptor) -> str:
    return f"/{method.containing_service.full_name}/{method.name}"


@pytest.fixture(scope="module")
def liar() -> Liar:
    return Liar()


@pytest.fixture(scope="module")
def target(liar: Liar) -> Iterator[Target]:
    with lying(liar) as address:
        yield Target(address, PARTY, None)


@pytest.fixture(params=["threads", "async"], scope="module")
def call(request: pytest.FixtureRequest, target: Target) -> Iterator[Call]:
    """Make a call as stubs do, and return all its replies."""
    if request.param == "threads":
        with CheckedChannel(grpc.insecure_channel(target.address), target) as channel:
            yield lambda method: replies_of(channel, method)
    else:
        opened = run_async(_opened(target))
        yield lambda method: run_async(async_replies_of(opened, method))
        run_async(opened.close())


async def _opened(target: Target) -> Any:
    return unsecured(target)


def begun(channel: Any, method: MethodDescriptor) -> Any:
    sides = (method.client_streaming, method.server_streaming)
    make = "_".join("stream" if streamed else "unary" for streamed in sides)
    parse = message_factory.GetMessageClass(method.output_type).FromString
    request = iter(()) if method.client_streaming else b""
    return getattr(channel, make)(name(method), None, parse)(request, timeout=HANGS_S)


def replies_of(channel: Any, method: MethodDescriptor) -> list[Any]:
    answered = begun(channel, method)
    return list(answered) if method.server_streaming else [answered]


async def async_replies_of(channel: Any, method: MethodDescriptor) -> list[Any]:
    answered = begun(channel, method)
    return [one async for one in answered] if method.server_streaming else [await answered]


def refusal(call: Call, method: MethodDescriptor) -> OstrakaError:
    with pytest.raises(OstrakaError) as refused:
        call(method)
    assert method.name in refused.value.message
    assert PARTY.site in refused.value.message
    return refused.value


def test_every_service_is_among_them() -> None:
    files = {path.stem for path in (ROOT / "ostraka/protos/ostraka/v1").glob("*.proto")}
    declared = {import_module(f"ostraka.protos.ostraka.v1.{file}_pb2") for file in files}
    assert {file for file in declared if file.DESCRIPTOR.services_by_name} <= set(SERVED)
    assert len(METHODS) > 40


def test_what_cannot_be_read_is_refused(liar: Liar, call: Call) -> None:
    liar.replies = (UNREADABLE,)
    for method in METHODS:
        assert refusal(call, method).code is ErrorCode.MESSAGE_INVALID


def test_what_is_larger_than_a_reply_of_its_type_is_refused(liar: Liar, call: Call) -> None:
    for method in METHODS:
        most = reply_bytes(name(method))
        assert most <= GRPC_TAKES
        liar.replies = (bytes(most + 1),)
        if most < GRPC_TAKES:
            assert refusal(call, method).code is ErrorCode.MESSAGE_TOO_LARGE
        else:
            with pytest.raises(grpc.RpcError) as refused:
                call(method)
            assert call_error(refused.value).code is ErrorCode.MESSAGE_TOO_LARGE


def test_where_one_message_is_due_none_is_refused(liar: Liar, call: Call) -> None:
    liar.replies = ()
    for method in METHODS:
        if method.server_streaming:
            assert call(method) == []
        else:
            assert refusal(call, method).code is ErrorCode.MESSAGE_INVALID


def test_where_one_message_is_due_a_second_ends_the_call_at_once(
    liar: Liar, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server ends no call, so that a caller that waited for its end would wait until its deadline."""
    monkeypatch.setattr(liar, "waits", True)
    liar.replies = (b"", b"")
    for method in METHODS:
        if not method.server_streaming:
            assert refusal(call, method).code is ErrorCode.MESSAGE_INVALID


def test_a_call_without_a_deadline_of_its_own_ends_all_the_same(
    liar: Liar, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checked, "CALL_S", 0.05)
    monkeypatch.setattr(liar, "replies", ())
    monkeypatch.setattr(liar, "waits", True)
    with CheckedChannel(grpc.insecure_channel(target.address), target) as channel:
        with pytest.raises(grpc.RpcError) as ended:
            SiteStub(channel).About(site_pb2.AboutRequest())
        assert ended.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED


def test_an_honest_reply_is_taken(liar: Liar, call: Call) -> None:
    liar.replies = (b"",)
    for method in METHODS:
        assert call(method) == [message_factory.GetMessageClass(method.output_type)()]


def test_numbers_that_mean_nothing_are_refused(liar: Liar, call: Call) -> None:
    about = next(method for method in METHODS if method.name == "About")
    liar.replies = (site_pb2.AboutReply(expires_unix_s=2**63 - 1).SerializeToString(),)
    with pytest.raises(OstrakaError, match="expires_unix_s") as refused:
        call(about)
    assert refused.value.code is ErrorCode.MESSAGE_INVALID


def test_no_request_is_parsed_whose_list_is_too_long() -> None:
    """Parsing 4 MiB of empty entries takes 144 MiB."""
    parsed: list[bytes] = []
    read = limit_requests("/ostraka.v1.Guardian/VerifyBallotsWhole", parsed.append)
    refused = read(b"\x12\x00" * (2 << 20))
    assert (refused.code, parsed) == (ErrorCode.MESSAGE_TOO_LARGE, [])
    assert read(b"\xff" * 100).code is ErrorCode.MESSAGE_INVALID
    read(b"\x12\x00")
    assert parsed == [b"\x12\x00"]


def test_a_stream_is_read_no_further_than_its_bytes() -> None:
    parts = iter([common_pb2.Chunk(data=bytes(98))] * 3)
    assert len(list(limit_replies([next(parts)], 100))) == 1
    with pytest.raises(OstrakaError) as refused:
        list(limit_replies(parts, 100))
    assert refused.value.code is ErrorCode.MESSAGE_TOO_LARGE
    assert list(parts) == []
    with pytest.raises(OstrakaError) as refused:
        Allowance(100).take(0)
    assert refused.value.code is ErrorCode.MESSAGE_INVALID


def test_a_stub_makes_of_all_its_calls_the_one_that_is_called(
    liar: Liar, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    liar.replies = (b"",)
    made: list[str] = []
    plain = grpc.insecure_channel(target.address)
    make = plain.unary_stream

    def note(method: str, *args: Any, **options: Any) -> Any:
        made.append(method)
        return make(method, *args, **options)

    monkeypatch.setattr(plain, "unary_stream", note)
    with CheckedChannel(plain, target) as channel:
        GuardianStub(channel).CloseSession(guardian_pb2.CloseSessionRequest())
    assert made == ["/ostraka.v1.Guardian/CloseSession"]


OWN_HEALTH = "ostraka/deploy/site/health.py"
"""Asks this site's own server, reads one byte string and compares it."""
OPENING = {"secure_channel", "insecure_channel", "intercept_channel"}
ANY_STREAM = {"unary_stream", "stream_stream"}
STREAMS = {
    "ostraka/client/peers/guardian_peer.py": {
        *("CompareTally", "GarbleTally", "Release", "ReleaseWhole", "ReleasedUpdate"),
    },
    "ostraka/client/peers/party_peer.py": {"Compare", "Evaluate", "Garble", "stream_stream"},
    "ostraka/client/sums/peer.py": {"stream_stream"},
    "ostraka/client/training/peer.py": {"stream_stream", "unary_stream"},
}
"""Where replies that somebody streams are read, all of them by `limit_replies`, `exchange`, `submit`,
`read_reply` or `Allowance`. An administrator's lists are as long as the ledger is."""


def attributes(names: set[str]) -> list[tuple[str, ast.Attribute]]:
    """Return the attributes of these names that are read anywhere in Ostraka, and in which file.

    Only files with one of the names are parsed: all of them take seconds.
    """
    named = re.compile(rf"\.({'|'.join(sorted(names))})\b")
    texts = {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
        for path in (ROOT / "ostraka").rglob("*.py")
        if "_pb2" not in path.name
    }
    return [
        (file, node)
        for file, text in texts.items()
        if named.search(text)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Attribute) and node.attr in names
    ]


def test_no_channel_is_opened_but_where_its_replies_are_checked() -> None:
    """Stubs need a channel, so that every call of every client goes through the one place."""
    opening = [file for file, _ in attributes(OPENING)]
    assert opening.count(OWN_HEALTH) == 1
    assert set(opening) == {OWN_HEALTH, "ostraka/common/rpc/channel.py"}


def test_every_stream_of_replies_is_bounded_where_it_is_read() -> None:
    streamed = {method.name for method in METHODS if method.server_streaming}
    streamed -= {method.name for method in admin_pb2.DESCRIPTOR.services_by_name["Admin"].methods}
    read: dict[str, set[str]] = {}
    for file, node in attributes({*streamed, *ANY_STREAM}):
        by_stub = node.attr in streamed and isinstance(node.value, ast.Name) and node.value.id == "stub"
        by_name = node.attr in ANY_STREAM and not file.startswith("ostraka/common/rpc/")
        if by_stub or by_name:
            read.setdefault(file, set()).add(node.attr)
    assert read == STREAMS
