"""Channels over links that are far, or that break off the first connections."""

import random
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from ostraka.common.errors import ErrorCode
from ostraka.common.rpc import call_error, open_channel, with_retries
from tests.common.federation import GUARDIAN, QUERIER, Federation
from tests.common.rpc.conftest import Serve
from tests.fair_clock import HANGS_S
from tests.links import Link, links

FAR_S = 0.3
MANY = 100


def check(channel: grpc.Channel) -> None:
    stub = health_pb2_grpc.HealthStub(channel)
    request = health_pb2.HealthCheckRequest()
    stub.Check(request, timeout=HANGS_S)  # type: ignore[attr-defined, unused-ignore]


def test_a_far_server_is_reached(federation: Federation, serve: Serve) -> None:
    with (
        links(link := Link(FAR_S, server=serve())),
        closing(open_channel(federation.issue(QUERIER), link.address, GUARDIAN)) as channel,
    ):
        check(channel)


def test_a_server_whose_first_connections_break_off_is_reached_soon(
    federation: Federation, serve: Serve
) -> None:
    waits: list[float] = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        threading.Event().wait(seconds)

    with (
        links(link := Link(lost=2, server=serve())),
        closing(open_channel(federation.issue(QUERIER), link.address, GUARDIAN)) as channel,
    ):
        rng = random.Random(0)  # noqa: S311
        with_retries(lambda: check(channel), attempts=6, base_s=0.25, sleep=wait, rng=rng)
    assert sum(waits) < 2


@pytest.mark.heavy
def test_many_connect_at_once(federation: Federation, serve: Serve) -> None:
    address, own = serve(), federation.issue(QUERIER)

    def connect(_: int) -> None:
        with closing(open_channel(own, address, GUARDIAN)) as channel:
            check(channel)

    with ThreadPoolExecutor(MANY) as pool:
        assert len(list(pool.map(connect, range(MANY)))) == MANY


def test_why_a_far_server_refuses_is_found(federation: Federation, serve: Serve) -> None:
    stranger = Federation(federation.root / "stranger")
    with (
        links(link := Link(FAR_S, server=serve())),
        closing(open_channel(stranger.issue(QUERIER), link.address, GUARDIAN)) as channel,
    ):
        with pytest.raises(grpc.RpcError) as refused:
            check(channel)
        assert call_error(refused.value).code is ErrorCode.IDENTITY_FOREIGN
