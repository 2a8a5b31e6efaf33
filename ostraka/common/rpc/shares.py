"""Shares on the wire: in one message where they fit one, and as a stream of header and chunks where not."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar
from weakref import WeakSet

import grpc

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.rpc.retry import ENDED
from ostraka.common.rpc.steps import read_header, stream_parts

MAX_WHOLE_BYTES = 4032 << 10
"""The largest share in one message: gRPC takes 4 MiB at once, of which 64 KiB are left to the header."""

M = TypeVar("M")
T = TypeVar("T")


class ShareSender:
    """Sends shares in the form that is due; remembers servers that take streams alone.

    Servers of an earlier version know no other form. Safe to use from many threads.
    """

    def __init__(self) -> None:
        """No server is known to take streams alone."""
        self._streaming: WeakSet[grpc.Channel] = WeakSet()

    def send(self, channel: grpc.Channel, size: int, *, whole: Callable[[], T], stream: Callable[[], T]) -> T:
        """Return what the server at the end of `channel` answers to a share of `size` bytes.

        Args:
            channel: which the calls are made on.
            size: of what is shared, without its header.
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
    """Yield a share as messages of a `kind` that has header and chunk."""
    return stream_parts(kind, header, [data])


def read_stream(messages: Iterator[Any]) -> tuple[Any, Iterator[bytes]]:
    """Return the header of a stream, and its chunks, which are read as they are asked for.

    Raises `message.invalid` as `read_header` does.
    """
    return read_header(messages), (message.chunk.data for message in messages)


def read_whole(message: Any) -> tuple[Any, Sequence[bytes]]:
    """Return the header of a share that came in one message, and its data as the one chunk.

    Raises:
        OstrakaError: message.too_large for a share that is due as a stream.
    """
    data: bytes = message.data
    if len(data) > MAX_WHOLE_BYTES:
        raise OstrakaError(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"A share of {len(data)} bytes came in one message, which takes {MAX_WHOLE_BYTES}; send it as a"
            " stream.",
        )
    return message.header, (data,)
