"""A TCP link to a server that is distant, slow, lossy or cut, like the connections between sites."""

import asyncio
import socket
import threading
from asyncio import StreamReader, StreamWriter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

PIECE_BYTES = 16384
HELD_PIECES = 16
"""What a link holds in each direction, like the buffers of routers: 256 KiB."""
SEGMENT_BYTES = 1448
"""As on Ethernet."""
ACCEPTING_TURNS = 5
"""Turns of the event loop after which a newly accepted connection has a task that closes it."""
Held = asyncio.Queue[tuple[float, bytes]]


@dataclass
class Link:
    """Forwards bytes to the server at `server` until it is cut; then it discards them.

    Attributes:
        round_trip_s: how long a byte and its answer travel, in seconds; connecting takes as long again.
        bytes_per_s: the speed of each direction.
        lost: how many connections break before any byte arrives.
        server: host:port.
        address: host:port where callers reach it, while it is open.
        cut: set it to cut the link.
    """

    round_trip_s: float = 0.0
    bytes_per_s: float = float("inf")
    lost: int = 0
    server: str = ""
    address: str = ""
    cut: threading.Event = field(default_factory=threading.Event)

    async def open(self) -> asyncio.Server:
        """Start accepting connections, and set the link's address."""
        listening = _socket()
        listening.bind(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{listening.getsockname()[1]}"
        return await asyncio.start_server(self._connect, sock=listening)

    async def _connect(self, reader: StreamReader, writer: StreamWriter) -> None:
        """Forward one connection to the server and back."""
        host, _, port = self.server.rpartition(":")
        self.lost, broken = max(0, self.lost - 1), self.lost > 0
        with suppress(OSError, asyncio.CancelledError), aborting(writer):
            if broken:
                return
            await asyncio.sleep(self.round_trip_s)
            with _socket() as far:
                await asyncio.get_running_loop().sock_connect(far, (host, int(port)))
                far_reader, far_writer = await asyncio.open_connection(sock=far)
                with aborting(far_writer):
                    await asyncio.gather(self._carry(reader, far_writer), self._carry(far_reader, writer))

    async def _carry(self, source: StreamReader, target: StreamWriter) -> None:
        held: Held = asyncio.Queue(HELD_PIECES)
        await asyncio.gather(self._take(source, held), self._deliver(held, target))

    async def _take(self, source: StreamReader, held: Held) -> None:
        data = b"-"
        while data:
            data = await source.read(PIECE_BYTES)
            if not (data and self.cut.is_set()):
                await held.put((asyncio.get_running_loop().time() + self.round_trip_s / 2, data))

    async def _deliver(self, held: Held, target: StreamWriter) -> None:
        data = b"-"
        while data:
            due, data = await held.get()
            await asyncio.sleep(due - asyncio.get_running_loop().time())
            target.write(data)
            await target.drain()
            await asyncio.sleep(len(data) / self.bytes_per_s)
        target.close()


def _socket() -> socket.socket:
    """Return one with buffers as small as on a real link: on loopback the system would hold several MiB."""
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, HELD_PIECES * PIECE_BYTES)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, SEGMENT_BYTES)
    made.setblocking(False)
    return made


@contextmanager
def aborting(writer: StreamWriter) -> Iterator[None]:
    try:
        yield
    finally:
        writer.transport.abort()


@contextmanager
def links(*made: Link) -> Iterator[None]:
    """Run the links within the block, and set their addresses."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    async def open_all() -> list[asyncio.Server]:
        return [await link.open() for link in made]

    async def close_all(servers: list[asyncio.Server]) -> None:
        # A server that closes between accept and the transport leaves the connection open (gh-109564).
        for listening in [one for server in servers for one in server.sockets]:
            loop.remove_reader(listening.fileno())
        for _ in range(ACCEPTING_TURNS):
            await asyncio.sleep(0)
        for server in servers:
            server.close()
            await server.wait_closed()
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await asyncio.sleep(0)

    servers = asyncio.run_coroutine_threadsafe(open_all(), loop).result()
    try:
        yield
    finally:
        asyncio.run_coroutine_threadsafe(close_all(servers), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
