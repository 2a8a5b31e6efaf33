"""Messages as they arrive: measured before they are read, and refused with a code where they are none."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias, TypeVar

from google.protobuf.message import DecodeError, Message

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.rpc.watcher import Target
from ostraka.common.wire.limits import (
    check_limits,
    check_lists,
    check_numbers,
    reply_bytes,
    request_bytes,
    too_large,
)

M = TypeVar("M", bound=Message)


class ReplyReader:
    """Reads what one server answers to one method.

    Whatever a server sends, its caller gets a message of the method's type or an OstrakaError that names the
    server: never nothing, never an exception of what parses.
    """

    def __init__(self, target: Target, method: str, parse: Callable[[bytes], Any]) -> None:
        """Take whom `method` (/package.Service/Method) is called at, and what parses a reply."""
        self._who = f"The {target.expected.role} {target.expected.site} at {target.address}"
        self._method = method.rpartition("/")[2]
        self._parse = parse
        self._most = reply_bytes(method)

    def message(self, data: bytes) -> Any:
        """Return a reply.

        Raises:
            OstrakaError: message.too_large above the limit of its type, message.invalid where it cannot be
                read or has numbers that mean nothing.
        """
        if len(data) > self._most:
            raise OstrakaError(
                ErrorCode.MESSAGE_TOO_LARGE,
                f"{self._who} answered {self._method} with {len(data)} bytes, and at most {self._most} are"
                " taken; use the same version everywhere.",
            )
        try:
            message = self._parse(data)
        except DecodeError as error:
            raise self._invalid("what is no reply") from error
        if isinstance(message, Message):
            self._check_numbers(message)
        return message

    def _check_numbers(self, message: Message) -> None:
        try:
            check_numbers(message)
        except OstrakaError as error:
            raise OstrakaError(error.code, f"{self._who}: {error.message}") from error

    def none(self) -> OstrakaError:
        """Return the error for a call that ended well without the message that was due."""
        return self._invalid("nothing")

    def several(self) -> OstrakaError:
        """Return the error for a second message where one is due."""
        return self._invalid("more than one message")

    def _invalid(self, what: str) -> OstrakaError:
        return OstrakaError(
            ErrorCode.MESSAGE_INVALID,
            f"{self._who} answered {self._method} with {what}; use the same version everywhere.",
        )


class Allowance:
    """How much of a stream may still come: what its header announced, or its caller knows."""

    def __init__(self, most: int) -> None:
        """Allow `most` bytes, or whatever else the messages are measured in."""
        self._most = self.left = most

    def take(self, size: int) -> None:
        """Count what a message carries; each carries something, so that there are never more than `most`.

        Raises:
            OstrakaError: message.too_large for more than is left, message.invalid for nothing.
        """
        if size > self.left:
            raise OstrakaError(
                ErrorCode.MESSAGE_TOO_LARGE,
                f"More than the {self._most} bytes of this reply came; use the same version everywhere.",
            )
        if not size:
            raise OstrakaError(
                ErrorCode.MESSAGE_INVALID,
                "A part of a reply that carries nothing came; use the same version everywhere.",
            )
        self.left -= size


def limit_replies(replies: Iterable[M], most: int) -> Iterator[M]:
    """Yield the replies of a stream, which have at most so many bytes in all.

    Raises `message.too_large` or `message.invalid` as `Allowance.take` does, and reads no further.
    """
    allowed = Allowance(most)
    for reply in replies:
        allowed.take(reply.ByteSize())
        yield reply


Deserializer: TypeAlias = Callable[[bytes], Any]


def limit_requests(method: str, deserialize: Deserializer | None) -> Deserializer:
    """Return what reads the requests of `method`: messages, or the OstrakaError that they are refused with.

    gRPC reads requests outside any handler, where an error that is raised reaches nobody. So a refusal is
    handed on, and `admit` raises it.
    """
    most = request_bytes(method)

    def read(data: bytes) -> Any:
        if len(data) > most:
            return too_large(f"A message of {method.rpartition('/')[2]} has {len(data)} bytes", most)
        try:
            check_lists(method, data)
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


def admit(request: Any) -> Any:
    """Return a request, or the stream of them, as `limit_requests` read it; raise a refusal there is."""
    if isinstance(request, OstrakaError):
        raise request
    return request if isinstance(request, Message) else map(admit, request)
