"""A federation for trials on this machine, from Python: what `ostraka provision local` writes."""

import random
import socket
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.deploy.provisioning.provision import FederationFolders, provision

HOST = "127.0.0.1"
PORTS = range(20_000, 30_000)
"""Below those that systems hand out by themselves."""
TRIES = 1000


def provision_local(
    federation: str, parties: Sequence[str], query: str, out: Path | str
) -> FederationFolders:
    """Write a whole federation with everybody's keys, for trials on this machine, at ports that are free now.

    Args:
        federation: its name, a DNS label like every site's.
        parties: site names of the answering parties.
        query: site name of the querying party.
        out: folder to write; must not exist, or be empty.

    Returns:
        The folders of every site: `guardian`, `admin`, `parties` by name, `query`, and `ca`.

    Raises:
        OstrakaError: `config.invalid`.
    """
    return provision(
        federation, parties, query, Path(out), host=HOST, base_port=free_base_port(1 + len(parties))
    )


def free_base_port(count: int) -> int:
    """Return the first of `count` ports in a row that nobody listens at; raise `server.port_in_use`."""
    for _ in range(TRIES):
        base = random.randrange(PORTS.start, PORTS.stop - count)  # noqa: S311
        if _are_free(range(base, base + count)):
            return base
    raise OstrakaError(
        ErrorCode.SERVER_PORT_IN_USE, f"No {count} ports in a row are free on {HOST}; end other servers."
    )


def _are_free(ports: range) -> bool:
    try:
        with ExitStack() as stack:
            for port in ports:
                stack.enter_context(socket.create_server((HOST, port)))
    except OSError:
        return False
    return True
