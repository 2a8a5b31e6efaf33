from collections.abc import Callable, Iterator
from pathlib import Path

import grpc
import pytest
from pydantic import BaseModel

from ostraka.common.clock import Clock, SystemClock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Credentials, Role
from ostraka.common.rpc import make_server, peer_identity
from ostraka.common.rpc.limits import CallLimits
from ostraka.protos.ostraka.v1 import guardian_pb2 as pb
from ostraka.protos.ostraka.v1 import guardian_pb2_grpc
from tests.common.federation import GUARDIAN, Federation

SERVICE = "/ostraka.v1.Guardian/"
ROLES = {
    f"{SERVICE}CloseSession": frozenset({Role.QUERY}),
    f"{SERVICE}SubmitBallots": frozenset({Role.PARTY}),
    f"{SERVICE}Release": frozenset({Role.QUERY}),
    f"{SERVICE}Prepare": frozenset({Role.QUERY}),
    f"{SERVICE}SettleBatch": frozenset({Role.QUERY}),
}
LIMITS = CallLimits()
Serve = Callable[..., str]


class Message(BaseModel):
    count: int


class Guardian(guardian_pb2_grpc.GuardianServicer):
    """Answers with the caller's identity, or fails in the way a call asks for."""

    def CloseSession(  # noqa: N802
        self, request: pb.CloseSessionRequest, context: grpc.ServicerContext
    ) -> pb.CloseSessionReply:
        resumed = b"true" in context.auth_context().get("ssl_session_reused", ())
        told = (("caller", peer_identity(context).uri), ("resumed", str(resumed)))
        context.set_trailing_metadata(told)
        return pb.CloseSessionReply()

    def Prepare(  # noqa: N802
        self, request: pb.PrepareRequest, context: grpc.ServicerContext
    ) -> pb.PrepareReply:
        if not request.session_id.isprintable():
            raise OstrakaError(ErrorCode.SESSION_UNKNOWN, f"No session {request.session_id}; open one.")
        raise OstrakaError(ErrorCode.QUORUM_LOST, "Two of three are there; wait.", present="2")

    def SettleBatch(  # noqa: N802
        self, request: pb.SettleBatchRequest, context: grpc.ServicerContext
    ) -> pb.SettleBatchReply:
        if request.session_id == "invalid":
            Message.model_validate({"count": "secret-vote"})
        raise RuntimeError("secret-vote")

    def SubmitBallots(  # noqa: N802
        self, requests: Iterator[pb.SubmitBallotsRequest], context: grpc.ServicerContext
    ) -> pb.SubmitBallotsReply:
        if sum(len(request.chunk.data) for request in requests) > 3:
            raise OstrakaError(ErrorCode.BATCH_TOO_LARGE, "Send less.")
        return pb.SubmitBallotsReply()

    def Release(  # noqa: N802
        self, requests: Iterator[pb.ReleaseRequest], context: grpc.ServicerContext
    ) -> Iterator[pb.ReleaseReply]:
        for _ in requests:
            yield pb.ReleaseReply(answers=[pb.Answer(answered=True)])
        raise OstrakaError(ErrorCode.SESSION_ENDED, "The session ended; open another.")


def _add_guardian(server: grpc.Server) -> None:
    guardian_pb2_grpc.add_GuardianServicer_to_server(Guardian(), server)  # type: ignore[abstract]


@pytest.fixture
def federation(tmp_path: Path) -> Federation:
    return Federation(tmp_path / "federation")


@pytest.fixture
def serve(federation: Federation) -> Iterator[Serve]:
    """Yield a function that starts guardians, by default of the fixture's federation, and returns
    addresses."""
    servers = []

    def start(
        credentials: Credentials | None = None,
        listen: str = "127.0.0.1:0",
        clock: Clock | None = None,
        insecure: bool = False,
        limits: CallLimits = LIMITS,
    ) -> str:
        bound = make_server(
            credentials if credentials or insecure else federation.issue(GUARDIAN),
            listen,
            [_add_guardian],
            ROLES,
            clock or SystemClock(),
            insecure=insecure,
            limits=limits,
        )
        servers.append(bound.server)
        bound.server.start()
        return bound.address

    yield start
    for server in servers:
        server.stop(None).wait()
