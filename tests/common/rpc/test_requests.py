"""What cannot be read, or is too much, is refused with a code, of whatever kind the call is."""

from typing import Any

import grpc
import pytest

from ostraka.common.errors import ErrorCode
from ostraka.common.identity import Identity
from ostraka.common.rpc import call_error, open_channel
from ostraka.protos.ostraka.v1 import guardian_pb2 as pb
from tests.common.federation import GUARDIAN, PARTY, QUERIER, Federation
from tests.common.rpc.conftest import SERVICE, Serve
from tests.fair_clock import HANGS_S

GARBAGE = b"\xff\xff\xff"


def refusal(federation: Federation, address: str, method: str, data: bytes, whose: Identity) -> ErrorCode:
    """Return the code that raw bytes are refused with; SubmitBallots is sent a stream of them."""
    with open_channel(federation.issue(whose), address, GUARDIAN) as channel:
        streamed = method == "SubmitBallots"
        call: Any = (channel.stream_unary if streamed else channel.unary_unary)(SERVICE + method)
        with pytest.raises(grpc.RpcError) as failure:
            call(iter([data]) if streamed else data, timeout=HANGS_S)
        return call_error(failure.value).code


@pytest.mark.parametrize(
    ("method", "data", "code"),
    [
        ("CloseSession", GARBAGE, ErrorCode.MESSAGE_INVALID),
        ("SubmitBallots", GARBAGE, ErrorCode.MESSAGE_INVALID),
        ("CloseSession", bytes((64 << 10) + 1), ErrorCode.MESSAGE_TOO_LARGE),
        ("SubmitBallots", bytes((1088 << 10) + 1), ErrorCode.MESSAGE_TOO_LARGE),
        (
            "CloseSession",
            pb.CloseSessionRequest(session_id="x" * 1001).SerializeToString(),
            ErrorCode.MESSAGE_TOO_LARGE,
        ),
        (
            "Prepare",
            pb.PrepareRequest(parties=["a"] * 10_001).SerializeToString(),
            ErrorCode.MESSAGE_TOO_LARGE,
        ),
    ],
)
def test_a_refused_message_has_a_code(
    federation: Federation, serve: Serve, method: str, data: bytes, code: ErrorCode
) -> None:
    whose = PARTY if method == "SubmitBallots" else QUERIER
    assert refusal(federation, serve(), method, data, whose) is code


def test_a_caller_without_the_role_is_told_nothing_of_its_message(
    federation: Federation, serve: Serve
) -> None:
    code = refusal(federation, serve(), "CloseSession", GARBAGE, PARTY)
    assert code is ErrorCode.IDENTITY_WRONG_ROLE
