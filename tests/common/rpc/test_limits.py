"""Calls that never end, of one site: they leave threads to all others, and are ended in time."""

import queue
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from structlog.testing import capture_logs

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Credentials, Identity, Role
from ostraka.common.rpc import call_error, keepalive, open_channel, with_retries
from ostraka.common.rpc.limits import CallLimits, Places
from ostraka.protos.ostraka.v1 import guardian_pb2 as pb
from ostraka.protos.ostraka.v1 import guardian_pb2_grpc, site_pb2, site_pb2_grpc
from tests.common.federation import GUARDIAN, NAME, PARTY, QUERIER, Federation
from tests.common.rpc.conftest import LIMITS, SERVICE, Serve
from tests.fair_clock import HANGS_S
from tests.links import Link, links

SOON = CallLimits(first_s=0.05, next_s=0.05, every_s=0.01)
FEW = CallLimits(of_one_site=4)
RELEASE, SUBMIT, CLOSE = f"{SERVICE}Release", f"{SERVICE}SubmitBallots", f"{SERVICE}CloseSession"
CHECK = "/grpc.health.v1.Health/Check"
REFLECTION = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
SAME_SITE = Identity(NAME, QUERIER.site, Role.PARTY)


class Idle:
    """Callers that begin calls and send nothing more, or `sent` and then nothing."""

    def __init__(self, stack: ExitStack) -> None:
        self._ended = threading.Event()
        self._stack = stack
        self.refused: queue.Queue[Any] = queue.Queue()
        stack.callback(self._ended.set)

    def open(self, channel: grpc.Channel, method: str, calls: int, *sent: bytes) -> None:
        begin: Any = channel.stream_stream(method, request_serializer=bytes, response_deserializer=bytes)
        for _ in range(calls):
            call: Any = begin(self._requests(sent), timeout=HANGS_S).call
            call.add_done_callback(self.refused.put)
            self._stack.callback(call.cancel)

    def next_refused(self) -> Any:
        return self.refused.get(timeout=HANGS_S)

    def _requests(self, sent: tuple[bytes, ...]) -> Iterator[bytes]:
        yield from sent
        self._ended.wait()


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as entered:
        yield entered


@pytest.fixture
def idle(stack: ExitStack) -> Idle:
    return Idle(stack)


Connect = Callable[..., grpc.Channel]


@pytest.fixture
def connect(stack: ExitStack) -> Connect:
    def opened(own: Credentials, address: str, **options: Any) -> grpc.Channel:
        return stack.enter_context(closing(open_channel(own, address, GUARDIAN, **options)))

    return opened


def close_session(channel: grpc.Channel) -> None:
    guardian_pb2_grpc.GuardianStub(channel).CloseSession(pb.CloseSessionRequest(), timeout=HANGS_S)


def check(channel: grpc.Channel) -> None:
    stub: Any = health_pb2_grpc.HealthStub(channel)
    stub.Check(health_pb2.HealthCheckRequest(), timeout=HANGS_S)
    site_pb2_grpc.SiteStub(channel).About(site_pb2.AboutRequest(), timeout=HANGS_S)


@pytest.mark.parametrize("insecure", [False, True])
def test_a_site_that_holds_all_it_may_leaves_others_and_health_their_threads(
    federation: Federation, serve: Serve, idle: Idle, connect: Connect, insecure: bool
) -> None:
    address, beyond = serve(insecure=insecure), 3
    q, same = (connect(federation.issue(who), address, insecure=insecure) for who in (QUERIER, SAME_SITE))
    idle.open(q, RELEASE, LIMITS.of_one_site // 2)
    idle.open(q, CLOSE, 1)
    idle.open(q, REFLECTION, 1)
    idle.open(same, SUBMIT, LIMITS.of_one_site // 2 - 2 + beyond)
    for _ in range(beyond):
        error = call_error(idle.next_refused())
        assert error.code is ErrorCode.SERVER_BUSY
        assert "32 calls" in error.message
    other = connect(federation.issue(Identity(NAME, "r", Role.QUERY)), address, insecure=insecure)
    close_session(other)
    check(other)
    check(q)
    assert idle.refused.empty()


def test_a_site_that_holds_health_checks_leaves_those_of_others_their_threads(
    federation: Federation, serve: Serve, idle: Idle, connect: Connect
) -> None:
    address = serve()
    idle.open(connect(federation.issue(QUERIER), address), CHECK, LIMITS.of_one_site + 1)
    assert call_error(idle.next_refused()).code is ErrorCode.SERVER_BUSY
    check(connect(federation.issue(PARTY), address))


@pytest.mark.parametrize(
    ("method", "sent"),
    [(RELEASE, ()), (CLOSE, ()), (CHECK, ()), (REFLECTION, ()), (SUBMIT, ()), (SUBMIT, (b"",))],
)
def test_a_call_whose_next_message_does_not_come_is_ended(
    federation: Federation, serve: Serve, idle: Idle, connect: Connect, method: str, sent: tuple[bytes, ...]
) -> None:
    address = serve(limits=SOON)
    whose = SAME_SITE if method == SUBMIT else QUERIER
    with capture_logs() as logs:
        idle.open(connect(federation.issue(whose), address), method, 1, *sent)
        assert idle.next_refused().code() is grpc.StatusCode.CANCELLED
    assert [(entry["event"], entry["site"]) for entry in logs] == [("rpc.idle", QUERIER.site)]
    close_session(connect(federation.issue(QUERIER), address))


def test_calls_behind_a_cut_cable_are_given_up(
    federation: Federation, serve: Serve, idle: Idle, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keepalive, "EVERY_S", 0.2)
    monkeypatch.setattr(keepalive, "ANSWER_S", 0.2)
    address, own = serve(limits=FEW), federation.issue(QUERIER)
    with links(link := Link(server=address)):
        idle.open(connect(own, link.address), RELEASE, FEW.of_one_site + 1)
        assert call_error(idle.next_refused()).code is ErrorCode.SERVER_BUSY
        link.cut.set()
        again = connect(own, address)
        rng = random.Random(0)  # noqa: S311
        with_retries(
            lambda: close_session(again), attempts=20, base_s=0.1, sleep=threading.Event().wait, rng=rng
        )


def test_places_are_given_back_and_a_full_site_is_told_of_once_a_minute() -> None:
    now = [0.0]
    places = Places(CallLimits(of_one_site=1), timer=lambda: now[0])
    with capture_logs() as logs, places.place("a"), places.place("b"):
        for now[0] in (0.0, 59.0, 61.0):
            with pytest.raises(OstrakaError) as refused, places.place("a"):
                pass
            assert refused.value.code is ErrorCode.SERVER_BUSY
    assert [(entry["event"], entry["site"]) for entry in logs] == [("rpc.busy", "a")] * 2
    with places.place("a"):
        pass


def test_health_lists_every_service(federation: Federation, serve: Serve, connect: Connect) -> None:
    stub: Any = health_pb2_grpc.HealthStub(connect(federation.issue(PARTY), serve()))
    request: Any = health_pb2
    listed = stub.List(request.HealthListRequest(), timeout=HANGS_S)
    assert set(listed.statuses) == {"", "ostraka.v1.Guardian", "ostraka.v1.Site"}
    assert {one.status for one in listed.statuses.values()} == {health_pb2.HealthCheckResponse.SERVING}
