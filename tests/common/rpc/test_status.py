"""Details of refusals, as whoever is called may send them."""

import grpc
import pytest
from google.protobuf import any_pb2
from google.rpc import code_pb2, status_pb2

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.rpc import call_error
from ostraka.common.rpc.status import DETAILS_KEY, MAX_CHARACTERS, from_call, to_status


@pytest.mark.parametrize(
    "details",
    [
        b"\xff\xff",
        status_pb2.Status(
            code=code_pb2.INVALID_ARGUMENT,
            details=[any_pb2.Any(type_url="type.googleapis.com/google.rpc.ErrorInfo", value=b"\xff\xff")],
        ).SerializeToString(),
    ],
)
def test_details_that_nobody_can_read_are_none(details: bytes) -> None:
    """Whoever is called may send anything, and ends nobody's run by it."""
    sent = grpc.aio.Metadata((DETAILS_KEY, details))
    refused = grpc.aio.AioRpcError(grpc.StatusCode.INVALID_ARGUMENT, grpc.aio.Metadata(), sent, "")
    assert from_call(refused) is None
    assert call_error(refused).code is ErrorCode.INTERNAL


def test_a_sentence_has_so_many_characters_and_keeps_its_advice() -> None:
    def sent(length: int) -> str:
        advice = "; ask for less."
        message = "x" * (length - len(advice)) + advice
        return to_status(OstrakaError(ErrorCode.PLAN_INVALID, message)).details

    whole, cut = sent(MAX_CHARACTERS), sent(MAX_CHARACTERS + 1)
    assert len(whole) == len(cut) == MAX_CHARACTERS
    assert whole.startswith("x" * (MAX_CHARACTERS - 20))
    assert " [...] " in cut
    assert cut.endswith("x; ask for less.")
