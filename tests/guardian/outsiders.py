"""Processes of a flood: a guardian with few file descriptors, and an outsider who holds connections."""

import resource
import socket
import sys
from pathlib import Path

from ostraka.common.config import split_address
from ostraka.common.rpc.serving import write_ready
from ostraka.guardian.serving.server import serve

CONNECT_S = 120.0


def guarded() -> None:
    """Serve as a guardian, with the soft and hard limits of open files in the first arguments."""
    soft, hard, site, ready = sys.argv[1:]
    resource.setrlimit(resource.RLIMIT_NOFILE, (int(soft), int(hard)))
    serve(Path(site), ready_file=Path(ready))


def hold() -> None:
    """Open many silent connections; with "again", reopen each once the server has closed it."""
    address, connections, how, ready = sys.argv[1:]
    where = split_address(address)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    held = [socket.create_connection(where, CONNECT_S) for _ in range(int(connections))]
    write_ready(Path(ready), address)
    at = 0
    while True:
        held[at].settimeout(None)
        held[at].recv(1)
        if how == "again":
            held[at].close()
            held[at] = socket.create_connection(where, CONNECT_S)
        at = (at + 1) % len(held)
