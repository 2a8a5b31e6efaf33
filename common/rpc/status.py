"""OstrakaError as a gRPC status with details, and back."""

import grpc
from google.protobuf import any_pb2
from google.rpc import code_pb2, error_details_pb2, status_pb2
from grpc_status import rpc_status

from common.errors import ErrorCode, OstrakaError, status_of

DOMAIN = "ostraka"


def to_status(error: OstrakaError) -> grpc.Status:
    """The status whose details carry the error's code and details as google.rpc.ErrorInfo."""
    info = error_details_pb2.ErrorInfo(reason=str(error.code), domain=DOMAIN, metadata=error.details)
    detail = any_pb2.Any()
    detail.Pack(info)
    number = code_pb2.Code.Value(status_of(error.code))
    status = status_pb2.Status(code=number, message=error.message, details=[detail])
    return rpc_status.to_status(status)


def from_call(call: grpc.Call) -> OstrakaError | None:
    """The error that the other end reported, or None where it reported none in this form."""
    try:
        status = rpc_status.from_call(call)
    except ValueError:
        return None
    for detail in status.details if status else ():
        info = error_details_pb2.ErrorInfo()
        if detail.Unpack(info) and info.domain == DOMAIN:
            return OstrakaError(_code(info.reason), status.message, **info.metadata)
    return None


def _code(reason: str) -> ErrorCode:
    try:
        return ErrorCode(reason)
    except ValueError:
        return ErrorCode.INTERNAL
