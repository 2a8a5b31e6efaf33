"""Two joined connections: each sends what the other received, no faster than it is accepted."""

import asyncio
import socket
from typing import Any, cast

BUFFER_BYTES = 65_536
"""Maximum backlog of one side before the other stops reading, which bounds the memory."""
LINGER_S = 10.0
"""How long a side may still accept the rest after the other has closed.

Without a limit, a reader that stands still would go on for ever.
"""
IDLE_S = 30
"""Silence on a connection after which the system probes whether the other end is still there."""
ASK_EVERY_S = 15
ASK_TIMES = 2
"""Number of probes before a connection is given up: 60 s after the last sign of life."""


class Side(asyncio.Protocol):
    """One connection of a splice. Data that arrive before it is joined wait, and reading stops.

    Attributes:
        ended: done once the connection is closed.
        received: number of bytes read so far.
    """

    def __init__(self) -> None:
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.received = 0
        self._transport: asyncio.Transport | None = None
        self._other: Side | None = None
        self._early: list[bytes] = []
        self._read_all = False
        self._unwanted = False

    def join(self, other: "Side") -> None:
        """From now on send what each of the two receives to the other; if one ended, both end."""
        self._other = other
        other._other = self
        # First resume reading, then pass on data, which may pause it again; then pass on both ends.
        for side in (self, other):
            side.hold(False)
            side._pass_early()
        for side in (self, other):
            if side._read_all:
                side._pass_eof()
        for side in (self, other):
            if side.ended.done():
                cast(Side, side._other).close()

    def send(self, data: bytes) -> None:
        """Send data; callers must stop reading while `pause_writing` is in force."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def send_eof(self) -> None:
        """Say that nothing more follows; the other direction stays open."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write_eof()

    def close(self) -> None:
        """Close the connection after the backlog is sent, or once it is made."""
        self._unwanted = True
        # A TLS connection that is closed twice can no longer be aborted.
        if self._transport is not None and not self._transport.is_closing():
            self._transport.close()

    def abort(self) -> None:
        """Close the connection at once, or once it is made."""
        self._unwanted = True
        if self._transport is not None:
            self._transport.abort()

    def hold(self, held: bool) -> None:
        """Stop reading, or resume it."""
        if self._transport is None or self._transport.is_closing():
            return
        if held:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the transport, which begins to read."""
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=BUFFER_BYTES)
        _prepare(self._transport.get_extra_info("socket"))
        if self._unwanted:
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        """Pass on the received data."""
        self._pass(data)

    def eof_received(self) -> bool:
        """Pass on that nothing more comes; return True, so that the connection stays open."""
        self._pass_eof()
        return True

    def pause_writing(self) -> None:
        """Pause reading on the other side, because this one has a backlog."""
        if self._other is not None:
            self._other.hold(True)

    def resume_writing(self) -> None:
        """Resume reading on the other side."""
        if self._other is not None:
            self._other.hold(False)

    def connection_lost(self, exc: Exception | None) -> None:
        """End both sides."""
        if not self.ended.done():
            self.ended.set_result(None)
        if self._other is not None:
            self._other.close()

    def _pass_early(self) -> None:
        early = self._early
        self._early = []
        for data in early:
            self._pass(data)

    def _pass(self, data: bytes) -> None:
        if self._other is None:
            # Paused here, not in connection_made: Python 3.11.2 would begin to read anyway.
            self._early.append(data)
            self.hold(True)
            return
        self.received += len(data)
        self._other.send(data)

    def _pass_eof(self) -> None:
        self._read_all = True
        if self._other is None:
            return  # passed on once there is another side
        if self._other._read_all:
            self._other.close()
            self.close()
        else:
            self._other.send_eof()


async def until_ended(one: Side, other: Side) -> None:
    """Wait until both sides of a splice are closed; drop what the second does not accept in time."""
    ends = [one.ended, other.ended]
    try:
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait(ends, timeout=LINGER_S)
    finally:
        one.abort()
        other.abort()


def _prepare(connection: Any) -> None:
    """Disable delays in sending, and have the system notice a lost end.

    A splice itself would wait for a lost end for ever. asyncio disables the delay only on sockets that it
    creates; on others a handshake takes 40 ms more, by which the other end's system delays acknowledgements.
    """
    if connection is None or connection.family not in (socket.AF_INET, socket.AF_INET6):
        return
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", IDLE_S), ("TCP_KEEPINTVL", ASK_EVERY_S), ("TCP_KEEPCNT", ASK_TIMES)):
        if hasattr(socket, name):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
