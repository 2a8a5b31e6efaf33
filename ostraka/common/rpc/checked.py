"""Channels whose replies are checked: every call that Ostraka makes goes through one of the two.

On the wire a stream answers every call, also where one message is due: gRPC hands a caller that waits for one
message None where the server sent none, and lets a server that sends two hold it to its deadline.
"""

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, Self

import grpc

from ostraka.common.errors import OstrakaError
from ostraka.common.rpc.received import ReplyReader
from ostraka.common.rpc.watcher import Target

CALL_S = 3600.0
"""Deadline in seconds of a call whose caller names none, as administrators' commands do, of which the longest
(an archive of years) takes minutes: a server that never answers holds nobody for good."""


class Replies(Iterator[Any]):
    """The replies of a call, read as they are asked for; what is none cancels the call.

    Attributes:
        call: as gRPC has it.
    """

    def __init__(self, call: Any, reader: ReplyReader, channel: object) -> None:
        """Take a call under way, and its channel: gRPC ends the calls of one that nobody holds."""
        self.call = call
        self._reader = reader
        self._channel = channel

    def __next__(self) -> Any:
        """Return the next one; raises grpc.RpcError, or OstrakaError as `ReplyReader.message` does."""
        data = next(self.call)
        try:
            return self._reader.message(data)
        except OstrakaError:
            self.cancel()
            raise

    def cancel(self) -> None:
        """End the call, unless it has ended."""
        self.call.cancel()

    def only(self) -> Any:
        """Return the reply of a call that has one, once the call has ended.

        Raises:
            OstrakaError: message.invalid for none and for two, and what `ReplyReader.message` raises.
            grpc.RpcError: what the server refused the call with, or why it could not be reached.
        """
        try:
            for reply in self:
                for _ in self.call:
                    raise self._reader.several()
                return reply
            raise self._reader.none()
        finally:
            self.cancel()


class AsyncReplies:
    """As `Replies`, for calls that no thread waits for."""

    def __init__(self, call: Any, reader: ReplyReader, channel: object) -> None:
        """Take a call under way, and its channel: gRPC ends the calls of one that nobody holds."""
        self.call = call
        self._reader = reader
        self._channel = channel

    async def __aiter__(self) -> AsyncIterator[Any]:
        """Yield the replies; raises as `Replies.__next__` does."""
        try:
            async for data in self.call:
                yield self._reader.message(data)
        finally:
            self.cancel()

    def cancel(self) -> None:
        """End the call, unless it has ended."""
        self.call.cancel()

    async def only(self) -> Any:
        """Return the reply of a call that has one; raises as `Replies.only` does."""
        came = []
        try:
            async for reply in self:
                came.append(reply)
                if len(came) > 1:
                    raise self._reader.several()
        finally:
            self.cancel()
        if not came:
            raise self._reader.none()
        return came[0]


class _Checked:
    """What makes calls of the four kinds, by stubs or by name; their replies are `replies`."""

    replies: type[Replies] | type[AsyncReplies]

    def __init__(self, channel: Any, target: Target) -> None:
        """Take a channel to `target`."""
        self._channel = channel
        self._target = target

    def unary_unary(self, method: str, *args: Any, **options: Any) -> Any:
        """Return what makes a call of one message for one."""
        return _only(self.unary_stream(method, *args, **options))

    def stream_unary(self, method: str, *args: Any, **options: Any) -> Any:
        """Return what makes a call of a stream for one message."""
        return _only(self.stream_stream(method, *args, **options))

    def unary_stream(self, method: str, *args: Any, **options: Any) -> Any:
        """Return what makes a call of one message for a stream."""
        return self._check_replies(self._channel.unary_stream, method, *args, **options)

    def stream_stream(self, method: str, *args: Any, **options: Any) -> Any:
        """Return what makes a call of a stream for a stream."""
        return self._check_replies(self._channel.stream_stream, method, *args, **options)

    def _check_replies(
        self,
        make: Callable[..., Any],
        method: str,
        request_serializer: Callable[[Any], bytes] | None = None,
        response_deserializer: Callable[[bytes], Any] = bytes,
        _registered_method: bool = False,
    ) -> Callable[..., Any]:
        """Return what makes a call whose replies gRPC hands over as bytes."""

        def call(request: Any, *, timeout: float | None = None, **options: Any) -> Any:
            # Not before: whoever makes a stub for one call has this made of every method, at 25 us each.
            begin = make(method, request_serializer, None, _registered_method)
            reader = ReplyReader(self._target, method, response_deserializer)
            replies = begin(request, timeout=CALL_S if timeout is None else timeout, **options)
            return self.replies(replies, reader, self)

        return call


def _only(begin: Callable[..., Any]) -> Callable[..., Any]:
    return lambda request, **options: begin(request, **options).only()


class CheckedChannel(_Checked, grpc.Channel):
    """A channel to one server, for calls that a thread waits for."""

    replies = Replies

    def subscribe(self, callback: Any, try_to_connect: bool | None = False) -> None:
        """Have `callback` called with the states of the connection."""
        self._channel.subscribe(callback, try_to_connect)

    def unsubscribe(self, callback: Any) -> None:
        """Have it called no more."""
        self._channel.unsubscribe(callback)

    def close(self) -> None:
        """Close the channel, which ends calls that are under way."""
        self._channel.close()

    def __enter__(self) -> Self:
        """Return the channel itself, which is closed at the end of the block."""
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class CheckedAsyncChannel(_Checked):
    """A channel to one server, for calls that no thread waits for."""

    replies = AsyncReplies

    async def close(self) -> None:
        """Close the channel, which ends calls that are under way."""
        await self._channel.close()
