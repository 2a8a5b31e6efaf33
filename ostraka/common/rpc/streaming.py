"""Streams that no thread waits for, to servers that may refuse them before they have come whole."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import grpc

from ostraka.common.rpc.status import from_call

HEED_S = 5.0
"""How long a stream whose refusal was lost is held back, for the refusal to arrive; it ends the wait."""


async def exchange(
    method: Callable[..., Any], messages: Callable[[], Iterator[bytes]], *, most: int, **options: Any
) -> list[Any]:
    """Send a stream and return the replies, one more than `most` at most.

    A server may refuse a stream by its first message. What it says is lost where this side writes meanwhile
    (https://github.com/grpc/grpc/issues/36066): the stream is then sent again, and held back after its first
    message.

    Args:
        method: of a channel of `open_async_channel`, stream to stream.
        messages: gives the serialized stream, afresh each time.
        most: how many replies there may be; a call with more is cut off.
        options: of the call.

    Raises:
        grpc.aio.AioRpcError: what the server refused the stream with, or why it could not be reached.
        OstrakaError: message.* for what is no reply.
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
