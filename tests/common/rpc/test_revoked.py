"""Callers whose certificate is revoked: refused, and cut off where their call began before."""

import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from importlib.metadata import version

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from structlog.testing import capture_logs

from ostraka.common.clock import ManualClock, SystemClock
from ostraka.common.errors import ErrorCode
from ostraka.common.identity import Credentials
from ostraka.common.identity.revocation import CRL_DAYS
from ostraka.common.rpc import call_error, make_server, open_channel
from ostraka.common.rpc.expiry import DAY_S, Reminder
from ostraka.common.wire.contexts import PROTOCOL_VERSION
from ostraka.protos.ostraka.v1 import guardian_pb2 as pb
from ostraka.protos.ostraka.v1 import guardian_pb2_grpc, site_pb2, site_pb2_grpc
from tests.common.federation import GUARDIAN, PARTY, QUERIER, Federation
from tests.common.rpc.conftest import ROLES, Guardian
from tests.fair_clock import HANGS_S

SOON_S = 0.02


@pytest.fixture
def guardian(federation: Federation) -> Credentials:
    return federation.issue(GUARDIAN)


@pytest.fixture
def address(guardian: Credentials) -> Iterator[str]:
    def add(server: grpc.Server) -> None:
        guardian_pb2_grpc.add_GuardianServicer_to_server(Guardian(), server)  # type: ignore[abstract]

    bound = make_server(guardian, "127.0.0.1:0", [add], ROLES, SystemClock(), cut_every_s=SOON_S)
    bound.server.start()
    yield bound.address
    bound.server.stop(None).wait()


@pytest.fixture
def connect(address: str) -> Iterator[Callable[[Credentials], grpc.Channel]]:
    opened: list[grpc.Channel] = []

    def open_one(credentials: Credentials) -> grpc.Channel:
        opened.append(open_channel(credentials, address, GUARDIAN))
        return opened[-1]

    yield open_one
    for channel in opened:
        channel.close()


Connect = Callable[[Credentials], grpc.Channel]


class Endless:
    """Requests that come one by one until they are ended."""

    def __init__(self) -> None:
        self._more = threading.Semaphore(0)
        self._ended = False

    def __iter__(self) -> Iterator[pb.ReleaseRequest]:
        while True:
            self._more.acquire()
            if self._ended:
                return
            yield pb.ReleaseRequest()

    def send(self) -> None:
        self._more.release()

    def end(self) -> None:
        self._ended = True
        self._more.release()


def test_a_revoked_caller_is_refused_and_others_are_not(
    guardian: Credentials, federation: Federation, connect: Connect
) -> None:
    revoked, other = federation.issue(QUERIER), federation.issue(QUERIER)
    stubs = [guardian_pb2_grpc.GuardianStub(connect(one)) for one in (revoked, other)]
    stubs[0].CloseSession(pb.CloseSessionRequest())
    guardian.revocations.accept(federation.revoke(revoked))
    with pytest.raises(grpc.RpcError) as failed:
        stubs[0].CloseSession(pb.CloseSessionRequest())
    error = call_error(failed.value)
    assert error.code is ErrorCode.IDENTITY_REVOKED
    assert QUERIER.uri in error.message
    stubs[1].CloseSession(pb.CloseSessionRequest())


def test_a_revoked_caller_does_not_even_learn_of_health(
    guardian: Credentials, federation: Federation, connect: Connect
) -> None:
    party = federation.issue(PARTY)
    guardian.revocations.accept(federation.revoke(party))
    stub = health_pb2_grpc.HealthStub(connect(party))
    with pytest.raises(grpc.RpcError) as failed:
        stub.Check(health_pb2.HealthCheckRequest())  # type: ignore[attr-defined, unused-ignore]
    assert call_error(failed.value).code is ErrorCode.IDENTITY_REVOKED


