"""Servers of a single site, to check their identity, clock and health."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ostraka.common.clock import Clock, SystemClock
from ostraka.common.config import load_site
from ostraka.common.identity import Credentials
from ostraka.common.rpc import BoundServer, make_server


@contextmanager
def serving(kit: Path, *, clock: Clock | None = None, listen: str = "") -> Iterator[BoundServer]:
    """Run a server with a kit's certificates at the address in its site.toml, or at `listen`."""
    site = load_site(kit)
    clock = clock or SystemClock()
    bound = make_server(Credentials.of(site), listen or site.listen, [], {}, clock)
    bound.server.start()
    try:
        yield bound
    finally:
        bound.server.stop(None).wait()
