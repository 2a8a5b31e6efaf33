"""Loopback addresses that no process listens on.

The kernel gives ports of its local range (32768 and above on Linux) to every connection and to every bind to
port 0, so a port of that range that was free a moment ago may be taken when a server wants it. A port below
that range stays free between the lookup and the server's bind, except that other test processes look for
ports too. So each process claims blocks of ports and draws only from its own.
"""

import fcntl
import os
import random
import socket
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import IO

_FIRST, _BEYOND = 20_000, 32_768
_BLOCK = 128
_RANDOM = random.SystemRandom()
_CLAIMED: list[IO[bytes]] = []
"""Locks of this process's blocks; they end with the process."""


def free_ports(count: int) -> list[int]:
    """Return this many different ports, which no other test process on this machine gets."""
    ports = _own_ports(os.getpid())
    return [next(ports) for _ in range(count)]


def free_addresses(count: int) -> list[str]:
    """Return this many different addresses of 127.0.0.1, each with a free port."""
    return [f"127.0.0.1:{port}" for port in free_ports(count)]


@cache
def _own_ports(pid: int) -> Iterator[int]:
    """Yield the free ports of a process; a forked child gets other blocks than its parent."""
    return _drawn()


def _drawn() -> Iterator[int]:
    while True:
        block = _claimed_block()
        yield from (port for port in block if _is_free(port))


def _claimed_block() -> range:
    """Lock a block that no other process holds; all users of the machine share the lock files."""
    folder = Path(tempfile.gettempdir(), f"ostraka-test-ports-{os.getuid()}")
    folder.mkdir(exist_ok=True)
    starts = list(range(_FIRST, _BEYOND - _BLOCK + 1, _BLOCK))
    _RANDOM.shuffle(starts)
    for start in starts:
        lock = (folder / str(start)).open("wb")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.close()
            continue
        _CLAIMED.append(lock)
        return range(start, start + _BLOCK)
    raise RuntimeError(f"Other processes of tests hold all ports; {folder} has their locks.")


def _is_free(port: int) -> bool:
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True
