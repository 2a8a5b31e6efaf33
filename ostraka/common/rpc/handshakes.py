"""Connections to a server without a TLS handshake: closed after a deadline, counted and logged."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from typing import TextIO
from urllib.parse import unquote

import structlog
from grpc._cython import cygrpc  # type: ignore[attr-defined, unused-ignore]

DEADLINE_S = 5.0
"""Time limit in seconds for TLS and the first frame of HTTP/2.

gRPC's own limit of 120 s would let anybody who opens connections and sends nothing hold each for as long.
Over a link of 400 ms a handshake takes 1.2 s.
"""
MANY = 250
"""Number of connections without a handshake that causes a warning.

A guardian that restarts gets its parties' connections all at once, and finishes about 300 of them a second.
"""
LOOK_EVERY_S = 5.0
TELL_AGAIN_S = 60.0
"""Time after a warning about many connections during which no other is logged."""
TABLES = (Path("/proc/self/net/tcp"), Path("/proc/self/net/tcp6"))
"""Linux's lists of the connections of this machine or container, of all processes."""
_ESTABLISHED = "01"
_PAGE = 1000
"""Number of sockets per request to gRPC; all are read, so gRPC alone determines the number of requests."""


@dataclass(frozen=True)
class Unfinished:
    """Connections without a handshake, including those that wait to be accepted.

    Attributes:
        connections: their number.
        address: the IP address with the most connections to the port; "" if there are none.
        of_address: the number of its connections, with or without a handshake.
    """

    connections: int
    address: str = ""
    of_address: int = 0


Count = Callable[[], Unfinished | None]
"""Counts connections now; returns None if the system does not allow it."""


class Handshakes:
    """Regular counts of connections at one port; `told` receives the number of each count."""

    def __init__(
        self,
        counting: Callable[[], AbstractContextManager[Count]],
        told: Callable[[int], object],
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take a context manager within which connections can be counted; `timer` is in seconds."""
        self._counting = counting
        self._told = told
        self._timer = timer
        self._logged_at = float("-inf")

    def look(self, found: Unfinished) -> None:
        """Report the number, and log a warning if it is large, once in `TELL_AGAIN_S` seconds."""
        self._told(found.connections)
        now = self._timer()
        if found.connections < MANY or now - self._logged_at < TELL_AGAIN_S:
            return
        self._logged_at = now
        structlog.get_logger().warning(
            "rpc.handshakes",
            unfinished=found.connections,
            address=found.address,
            of_address=found.of_address,
            ended_after_s=DEADLINE_S,
        )

    @contextmanager
    def watching(self, every_s: float = LOOK_EVERY_S) -> Iterator[None]:
        """Count every `every_s` seconds within the block."""
        done = threading.Event()

        def watch(count: Count) -> None:
            while not done.wait(every_s):
                found = count()
                if found is not None:
                    self.look(found)

        with self._counting() as count:
            thread = threading.Thread(target=watch, args=(count,), name="handshakes", daemon=True)
            thread.start()
            try:
                yield
            finally:
                done.set()
                thread.join()


@contextmanager
def counting(port: int) -> Iterator[Count]:
    """Count, within the block, the connections at a port for which gRPC has no handshake.

    The system's tables stay open, because no file can be opened after connections have used up all
    descriptors.
    """
    with ExitStack() as stack:
        tables = list[TextIO]()
        for table in TABLES:
            with suppress(OSError):  # there is no such table, or a server may not read it
                tables.append(stack.enter_context(table.open(encoding="ascii")))
        yield lambda: _find_unfinished(port, tables) if tables else None


def _find_unfinished(port: int, tables: Sequence[TextIO]) -> Unfinished:
    callers = list(_callers(port, tables))
    finished = _find_finished()
    ((address, of_address),) = Counter(address for address, _ in callers).most_common(1) or [("", 0)]
    return Unfinished(sum(caller not in finished for caller in callers), address, of_address)


def _callers(port: int, tables: Sequence[TextIO]) -> Iterator[tuple[str, int]]:
    """Yield the IP address and the port of the far end of each connection at a port."""
    local = f":{port:04X} "
    for table in tables:
        table.seek(0)
        for line in table:
            if local in line:
                _, here, there, state, *_ = line.split()
                if here.endswith(local.strip()) and state == _ESTABLISHED:
                    address, _, far = there.partition(":")
                    yield _text(address), int(far, 16)


def _text(address: str) -> str:
    """Return an address of a table, words of 32 bits in the machine's order, in the usual notation."""
    words = (int(address[at : at + 8], 16) for at in range(0, len(address), 8))
    return _text_of(ip_address(b"".join(word.to_bytes(4, sys.byteorder) for word in words)))


def _text_of(address: IPv4Address | IPv6Address) -> str:
    return str((isinstance(address, IPv6Address) and address.ipv4_mapped) or address)


def _find_finished() -> set[tuple[str, int]]:
    """Return the far ends of this process's gRPC connections that have a handshake.

    gRPC lists them in channelz, which the package grpcio-channelz reads in the same way.
    """
    servers = json.loads(cygrpc.channelz_get_servers(0)).get("server", ())
    return {end for server in servers for end in far_ends(int(server["ref"]["serverId"]))}


def far_ends(server: int) -> Iterator[tuple[str, int]]:
    """Yield the far ends of a server's connections by its number in channelz; none once it has ended."""
    start = 0
    while True:
        try:
            page = json.loads(cygrpc.channelz_get_server_sockets(server, start, _PAGE))
        except ValueError:
            # It ended after it was listed. An error would end the thread that counts, for all other servers.
            return
        listed = page.get("socketRef", ())
        yield from (_far_end(one["name"]) for one in listed)
        if page.get("end") or not listed:
            return
        start = int(listed[-1]["socketId"]) + 1


def _far_end(name: str) -> tuple[str, int]:
    """Parse a name such as `chttp2 ipv4:127.0.0.1:43756`; return no connection's end for any other name."""
    _, _, place = unquote(name).partition(":")
    host, _, port = place.rpartition(":")
    try:
        return _text_of(ip_address(host.strip("[]"))), int(port)
    except ValueError:
        return "", 0
