"""Messages as they arrive: measured before they are parsed, and refused with a code if they are invalid."""

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
    """Reads the replies of one server to one method.

    Whatever a server sends, its caller gets a message of the method's type or an OstrakaError that names the
    server, never nothing, and never an exception from the parser.
    """

    def __init__(self, target: Target, method: str, parse: Callable[[bytes], Any]) -> None:
        """Take the server, the `method` (/package.Service/Method), and the function that parses a reply."""
        self._who = f"The {target.expected.role} {target.expected.site} at {target.address}"
        self._method = method.rpartition("/")[2]
        self._parse = parse
        self._most = reply_bytes(method)

    def message(self, data: bytes) -> Any:
        """Return a reply.

        Raises:
            OstrakaError: message.too_large above the limit of its type, message.invalid if it cannot be
                parsed or contains invalid numbers.
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
        """Return the error for a call that ended well without the expected message."""
        return self._invalid("nothing")

    def several(self) -> OstrakaError:
        """Return the error for a second message if one is expected."""
        return self._invalid("more than one message")

    def _invalid(self, what: str) -> OstrakaError:
        return OstrakaError(
            ErrorCode.MESSAGE_INVALID,
            f"{self._who} answered {self._method} with {what}; use the same version everywhere.",
        )


class Allowance:
    """What may still come of a stream, of the amount that its header announced, or that its caller knows."""

    def __init__(self, most: int) -> None:
        """Allow `most` bytes, or whatever unit the messages are measured in."""
        self._most = self.left = most

    def take(self, size: int) -> None:
        """Count the content of a message; each must have some, so there are never more than `most` messages.

        Raises:
            OstrakaError: message.too_large for more than is left, message.invalid for an empty message.
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
    """Yield the replies of a stream with at most `most` bytes in total.

    Raises `message.too_large` or `message.invalid` as in `Allowance.take`, and reads no further.
    """
    allowed = Allowance(most)
    for reply in replies:
        allowed.take(reply.ByteSize())
        yield reply


Deserializer: TypeAlias = Callable[[bytes], Any]


def limit_requests(method: str, deserialize: Deserializer | None) -> Deserializer:
    """Return a function that reads requests of `method` and returns a message, or an OstrakaError as refusal.

    gRPC reads requests outside any handler, where an exception would reach nobody. So the function returns a
    refusal, and `admit` raises it.
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
    """Return a request, or the stream of requests, as `limit_requests` read it; raise a refusal."""
    if isinstance(request, OstrakaError):
        raise request
    return request if isinstance(request, Message) else map(admit, request)
