"""Two connections joined so that each sends what the other one received, no faster than it is taken."""

import asyncio
import socket
from typing import Any, cast

BUFFER_BYTES = 65_536
"""What one side keeps of what the other does not take yet, before it stops reading: memory stays flat."""
LINGER_S = 10.0
"""For how long a side whose other one has closed may take what is left: a reader that stands still goes on
without end."""
IDLE_S = 30
"""Silence of a connection after which the system asks whether the other end is there."""
ASK_EVERY_S = 15
ASK_TIMES = 2
"""How often it asks before it gives a connection up: 60 s after the last sign of life."""


class Side(asyncio.Protocol):
    """One connection of a splice. What is read from it before it is joined waits, and no more is read.

    Attributes:
        ended: done once the connection is closed.
        received: bytes read so far.
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
        """Send from now on what each of the two receives to the other one; one that ended ends both."""
        self._other = other
        other._other = self
        # Data of both before the end of either, and reading before data: these may have it held again.
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
        """Send data; whoever calls stops reading while `pause_writing` is in force."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def send_eof(self) -> None:
        """Say that nothing more follows; the other direction stays open."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write_eof()

    def close(self) -> None:
        """Close the connection once what is kept of it is sent, or once it is made."""
        self._unwanted = True
        # A connection over TLS that is closed twice can no longer be aborted.
        if self._transport is not None and not self._transport.is_closing():
            self._transport.close()

    def abort(self) -> None:
        """Close the connection at once, or once it is made."""
        self._unwanted = True
        if self._transport is not None:
            self._transport.abort()

    def hold(self, held: bool) -> None:
        """Stop reading, or go on."""
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
        """Pass on what came."""
        self._pass(data)

    def eof_received(self) -> bool:
        """Pass on that nothing more comes; return that the connection stays open."""
        self._pass_eof()
        return True

    def pause_writing(self) -> None:
        """Let the other side read no more: this one has not sent what it was given."""
        if self._other is not None:
            self._other.hold(True)

    def resume_writing(self) -> None:
        """Let the other side read again."""
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
            # Held here, and not when the connection is made: Python 3.11.2 begins to read all the same.
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
    """Wait until both sides of a splice are closed; what the second does not take in time is dropped."""
    ends = [one.ended, other.ended]
    try:
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait(ends, timeout=LINGER_S)
    finally:
        one.abort()
        other.abort()


def _prepare(connection: Any) -> None:
    """Send at once what is sent, and have the system notice an end that is gone.

    A splice by itself would wait for that end for ever. asyncio has only the sockets that it made itself send
    at once; on others a handshake takes 40 ms more, by which the other end's system delays acknowledgements.
    """
    if connection is None or connection.family not in (socket.AF_INET, socket.AF_INET6):
        return
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", IDLE_S), ("TCP_KEEPINTVL", ASK_EVERY_S), ("TCP_KEEPCNT", ASK_TIMES)):
        if hasattr(socket, name):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
