"""OstrakaError as a gRPC status with details, and back."""

import grpc
from google.protobuf import any_pb2
from google.protobuf.message import DecodeError
from google.rpc import code_pb2, error_details_pb2, status_pb2
from grpc_status import rpc_status

from ostraka.common.errors import ErrorCode, OstrakaError, shorten, status_of

DOMAIN = "ostraka"
Ended = grpc.Call | grpc.aio.AioRpcError
"""A call that ended with a status."""
MAX_CHARACTERS = 500
"""Maximum characters of a message: statuses travel in trailers, and callers drop those above 8 KB."""
DETAILS_KEY = "grpc-status-details-bin"


def to_status(error: OstrakaError) -> grpc.Status:
    """Return the status whose details contain the error's code and details as google.rpc.ErrorInfo.

    A message that is too long loses its middle; the advice at its end stays.
    """
    info = error_details_pb2.ErrorInfo(reason=str(error.code), domain=DOMAIN, metadata=error.details)
    detail = any_pb2.Any()
    detail.Pack(info)
    number = code_pb2.Code.Value(status_of(error.code))
    status = status_pb2.Status(code=number, message=shorten(error.message, MAX_CHARACTERS), details=[detail])
    return rpc_status.to_status(status)


def from_call(call: Ended) -> OstrakaError | None:
    """Return the error that the other end reported, or None if it reported none in this form."""
    try:
        status = rpc_status.from_call(call)  # type: ignore[arg-type]
        return None if status is None else _error(status)
    except (ValueError, DecodeError):
        return None


def refusal_code(context: grpc.ServicerContext) -> ErrorCode | None:
    """Return the code with which a server refused a call; None if it did not refuse it in this form."""
    for key, value in context.trailing_metadata() or ():  # type: ignore[attr-defined, unused-ignore]
        if key == DETAILS_KEY:
            error = _error(status_pb2.Status.FromString(value))
            return None if error is None else error.code
    return None


def _error(status: status_pb2.Status) -> OstrakaError | None:
    for detail in status.details:
        info = error_details_pb2.ErrorInfo()
        if detail.Unpack(info) and info.domain == DOMAIN:
            return OstrakaError(_code(info.reason), status.message, **info.metadata)
    return None


def _code(reason: str) -> ErrorCode:
    try:
        return ErrorCode(reason)
    except ValueError:
        return ErrorCode.INTERNAL
