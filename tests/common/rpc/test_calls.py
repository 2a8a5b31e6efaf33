"""Calls over mTLS: who may, and how errors arrive."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest
import structlog
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from structlog.testing import capture_logs

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Credentials, Identity, Role
from ostraka.common.rpc import call_error, open_channel, server
from ostraka.protos.ostraka.v1 import common_pb2, guardian_pb2, guardian_pb2_grpc
from tests.common.federation import GUARDIAN, PARTY, QUERIER, Federation
from tests.common.rpc.conftest import SERVICE, Guardian, Serve
from tests.common.rpc.failure import Failure
from tests.fair_clock import HANGS_S


@pytest.fixture
def address(serve: Serve) -> str:
    return serve()


@pytest.fixture
def channel(federation: Federation, address: str) -> Iterator[grpc.Channel]:
    with open_channel(federation.issue(QUERIER), address, GUARDIAN) as opened:
        yield opened


def close_session(credentials: Credentials | None, address: str, *, insecure: bool = False) -> str:
    """Who the server says is calling."""
    return told(credentials, address, insecure=insecure)["caller"]


def told(credentials: Credentials | None, address: str, *, insecure: bool = False) -> dict[str, str]:
    """Who the server says is calling, and whether it goes on with a TLS session."""
    with open_channel(credentials, address, GUARDIAN, insecure=insecure) as channel:
        close = channel.unary_stream(f"{SERVICE}CloseSession", response_deserializer=bytes)
        replies = close(guardian_pb2.CloseSessionRequest().SerializeToString(), timeout=HANGS_S)
        try:
            replies.only()
        except grpc.RpcError as exc:
            raise call_error(exc) from exc
        return {key: str(value) for key, value in replies.call.trailing_metadata()}


def test_the_server_knows_who_calls(federation: Federation, address: str) -> None:
    assert close_session(federation.issue(QUERIER), address) == QUERIER.uri


def test_a_certificate_goes_on_with_its_own_tls_session_alone(federation: Federation, address: str) -> None:
    other = Identity(QUERIER.federation, "other", Role.QUERY)
    callers = {identity: federation.issue(identity) for identity in (QUERIER, other)}
    for resumed in ("False", "True"):
        for identity, own in callers.items():
            assert told(own, address) == {"caller": identity.uri, "resumed": resumed}


def test_another_role_is_refused(federation: Federation, address: str) -> None:
    with pytest.raises(OstrakaError, match="may not call CloseSession, which is for query") as refusal:
        close_session(federation.issue(PARTY), address)
    assert refusal.value.code is ErrorCode.IDENTITY_WRONG_ROLE


def test_another_federation_of_the_same_ca_is_refused(federation: Federation, address: str) -> None:
    stranger = federation.issue(Identity("other", "q", Role.QUERY))
    with pytest.raises(OstrakaError) as refusal:
        close_session(stranger, address)
    assert refusal.value.code is ErrorCode.IDENTITY_FOREIGN


def test_a_method_without_roles_is_for_nobody(channel: grpc.Channel) -> None:
    stub = guardian_pb2_grpc.GuardianStub(channel)
    with pytest.raises(grpc.RpcError) as failure:
        stub.OpenSession(guardian_pb2.OpenSessionRequest(), timeout=HANGS_S)
    assert call_error(failure.value).code is ErrorCode.IDENTITY_WRONG_ROLE


def test_a_call_that_an_older_server_does_not_know_says_to_run_one_version(channel: grpc.Channel) -> None:
    unknown: Any = channel.unary_unary("/ostraka.v1.Guardian/OfTheNextVersion")
    with pytest.raises(grpc.RpcError) as failure:
        unknown(b"", timeout=HANGS_S)
    error = call_error(failure.value)
    assert error.code is ErrorCode.MESSAGE_INVALID
    assert "guardian guardian at" in error.message
    assert "does not know this call" in error.message


def test_an_error_keeps_code_sentence_and_details(channel: grpc.Channel) -> None:
    stub = guardian_pb2_grpc.GuardianStub(channel)
    with pytest.raises(grpc.RpcError) as failure:
        stub.Prepare(guardian_pb2.PrepareRequest(), timeout=HANGS_S)
    error = call_error(failure.value)
    assert isinstance(failure.value, grpc.Call)
    assert failure.value.code() is grpc.StatusCode.FAILED_PRECONDITION
    assert (error.code, error.message) == (ErrorCode.QUORUM_LOST, "Two of three are there; wait.")
    assert error.details == {"present": "2"}


def test_an_error_that_quotes_a_long_name_keeps_its_code_and_advice(channel: grpc.Channel) -> None:
    stub = guardian_pb2_grpc.GuardianStub(channel)
    with pytest.raises(grpc.RpcError) as failure:
        stub.Prepare(guardian_pb2.PrepareRequest(session_id="\x1b" * 900), timeout=HANGS_S)
    error = call_error(failure.value)
    assert error.code is ErrorCode.SESSION_UNKNOWN
    assert error.message.endswith("; open one.")


def test_an_unexpected_error_says_nothing_of_its_contents(channel: grpc.Channel) -> None:
    stub = guardian_pb2_grpc.GuardianStub(channel)
    with structlog.testing.capture_logs() as logs, pytest.raises(grpc.RpcError) as failure:
        stub.SettleBatch(guardian_pb2.SettleBatchRequest(), timeout=HANGS_S)
    assert call_error(failure.value).code is ErrorCode.INTERNAL
    assert [entry["error"] for entry in logs] == ["RuntimeError"]
    assert "secret-vote" not in f"{failure.value}{logs}"


def test_an_invalid_message_is_named_without_its_contents(channel: grpc.Channel) -> None:
    stub = guardian_pb2_grpc.GuardianStub(channel)
    with pytest.raises(grpc.RpcError) as failure:
        stub.SettleBatch(guardian_pb2.SettleBatchRequest(session_id="invalid"), timeout=HANGS_S)
    error = call_error(failure.value)
    assert error.code is ErrorCode.MESSAGE_INVALID
    assert "count" in error.message
    assert "secret-vote" not in error.message


def test_errors_after_a_stream_arrive(federation: Federation, address: str) -> None:
    request = guardian_pb2.SubmitBallotsRequest(chunk=common_pb2.Chunk(data=b"12"))
    with open_channel(federation.issue(PARTY), address, GUARDIAN) as channel:
        stub = guardian_pb2_grpc.GuardianStub(channel)
        stub.SubmitBallots(iter([request]), timeout=HANGS_S)
        with pytest.raises(grpc.RpcError) as failure:
            stub.SubmitBallots(iter([request, request]), timeout=HANGS_S)
    assert call_error(failure.value).code is ErrorCode.BATCH_TOO_LARGE


def test_errors_within_a_stream_arrive(channel: grpc.Channel) -> None:
    replies = guardian_pb2_grpc.GuardianStub(channel).Release(
        iter([guardian_pb2.ReleaseRequest()]), timeout=HANGS_S
    )
    assert next(replies).answers
    with pytest.raises(grpc.RpcError) as failure:
        next(replies)
    assert call_error(failure.value).code is ErrorCode.SESSION_ENDED


def test_health_is_told_to_every_role(federation: Federation, address: str) -> None:
    for identity in (PARTY, QUERIER):
        with open_channel(federation.issue(identity), address, GUARDIAN) as channel:
            stub: Any = health_pb2_grpc.HealthStub(channel)
            for service in ("", "ostraka.v1.Guardian"):
                reply = stub.Check(health_pb2.HealthCheckRequest(service=service), timeout=HANGS_S)
                assert reply.status == health_pb2.HealthCheckResponse.SERVING


def test_reflection_lists_the_services(channel: grpc.Channel) -> None:
    stub: Any = reflection_pb2_grpc.ServerReflectionStub(channel)
    request = reflection_pb2.ServerReflectionRequest(list_services="")
    (reply,) = stub.ServerReflectionInfo(iter([request]), timeout=HANGS_S)
    names = {service.name for service in reply.list_services_response.service}
    assert {"ostraka.v1.Guardian", "grpc.health.v1.Health"} <= names


def test_without_tls_a_caller_is_who_it_claims_to_be(federation: Federation, serve: Serve) -> None:
    address = serve(insecure=True)
    assert close_session(federation.issue(QUERIER), address, insecure=True) == QUERIER.uri
    with pytest.raises(OstrakaError) as refusal:
        close_session(federation.issue(PARTY), address, insecure=True)
    assert refusal.value.code is ErrorCode.IDENTITY_WRONG_ROLE
    with pytest.raises(OstrakaError) as refusal:
        close_session(None, address, insecure=True)
    assert refusal.value.code is ErrorCode.IDENTITY_INVALID


def test_over_tls_a_claim_is_worth_nothing(federation: Federation, address: str) -> None:
    with open_channel(federation.issue(PARTY), address, GUARDIAN) as channel:
        stub = guardian_pb2_grpc.GuardianStub(channel)
        claim = (("ostraka-identity", QUERIER.uri),)
        with pytest.raises(grpc.RpcError) as failure:
            stub.CloseSession(guardian_pb2.CloseSessionRequest(), timeout=HANGS_S, metadata=claim)
    assert call_error(failure.value).code is ErrorCode.IDENTITY_WRONG_ROLE


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (grpc.StatusCode.DEADLINE_EXCEEDED, ErrorCode.SERVER_TIMEOUT),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, ErrorCode.MESSAGE_TOO_LARGE),
        (grpc.StatusCode.UNAVAILABLE, ErrorCode.SERVER_UNREACHABLE),
        (grpc.StatusCode.UNIMPLEMENTED, ErrorCode.MESSAGE_INVALID),
        (grpc.StatusCode.CANCELLED, ErrorCode.SERVER_UNREACHABLE),
    ],
)
def test_a_status_without_details_still_gets_a_code(status: grpc.StatusCode, code: ErrorCode) -> None:
    assert call_error(Failure(status)).code is code


@pytest.mark.parametrize("known", [True, False])
def test_a_refusal_of_a_caller_who_hung_up_is_no_error_of_the_server(
    federation: Federation,
    serve: Serve,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    known: bool,
) -> None:
    begun, pools = threading.Event(), list[ThreadPoolExecutor]()

    def late(_: Guardian, request: Any, context: grpc.ServicerContext) -> Any:
        ended = threading.Event()
        context.add_callback(ended.set)
        begun.set()
        ended.wait(HANGS_S)
        raise OstrakaError(ErrorCode.SESSION_UNKNOWN, "Open one.") if known else RuntimeError("secret-vote")

    def pool(threads: int) -> ThreadPoolExecutor:
        pools.append(ThreadPoolExecutor(threads))
        return pools[-1]

    monkeypatch.setattr(server, "ThreadPoolExecutor", pool)
    monkeypatch.setattr(Guardian, "Prepare", late)
    with capture_logs() as events, open_channel(federation.issue(QUERIER), serve(), GUARDIAN) as channel:
        prepare = channel.unary_stream(f"{SERVICE}Prepare")
        call = prepare(guardian_pb2.PrepareRequest().SerializeToString())
        begun.wait(HANGS_S)
        call.cancel()
        for started in pools:
            started.shutdown()
    assert caplog.records == []
    assert ("rpc.internal" in {event["event"] for event in events}) is not known
