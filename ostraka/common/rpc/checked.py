"""Channels whose replies are checked: every call of Ostraka goes through one of the two.

On the wire every call is answered by a stream, even if a single message is expected. Otherwise gRPC would
return None to a caller if the server sent no message, and a server that sends two could hold it until its
deadline.
"""

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, Self

import grpc

from ostraka.common.errors import OstrakaError
from ostraka.common.rpc.received import ReplyReader
from ostraka.common.rpc.watcher import Target

CALL_S = 3600.0
"""Deadline in seconds of a call without one of its own, as in administrators' commands.

The longest of them (an archive of years) takes minutes. A server that never answers must not block anybody
for ever.
"""


class Replies(Iterator[Any]):
    """The replies of a call, read on demand; an invalid reply cancels the call.

    Attributes:
        call: gRPC's call object.
    """

    def __init__(self, call: Any, reader: ReplyReader, channel: object) -> None:
        """Take an ongoing call, and its channel, because gRPC ends the calls of an unreferenced channel."""
        self.call = call
        self._reader = reader
        self._channel = channel

    def __next__(self) -> Any:
        """Return the next reply; raises grpc.RpcError, or OstrakaError as in `ReplyReader.message`."""
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
        """Return the reply of a call with exactly one, after the call has ended.

        Raises:
            OstrakaError: message.invalid for no reply or two, and the errors of `ReplyReader.message`.
            grpc.RpcError: the server's refusal, or why it could not be reached.
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
    """As `Replies`, for asynchronous calls."""

    def __init__(self, call: Any, reader: ReplyReader, channel: object) -> None:
        """Take an ongoing call, and its channel, because gRPC ends the calls of an unreferenced channel."""
        self.call = call
        self._reader = reader
        self._channel = channel

    async def __aiter__(self) -> AsyncIterator[Any]:
        """Yield the replies; raises as `Replies.__next__`."""
        try:
            async for data in self.call:
                yield self._reader.message(data)
        finally:
            self.cancel()

    def cancel(self) -> None:
        """End the call, unless it has ended."""
        self.call.cancel()

    async def only(self) -> Any:
        """Return the reply of a call with exactly one; raises as `Replies.only`."""
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
    """Factory of calls of the four kinds, by stub or by name; their replies are of class `replies`."""

    replies: type[Replies] | type[AsyncReplies]

    def __init__(self, channel: Any, target: Target) -> None:
        """Take a channel to `target`."""
        self._channel = channel
        self._target = target

    def unary_unary(self, method: str, *args: Any, **options: Any) -> Any:
        """Return a function that makes a call of one message for one reply."""
        return _only(self.unary_stream(method, *args, **options))

    def stream_unary(self, method: str, *args: Any, **options: Any) -> Any:
        """Return a function that makes a call of a stream for one reply."""
        return _only(self.stream_stream(method, *args, **options))

    def unary_stream(self, method: str, *args: Any, **options: Any) -> Any:
        """Return a function that makes a call of one message for a stream."""
        return self._check_replies(self._channel.unary_stream, method, *args, **options)

    def stream_stream(self, method: str, *args: Any, **options: Any) -> Any:
        """Return a function that makes a call of a stream for a stream."""
        return self._check_replies(self._channel.stream_stream, method, *args, **options)

    def _check_replies(
        self,
        make: Callable[..., Any],
        method: str,
        request_serializer: Callable[[Any], bytes] | None = None,
        response_deserializer: Callable[[bytes], Any] = bytes,
        _registered_method: bool = False,
    ) -> Callable[..., Any]:
        """Return a function that makes a call whose replies gRPC delivers as bytes."""

        def call(request: Any, *, timeout: float | None = None, **options: Any) -> Any:
            # Made here, not earlier: a stub for one call would otherwise make it for every method, at 25 us
            # each.
            begin = make(method, request_serializer, None, _registered_method)
            reader = ReplyReader(self._target, method, response_deserializer)
            replies = begin(request, timeout=CALL_S if timeout is None else timeout, **options)
            return self.replies(replies, reader, self)

        return call


def _only(begin: Callable[..., Any]) -> Callable[..., Any]:
    return lambda request, **options: begin(request, **options).only()


class CheckedChannel(_Checked, grpc.Channel):
    """A channel to one server, for synchronous calls."""

    replies = Replies

    def subscribe(self, callback: Any, try_to_connect: bool | None = False) -> None:
        """Call `callback` with the states of the connection."""
        self._channel.subscribe(callback, try_to_connect)

    def unsubscribe(self, callback: Any) -> None:
        """Stop calling `callback`."""
        self._channel.unsubscribe(callback)

    def close(self) -> None:
        """Close the channel, which ends ongoing calls."""
        self._channel.close()

    def __enter__(self) -> Self:
        """Return the channel itself; it is closed at the end of the block."""
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class CheckedAsyncChannel(_Checked):
    """A channel to one server, for asynchronous calls."""

    replies = AsyncReplies

    async def close(self) -> None:
        """Close the channel, which ends ongoing calls."""
        await self._channel.close()
