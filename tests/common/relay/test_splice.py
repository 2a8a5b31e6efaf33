"""Sides that something happens to before they are joined, as it does by Python 3.11.2 and by slow ends."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from websockets.frames import Frame, Opcode

from ostraka.common.identity.credentials import TLS_CERT, TLS_KEY
from ostraka.common.relay.splice import BUFFER_BYTES, Side, until_ended
from ostraka.common.relay.web_socket import WebSocket
from tests.common.federation import PARTY, Federation
from tests.fair_clock import HANGS_S
from tests.relay.test_limits import UPGRADE

TURNS = 10
"""Of the loop, in which a connection that is aborted ends: its socket, TLS and its user, each in turn."""


@asynccontextmanager
async def open_side() -> AsyncIterator[tuple[Side, asyncio.Transport, socket.socket]]:
    """Yield one side, its transport, and the socket at its other end."""
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    transport, side = await asyncio.get_running_loop().create_connection(Side, sock=ours)
    try:
        yield side, transport, theirs
    finally:
        side.abort()
        await side.ended
        theirs.close()


class Mute(asyncio.Protocol):
    """The end of a connection that reads nothing, and thereby hears no goodbye."""

    def __init__(self, made: asyncio.Future[asyncio.Transport]) -> None:
        self._made = made

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.pause_reading()
        self._made.set_result(transport)


async def read_all(connection: socket.socket) -> bytes:
    """Return what comes until the other end sends no more."""
    loop = asyncio.get_running_loop()
    read = b""
    while data := await loop.sock_recv(connection, BUFFER_BYTES):
        read += data
    return read


def test_what_both_ends_said_before_they_were_joined_is_passed_on_with_its_end() -> None:
    """A transport of Python 3.11.2 reads, although it was told not to, before it is joined."""

    async def work() -> None:
        async with open_side() as (one, _, first), open_side() as (other, _, second):
            for side, said in ((one, b"hello"), (other, b"settings")):
                side.data_received(said)
                assert side.eof_received()
            one.join(other)
            assert await read_all(second) == b"hello"
            assert await read_all(first) == b"settings"
            await until_ended(one, other)
            assert (one.received, other.received) == (5, 8)

    asyncio.run(asyncio.wait_for(work(), HANGS_S))


def test_a_side_reads_one_piece_and_no_more_before_it_is_joined() -> None:
    async def work() -> None:
        async with open_side() as (one, transport, first), open_side() as (other, _, second):
            assert transport.is_reading()
            first.send(b"hello")
            while transport.is_reading():
                await asyncio.sleep(0)
            one.join(other)
            assert transport.is_reading()
            first.close()
            assert await read_all(second) == b"hello"

    asyncio.run(asyncio.wait_for(work(), HANGS_S))


def test_more_than_the_other_end_takes_before_they_were_joined_stops_the_reader() -> None:
    async def work() -> None:
        async with open_side() as (one, transport, _), open_side() as (other, _, _):
            one.data_received(bytes(64 * BUFFER_BYTES))
            one.join(other)
            assert not transport.is_reading()

    asyncio.run(asyncio.wait_for(work(), HANGS_S))


def test_an_end_that_goes_on_after_its_end_is_cut_off() -> None:
    """Its other side was told that no more follows, and takes no more."""

    async def work() -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            _, tunnel = await asyncio.get_running_loop().create_connection(WebSocket.server, sock=ours)
            tunnel.data_received(UPGRADE)
            request = await tunnel.opened
            assert request is not None
            tunnel.accept(request)
            async with open_side() as (side, _, far):
                tunnel.join(side)
                said = ((Opcode.BINARY, b"hello"), (Opcode.TEXT, b"eof"), (Opcode.BINARY, b"more"))
                for opcode, content in said:
                    tunnel.data_received(Frame(opcode, content).serialize(mask=True))
                await until_ended(tunnel, side)
                assert await read_all(far) == b"hello"

    asyncio.run(asyncio.wait_for(work(), HANGS_S))


def test_a_side_over_tls_that_was_closed_twice_can_still_be_aborted(tmp_path: Path) -> None:
    """Its other end does not say goodbye."""
    own = Federation(tmp_path / "federation").issue(PARTY)
    served = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    served.load_cert_chain(own.folder / TLS_CERT, own.folder / TLS_KEY)
    trusting = ssl.create_default_context(cadata=own.ca_pem.decode())

    async def work() -> None:
        loop = asyncio.get_running_loop()
        made = loop.create_future()
        server = await loop.create_server(lambda: Mute(made), "127.0.0.1", 0, ssl=served)
        where = server.sockets[0].getsockname()
        name = PARTY.server_name
        _, side = await loop.create_connection(Side, *where, ssl=trusting, server_hostname=name)
        peer = await made
        side.close()
        side.close()
        side.abort()
        for _ in range(TURNS):
            await asyncio.sleep(0)
        assert side.ended.done()
        server.close()
        peer.abort()

    asyncio.run(asyncio.wait_for(work(), HANGS_S))
