"""Requests as they arrive: measured before they are read, and refused with a code where they cannot be."""

from collections.abc import Callable
from typing import Any, TypeAlias

from google.protobuf.message import DecodeError, Message

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.wire.limits import check_limits, request_bytes, too_large

Deserializer: TypeAlias = Callable[[bytes], Any]


def limited(method: str, deserialize: Deserializer | None) -> Deserializer:
    """Return what reads the requests of `method`: messages, or the OstrakaError that they are refused with.

    gRPC reads requests outside any handler, where an error that is raised reaches nobody. So a refusal is
    handed on, and `admitted` raises it.
    """
    most = request_bytes(method)

    def read(data: bytes) -> Any:
        if len(data) > most:
            return too_large(f"A message of {method.rpartition('/')[2]} has {len(data)} bytes", most)
        try:
            message = deserialize(data) if deserialize else data
            if isinstance(message, Message):
                check_limits(message)
        except DecodeError:
            return OstrakaError(
                ErrorCode.MESSAGE_INVALID, "The message cannot be read; use the same version everywhere."
            )
        except OstrakaError as error:
            return error
        return message

    return read


def admitted(request: Any) -> Any:
    """Return a request, or the stream of them, as `limited` read it; raise the refusal of the first one."""
    if isinstance(request, OstrakaError):
        raise request
    return request if isinstance(request, Message) else map(admitted, request)