def test_a_stream_under_way_is_cut_and_that_of_another_goes_on(
    guardian: Credentials, federation: Federation, connect: Connect
) -> None:
    revoked, other = federation.issue(QUERIER), federation.issue(QUERIER)
    requests, calls = [Endless(), Endless()], []
    for sent, credentials in zip(requests, (revoked, other), strict=True):
        stub = guardian_pb2_grpc.GuardianStub(connect(credentials))
        calls.append(stub.Release(iter(sent), timeout=HANGS_S))
        sent.send()
        assert next(calls[-1]).answers
    guardian.revocations.accept(federation.revoke(revoked))
    with pytest.raises(grpc.RpcError) as cut:
        next(calls[0])
    assert cut.value.code() is grpc.StatusCode.CANCELLED
    assert call_error(cut.value).code is ErrorCode.SERVER_UNREACHABLE
    requests[1].send()
    assert next(calls[1]).answers
    for sent in requests:
        sent.end()


def test_a_server_says_what_it_is_to_every_role(
    guardian: Credentials, federation: Federation, connect: Connect
) -> None:
    guardian.revocations.accept(federation.revoke())
    stub = site_pb2_grpc.SiteStub(connect(federation.issue(PARTY)))
    before = SystemClock().now()
    about = stub.About(site_pb2.AboutRequest())
    after = SystemClock().now()
    assert (about.version, about.protocol) == (version("ostraka"), PROTOCOL_VERSION)
    assert about.revocations == 1
    assert about.expires_unix_s == int(guardian.expires_unix_s)
    assert int(1000 * before) <= about.time_unix_ms <= 1000 * after


def test_a_server_without_certificates_says_what_it_is(serve: Callable[..., str]) -> None:
    address = serve(insecure=True)
    with closing(open_channel(None, address, GUARDIAN, insecure=True)) as channel:
        claim = (("ostraka-identity", PARTY.uri),)
        about = site_pb2_grpc.SiteStub(channel).About(site_pb2.AboutRequest(), metadata=claim)
    assert about.version == version("ostraka")
    assert about.expires_unix_s == 0


def test_a_reminder_warns_once_a_day_of_the_last_month(federation: Federation) -> None:
    clock = ManualClock(SystemClock().now())
    credentials = federation.issue(GUARDIAN, days=31.5)
    with capture_logs() as logs:
        reminder = Reminder(credentials, clock)
        assert not logs
        for _ in range(3):
            clock.advance(DAY_S)
            reminder.remind()
            reminder.remind()
    assert [(entry["event"], entry["days_left"]) for entry in logs] == [
        ("identity.expires_soon", days) for days in (29, 28)
    ]


def test_a_list_that_is_overdue_stays_in_force_with_a_warning(federation: Federation) -> None:
    party, guardian = federation.issue(PARTY), federation.issue(GUARDIAN, days=2 * CRL_DAYS)
    guardian.revocations.accept(federation.revoke(party))
    with capture_logs() as logs:
        Reminder(guardian, ManualClock(SystemClock().now() + (CRL_DAYS + 1) * DAY_S))
    assert [entry["event"] for entry in logs] == ["revocations.overdue"]
    assert guardian.revocations.revokes(party.tls_cert)


def test_a_connection_outlives_no_certificate(guardian: Credentials, federation: Federation) -> None:
    def add(server: grpc.Server) -> None:
        guardian_pb2_grpc.add_GuardianServicer_to_server(Guardian(), server)  # type: ignore[abstract]

    clock, caller = ManualClock(SystemClock().now()), federation.issue(QUERIER, days=1)
    bound = make_server(guardian, "127.0.0.1:0", [add], ROLES, clock)
    bound.server.start()
    with closing(open_channel(caller, bound.address, GUARDIAN)) as channel:
        stub = guardian_pb2_grpc.GuardianStub(channel)
        stub.CloseSession(pb.CloseSessionRequest())
        clock.advance(DAY_S + 60)
        with pytest.raises(grpc.RpcError) as failed:
            stub.CloseSession(pb.CloseSessionRequest())
    bound.server.stop(None).wait()
    assert call_error(failed.value).code is ErrorCode.IDENTITY_EXPIRED
