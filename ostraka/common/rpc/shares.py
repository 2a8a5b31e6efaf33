"""Shares on the wire: in one message if they fit, else as a stream of header and chunks."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar
from weakref import WeakSet

import grpc

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.rpc.retry import ENDED
from ostraka.common.rpc.steps import read_header, stream_parts

MAX_WHOLE_BYTES = 4032 << 10
"""The largest share in one message: gRPC accepts 4 MiB at once, and 64 KiB are left for the header."""

M = TypeVar("M")
T = TypeVar("T")


class ShareSender:
    """Sends shares in the right form; remembers servers that accept only streams.

    Servers of an earlier version know no other form. Safe to use from many threads.
    """

    def __init__(self) -> None:
        """Start without servers that accept only streams."""
        self._streaming: WeakSet[grpc.Channel] = WeakSet()

    def send(self, channel: grpc.Channel, size: int, *, whole: Callable[[], T], stream: Callable[[], T]) -> T:
        """Return the reply of the server at the end of `channel` to a share of `size` bytes.

        Args:
            channel: the channel of the calls.
            size: size of the share, without its header.
            whole: sends it in one message.
            stream: sends it as a stream.

        Raises:
            grpc.RpcError: the call's own.
        """
        if size > MAX_WHOLE_BYTES or channel in self._streaming:
            return stream()
        try:
            return whole()
        except grpc.RpcError as error:
            if not (isinstance(error, ENDED) and error.code() is grpc.StatusCode.UNIMPLEMENTED):
                raise
        self._streaming.add(channel)
        return stream()


def stream_share(kind: Callable[..., M], header: Any, data: bytes) -> Iterator[M]:
    """Yield a share as messages of a `kind` with header and chunk."""
    return stream_parts(kind, header, [data])


def read_stream(messages: Iterator[Any]) -> tuple[Any, Iterator[bytes]]:
    """Return the header of a stream, and its chunks, which are read on demand.

    Raises `message.invalid` as in `read_header`.
    """
    return read_header(messages), (message.chunk.data for message in messages)


def read_whole(message: Any) -> tuple[Any, Sequence[bytes]]:
    """Return the header of a share that came in one message, and its data as a single chunk.

    Raises:
        OstrakaError: message.too_large for a share that must come as a stream.
    """
    data: bytes = message.data
    if len(data) > MAX_WHOLE_BYTES:
        raise OstrakaError(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"A share of {len(data)} bytes came in one message, which takes {MAX_WHOLE_BYTES}; send it as a"
            " stream.",
        )
    return message.header, (data,)
