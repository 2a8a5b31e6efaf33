"""Connections that go silent, as behind a cut cable: nothing is refused, and nothing comes."""

from collections.abc import Iterator

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from ostraka.common.rpc import keepalive, open_channel
from tests.common.federation import GUARDIAN, QUERIER, Federation
from tests.common.rpc.conftest import Serve
from tests.fair_clock import HANGS_S
from tests.links import Link, links

SHORT_S = 0.3


@pytest.fixture
def cable(monkeypatch: pytest.MonkeyPatch, serve: Serve) -> Iterator[Link]:
    monkeypatch.setattr(keepalive, "EVERY_S", SHORT_S)
    monkeypatch.setattr(keepalive, "ANSWER_S", SHORT_S)
    with links(made := Link(server=serve())):
        yield made


def watching(federation: Federation, cable: Link) -> Iterator[health_pb2.HealthCheckResponse]:
    """Start a call that is answered once and then waits while its server's health stays as it is."""
    channel = open_channel(federation.issue(QUERIER), cable.address, GUARDIAN)
    watch = health_pb2_grpc.HealthStub(channel).Watch  # type: ignore[attr-defined, unused-ignore]
    return iter(watch(health_pb2.HealthCheckRequest(), timeout=HANGS_S))


def test_a_call_over_a_connection_that_went_silent_ends_as_unavailable(
    federation: Federation, cable: Link
) -> None:
    replies = watching(federation, cable)
    assert next(replies).status == health_pb2.HealthCheckResponse.SERVING
    cable.cut.set()
    with pytest.raises(grpc.RpcError) as caught:
        next(replies)
    assert caught.value.code() == grpc.StatusCode.UNAVAILABLE


def test_a_call_that_waits_for_long_is_left_alone(federation: Federation, cable: Link) -> None:
    channel = open_channel(federation.issue(QUERIER), cable.address, GUARDIAN)
    watch = health_pb2_grpc.HealthStub(channel).Watch  # type: ignore[attr-defined, unused-ignore]
    replies = watch(health_pb2.HealthCheckRequest(), timeout=16 * SHORT_S)
    next(replies)
    with pytest.raises(grpc.RpcError) as caught:
        next(replies)
    assert caught.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED
