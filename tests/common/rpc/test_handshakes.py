"""Connections that never say who they are: counted, told of, and ended."""

import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Any

import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from structlog.testing import capture_logs

from ostraka.common.config import split_address
from ostraka.common.rpc import handshakes, open_channel
from ostraka.common.rpc.handshakes import MANY, TELL_AGAIN_S, Handshakes, Unfinished, counting
from tests.common.federation import GUARDIAN, PARTY, Federation
from tests.common.rpc.conftest import Serve
from tests.fair_clock import HANGS_S
from tests.waiting import until


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as entered:
        yield entered


@pytest.mark.skipif(not handshakes.TABLES[0].exists(), reason="Linux alone tells of connections")
def test_silent_connections_are_counted_until_the_server_ends_them(serve: Serve, stack: ExitStack) -> None:
    host, port = split_address(serve())
    unfinished = stack.enter_context(counting(port))
    silent = [stack.enter_context(socket.create_connection((host, port))) for _ in range(3)]
    until(lambda: unfinished() == Unfinished(connections=3, address="127.0.0.1", of_address=3))
    for one in silent:
        one.settimeout(HANGS_S)
        assert one.recv(1) == b"", "the server says nothing, and closes"
    until(lambda: unfinished() == Unfinished(0))


@pytest.mark.skipif(not handshakes.TABLES[0].exists(), reason="Linux alone tells of connections")
def test_members_are_not_counted(
    federation: Federation, serve: Serve, stack: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handshakes, "_PAGE", 2)
    address = serve()
    credentials = federation.issue(PARTY)
    for _ in range(5):
        channel = stack.enter_context(open_channel(credentials, address, GUARDIAN))
        stub: Any = health_pb2_grpc.HealthStub(channel)
        stub.Check(health_pb2.HealthCheckRequest(), timeout=HANGS_S)
    unfinished = stack.enter_context(counting(split_address(address)[1]))
    assert unfinished() == Unfinished(0, address="127.0.0.1", of_address=5)


@pytest.mark.parametrize(
    ("hexadecimal", "written"),
    [
        ("0100007F", "127.0.0.1"),
        ("0000000000000000FFFF00000100007F", "127.0.0.1"),
        ("B80D01200000000000000000FEFF0100", "2001:db8::1:fffe"),
    ],
)
def test_addresses_are_written_as_people_write_them(hexadecimal: str, written: str) -> None:
    assert handshakes._text(hexadecimal) == written


@pytest.mark.parametrize(
    ("name", "end"),
    [
        ("chttp2 ipv4:127.0.0.1:43756", ("127.0.0.1", 43756)),
        ("chttp2 ipv6:%5B::1%5D:443", ("::1", 443)),
        ("chttp2 ipv6:%5B::ffff:10.0.0.7%5D:443", ("10.0.0.7", 443)),
        ("chttp2 unix:/run/socket", ("", 0)),
    ],
)
def test_far_ends_are_read_as_grpc_names_them(name: str, end: tuple[str, int]) -> None:
    assert handshakes._far_end(name) == end


@pytest.mark.skipif(not handshakes.TABLES[0].exists(), reason="Linux alone tells of connections")
def test_members_of_another_server_of_the_process_hide_nobody(
    federation: Federation, serve: Serve, stack: ExitStack
) -> None:
    channel = stack.enter_context(open_channel(federation.issue(PARTY), serve(), GUARDIAN))
    stub: Any = health_pb2_grpc.HealthStub(channel)
    stub.Check(health_pb2.HealthCheckRequest(), timeout=HANGS_S)
    host, port = split_address(serve())
    unfinished = stack.enter_context(counting(port))
    stack.enter_context(socket.create_connection((host, port)))
    until(lambda: unfinished() == Unfinished(connections=1, address="127.0.0.1", of_address=1))


def test_a_system_without_tables_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handshakes, "TABLES", (Path("/none"),))
    with counting(7000) as unfinished:
        assert unfinished() is None


@pytest.mark.skipif(not handshakes.TABLES[0].exists(), reason="Linux alone tells of connections")
def test_connections_are_counted_while_no_file_can_be_opened(serve: Serve, stack: ExitStack) -> None:
    unfinished = stack.enter_context(counting(split_address(serve())[1]))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        found = unfinished()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert found == Unfinished(0)


def test_many_are_told_of_once_a_minute() -> None:
    now, held, told = [0.0], [0], list[int]()
    watch = Handshakes(lambda: counting(7000), told.append, lambda: now[0])
    looks = [(0, MANY - 1), (5, MANY), (10, MANY + 1), (5 + TELL_AGAIN_S, 4 * MANY)]
    with capture_logs() as logs:
        for now[0], held[0] in looks:
            watch.look(Unfinished(held[0], "203.0.113.7", held[0]))
    assert told == [count for _, count in looks]
    assert [line["unfinished"] for line in logs] == [MANY, 4 * MANY]
    assert logs[0] == {
        "event": "rpc.handshakes",
        "log_level": "warning",
        "unfinished": MANY,
        "address": "203.0.113.7",
        "of_address": MANY,
        "ended_after_s": handshakes.DEADLINE_S,
    }


def test_it_looks_for_as_long_as_it_is_told_to() -> None:
    counts, told = iter((Unfinished(7), None, *[Unfinished(8)] * 9_999)), list[int]()
    with Handshakes(lambda: nullcontext(lambda: next(counts)), told.append).watching(every_s=0.001):
        until(lambda: len(told) > 2)
    assert told[:3] == [7, 8, 8]


def test_a_server_that_ended_after_it_was_listed_has_no_connections() -> None:
    never = 2**40
    assert list(handshakes.far_ends(never)) == []
