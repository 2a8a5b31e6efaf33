"""Certificates and addresses that do not fit: each is its own error on the calling side."""

import socket
from dataclasses import replace
from pathlib import Path

import grpc
import pytest

from ostraka.common.clock import ManualClock, SystemClock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Credentials, Identity, Role
from ostraka.common.rpc import call_error, make_server, open_channel
from ostraka.protos.ostraka.v1.guardian_pb2 import CloseSessionRequest
from ostraka.protos.ostraka.v1.guardian_pb2_grpc import GuardianStub
from tests.common.federation import GUARDIAN, NAME, PARTY, QUERIER, Federation
from tests.common.rpc.conftest import Serve
from tests.common.rpc.test_calls import close_session
from tests.fair_clock import HANGS_S

DAY_S = 86_400.0


def refused(credentials: Credentials | None, address: str) -> ErrorCode:
    with pytest.raises(OstrakaError) as refusal:
        close_session(credentials, address)
    return refusal.value.code


@pytest.fixture
def long_ago() -> ManualClock:
    return ManualClock(SystemClock().now() - 10 * DAY_S)


def test_own_expired_certificate(federation: Federation, serve: Serve, long_ago: ManualClock) -> None:
    assert refused(federation.issue(QUERIER, long_ago), serve()) is ErrorCode.IDENTITY_EXPIRED


def test_own_certificate_that_expired_after_the_channel_was_opened(
    federation: Federation, serve: Serve, long_ago: ManualClock
) -> None:
    credentials = federation.issue(QUERIER, long_ago)
    with open_channel(credentials, serve(), GUARDIAN, clock=long_ago) as channel:
        with pytest.raises(grpc.RpcError) as failure:
            GuardianStub(channel).CloseSession(CloseSessionRequest(), timeout=HANGS_S)
        assert call_error(failure.value).code is ErrorCode.IDENTITY_EXPIRED


def test_own_certificate_of_another_ca(federation: Federation, serve: Serve, tmp_path: Path) -> None:
    stranger = Federation(tmp_path / "stranger").issue(QUERIER)
    address = serve()
    assert refused(stranger, address) is ErrorCode.IDENTITY_FOREIGN
    mixed = replace(stranger, ca_pem=federation.issue(QUERIER).ca_pem)
    assert refused(mixed, address) is ErrorCode.IDENTITY_FOREIGN


def test_own_certificate_that_the_server_finds_foreign(
    federation: Federation, serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stranger = Federation(tmp_path / "stranger").issue(QUERIER)
    address = serve()
    monkeypatch.setattr(Credentials, "check_valid", lambda self, clock: None)
    mixed = replace(stranger, ca_pem=federation.issue(QUERIER).ca_pem)
    assert refused(mixed, address) is ErrorCode.IDENTITY_FOREIGN


def test_server_with_an_expired_certificate(
    federation: Federation, serve: Serve, long_ago: ManualClock
) -> None:
    expired = federation.issue(GUARDIAN, long_ago)
    with pytest.raises(OstrakaError) as refusal:
        serve(expired)
    assert refusal.value.code is ErrorCode.IDENTITY_EXPIRED
    address = serve(expired, clock=long_ago)
    assert refused(federation.issue(QUERIER), address) is ErrorCode.IDENTITY_EXPIRED


def test_server_of_another_ca(federation: Federation, serve: Serve, tmp_path: Path) -> None:
    address = serve(Federation(tmp_path / "stranger").issue(GUARDIAN))
    assert refused(federation.issue(QUERIER), address) is ErrorCode.IDENTITY_FOREIGN


@pytest.mark.parametrize("identity", [PARTY, Identity(NAME, "elsewhere", Role.GUARDIAN)])
def test_another_server_of_the_federation(federation: Federation, serve: Serve, identity: Identity) -> None:
    address = serve(federation.issue(identity))
    assert refused(federation.issue(QUERIER), address) is ErrorCode.IDENTITY_WRONG_SERVER


def test_own_certificate_that_begins_later(federation: Federation, serve: Serve) -> None:
    later = ManualClock(SystemClock().now() + 10 * DAY_S)
    assert refused(federation.issue(QUERIER, later), serve()) is ErrorCode.IDENTITY_NOT_YET_VALID


def test_nobody_listens(federation: Federation) -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{holder.getsockname()[1]}"
    assert refused(federation.issue(QUERIER), address) is ErrorCode.SERVER_UNREACHABLE


def test_something_else_listens(federation: Federation, serve: Serve) -> None:
    address = serve(insecure=True)
    assert refused(federation.issue(QUERIER), address) is ErrorCode.SERVER_UNREACHABLE


def test_a_tls_caller_without_certificate_is_refused_before_it_calls(serve: Serve) -> None:
    assert refused(None, serve()) is ErrorCode.SERVER_INSECURE_REFUSED


def test_port_in_use(federation: Federation, serve: Serve) -> None:
    address = serve()
    with pytest.raises(OstrakaError, match=address) as refusal:
        serve(listen=address)
    assert refusal.value.code is ErrorCode.SERVER_PORT_IN_USE


def test_an_address_that_is_not_this_machine(federation: Federation, serve: Serve) -> None:
    with pytest.raises(OstrakaError, match="Cannot listen at") as refusal:
        serve(listen="192.0.2.1:0")
    assert refusal.value.code is ErrorCode.CONFIG_INVALID


def test_insecure_is_refused_off_loopback(federation: Federation) -> None:
    with pytest.raises(OstrakaError) as refusal:
        make_server(None, "0.0.0.0:0", [], {}, SystemClock(), insecure=True)
    assert refusal.value.code is ErrorCode.SERVER_INSECURE_REFUSED
    with pytest.raises(OstrakaError) as refusal:
        make_server(None, "127.0.0.1:0", [], {}, SystemClock())
    assert refusal.value.code is ErrorCode.SERVER_INSECURE_REFUSED
    with pytest.raises(OstrakaError) as refusal:
        open_channel(None, "192.0.2.1:7000", GUARDIAN, insecure=True)
    assert refusal.value.code is ErrorCode.SERVER_INSECURE_REFUSED
