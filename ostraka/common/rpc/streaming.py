"""Asynchronous streams to servers that may refuse them before they have arrived completely."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import grpc

from ostraka.common.rpc.status import from_call

HEED_S = 5.0
"""Maximum time that a stream whose refusal was lost is held back; the arriving refusal ends the wait."""


async def exchange(
    method: Callable[..., Any], messages: Callable[[], Iterator[bytes]], *, most: int, **options: Any
) -> list[Any]:
    """Send a stream and return the replies, at most one more than `most`.

    A server may refuse a stream after its first message. Its reason is lost if this side writes meanwhile
    (https://github.com/grpc/grpc/issues/36066). The stream is then sent again, and held back after its first
    message.

    Args:
        method: a method of a channel of `open_async_channel`, stream to stream.
        messages: returns the serialized stream, anew each time.
        most: maximum number of replies; a call with more is cut off.
        options: options of the call.

    Raises:
        grpc.aio.AioRpcError: the server's refusal, or why it could not be reached.
        OstrakaError: message.* for an invalid reply.
    """
    try:
        return await _replies(method(messages(), **options), most)
    except grpc.aio.AioRpcError as error:
        if error.code() is not grpc.StatusCode.INTERNAL or from_call(error) is not None:
            raise
    ended = asyncio.Event()
    call = method(_hold_back(messages(), ended), **options)
    call.call.add_done_callback(lambda _: ended.set())
    return await _replies(call, most)


async def _replies(call: Any, most: int) -> list[Any]:
    replies = []
    async for reply in call:
        replies.append(reply)
        if len(replies) > most:
            call.cancel()
            break
    return replies


async def _hold_back(messages: Iterator[bytes], ended: asyncio.Event) -> AsyncIterator[bytes]:
    """Yield the first message, and the others unless the call has ended by then."""
    yield next(messages)
    try:
        await asyncio.wait_for(ended.wait(), HEED_S)
    except TimeoutError:
        for message in messages:
            yield message
