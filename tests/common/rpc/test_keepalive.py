"""Connections that go silent, as behind a cut cable: nothing is refused, and nothing comes."""

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from common.rpc import keepalive, open_channel
from tests.common.federation import GUARDIAN, QUERIER, Federation
from tests.common.rpc.conftest import Serve

SHORT_S = 0.3


class Cable:
    """Carries bytes between a caller and a server until it is cut; then it swallows them."""

    def __init__(self, server: str) -> None:
        host, _, port = server.rpartition(":")
        self._server = (host, int(port))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._ends: list[socket.socket] = []
        self.cut = threading.Event()
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        for end in (self._listener, *self._ends):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                caller, _ = self._listener.accept()
                server = socket.create_connection(self._server)
                self._ends += [caller, server]
                for pair in ((caller, server), (server, caller)):
                    threading.Thread(target=self._carry, args=pair, daemon=True).start()

    def _carry(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                if not self.cut.is_set():
                    target.sendall(data)


@pytest.fixture
def cable(monkeypatch: pytest.MonkeyPatch, serve: Serve) -> Iterator[Cable]:
    monkeypatch.setattr(keepalive, "EVERY_S", SHORT_S)
    monkeypatch.setattr(keepalive, "ANSWER_S", SHORT_S)
    made = Cable(serve())
    yield made
    made.close()


def watching(federation: Federation, cable: Cable) -> Iterator[health_pb2.HealthCheckResponse]:
    """A call that is answered once and then waits for as long as its server's health stays as it is."""
    channel = open_channel(federation.issue(QUERIER), cable.address, GUARDIAN)
    watch = health_pb2_grpc.HealthStub(channel).Watch  # type: ignore[attr-defined, unused-ignore]
    return iter(watch(health_pb2.HealthCheckRequest(), timeout=30))


def test_a_call_over_a_connection_that_went_silent_ends_as_unavailable(
    federation: Federation, cable: Cable
) -> None:
    replies = watching(federation, cable)
    assert next(replies).status == health_pb2.HealthCheckResponse.SERVING
    cable.cut.set()
    with pytest.raises(grpc.RpcError) as caught:
        next(replies)
    assert caught.value.code() == grpc.StatusCode.UNAVAILABLE


def test_a_call_that_waits_for_long_is_left_alone(federation: Federation, cable: Cable) -> None:
    channel = open_channel(federation.issue(QUERIER), cable.address, GUARDIAN)
    watch = health_pb2_grpc.HealthStub(channel).Watch  # type: ignore[attr-defined, unused-ignore]
    replies = watch(health_pb2.HealthCheckRequest(), timeout=16 * SHORT_S)
    next(replies)
    with pytest.raises(grpc.RpcError) as caught:
        next(replies)
    assert caught.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED
