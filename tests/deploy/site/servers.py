"""Servers of a site, alone: who they are, what their clock says, and whether they are well."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from common.clock import Clock, SystemClock
from common.config import load_site
from common.identity import Credentials
from common.rpc import BoundServer, make_server


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens at."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in sockets]


@contextmanager
def serving(kit: Path, *, clock: Clock | None = None, listen: str = "") -> Iterator[BoundServer]:
    """A server with a kit's certificates where its site.toml says, or at `listen`."""
    site = load_site(kit)
    clock = clock or SystemClock()
    bound = make_server(Credentials.of(site), listen or site.listen, [], {}, clock)
    bound.server.start()
    try:
        yield bound
    finally:
        bound.server.stop(None).wait()
