"""Asynchronous streams to servers that may refuse them before they have arrived completely."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from functools import partial
from typing import Any, TypeVar

import grpc

from ostraka.common.rpc.checked import AsyncReplies
from ostraka.common.rpc.status import from_call

T = TypeVar("T")

HEED_S = 5.0
"""Maximum time that a stream whose refusal was lost is held back; the arriving refusal ends the wait."""


async def exchange(
    method: Callable[..., Any],
    messages: Callable[[], Iterator[bytes]],
    *,
    most: int,
    timeout: float,
    **options: Any,
) -> list[Any]:
    """Send a stream and return the replies, at most one more than `most`; a call with more is cut off.

    A server may refuse a stream after its first message. Its reason is lost if this side writes meanwhile
    (https://github.com/grpc/grpc/issues/36066). The stream is then sent again within the same deadline, and
    held back after its first message.

    Args:
        method: a method of a channel of `open_async_channel`, stream to stream.
        messages: returns the serialized stream, anew each time.
        most: maximum number of replies.
        timeout: deadline in seconds.
        options: other options of the call.

    Raises:
        grpc.aio.AioRpcError: the server's refusal, or why it could not be reached.
        OstrakaError: message.* for an invalid reply.
    """
    return await _send(method, messages, partial(_replies, most=most), timeout, options)


async def submit(
    method: Callable[..., Any], messages: Callable[[], Iterator[bytes]], *, timeout: float, **options: Any
) -> Any:
    """Send a stream and return the only reply; as `exchange`, and message.invalid for no reply or two."""
    return await _send(method, messages, AsyncReplies.only, timeout, options)


async def _send(
    method: Callable[..., Any],
    messages: Callable[[], Iterator[bytes]],
    read: Callable[[AsyncReplies], Awaitable[T]],
    timeout: float,
    options: Mapping[str, Any],
) -> T:
    ends = time.monotonic() + timeout
    try:
        return await read(method(messages(), timeout=timeout, **options))
    except grpc.aio.AioRpcError as error:
        if error.code() is not grpc.StatusCode.INTERNAL or from_call(error) is not None:
            raise
    ended = asyncio.Event()
    replies = method(_hold_back(messages(), ended), timeout=ends - time.monotonic(), **options)
    replies.call.add_done_callback(lambda _: ended.set())
    return await read(replies)


async def _replies(replies: AsyncReplies, most: int) -> list[Any]:
    came = []
    async for reply in replies:
        came.append(reply)
        if len(came) > most:
            replies.cancel()
            break
    return came


async def _hold_back(messages: Iterator[bytes], ended: asyncio.Event) -> AsyncIterator[bytes]:
    """Yield the first message, and the others unless the call has ended by then."""
    yield next(messages)
    try:
        await asyncio.wait_for(ended.wait(), HEED_S)
    except TimeoutError:
        for message in messages:
            yield message
