"""Thousands of connections that say nothing, from an outsider without a certificate, and members served."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from ostraka.common.identity import Identity, Role
from ostraka.common.rpc import open_channel
from ostraka.deploy.simulation.processes import Child, ChildCommand, Start, Supervisor
from tests.guardian.federation import FEDERATION, Federation
from tests.waiting import until

SILENT = 5_000
OTHERS = 256
"""Files that the processes have open besides."""
SOFT = 1_024
"""What a shell lets a server have, unless it asks for more."""
READY_S = 240.0
WITHIN_S = 1.0


@contextmanager
def flooded(
    federation: Federation, start: Start, limits: tuple[int, int], connections: int, how: str
) -> Iterator[tuple[Child, str]]:
    """Run a guardian with a soft and a hard limit of files, and an outsider; yield it and its address."""
    ready, held = federation.root / "ready.json", federation.root / "held.json"
    guarded, hold = (partial(start, entry=f"tests.guardian.outsiders:{one}") for one in ("guarded", "hold"))
    logs = federation.root / "logs"
    with Supervisor(logs, start=guarded) as guardians, Supervisor(logs, start=hold) as outsiders:
        words = [*map(str, limits), str(federation.guardian_folder), str(ready)]
        guardian = guardians.start(ChildCommand("guardian", words))
        address = guardians.wait_ready(guardian, ready, READY_S)
        outsider = outsiders.start(ChildCommand("outsider", [address, str(connections), how, str(held)]))
        outsiders.wait_ready(outsider, held, READY_S)
        yield guardian, address


def attempts_until_served(federation: Federation, address: str, most: int) -> int:
    """Ask for the guardian's health, each time within a second over a connection of its own."""
    credentials = federation.credentials["ops", Role.ADMIN]
    guardian = Identity(FEDERATION, "guardian", Role.GUARDIAN)
    for attempt in range(1, most + 1):
        with open_channel(credentials, address, guardian) as channel:
            stub: Any = health_pb2_grpc.HealthStub(channel)
            try:
                stub.Check(health_pb2.HealthCheckRequest(), timeout=WITHIN_S)
            except grpc.RpcError:
                continue
            return attempt
    return most + 1


def test_members_are_served_beside_thousands_of_silent_connections(tmp_path: Path, start: Start) -> None:
    """Each is opened anew when it ends, so that they last; the guardian began with a soft limit of 1,024."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    silent = SILENT if hard == resource.RLIM_INFINITY else min(SILENT, hard - OTHERS)
    if silent < 2 * SOFT:
        pytest.skip(f"a process may open {hard} files here, which a server has room for anyway")
    federation = Federation(tmp_path)
    with flooded(federation, start, (SOFT, hard), silent, "again") as (guardian, address):
        assert attempts_until_served(federation, address, most=10) <= 10
        until(lambda: "rpc.handshakes" in guardian.log.read_text(), timeout_s=READY_S)
        assert attempts_until_served(federation, address, most=10) <= 10


def test_a_server_with_few_files_is_deaf_until_silent_connections_are_ended(
    tmp_path: Path, start: Start
) -> None:
    """The system lets it have no more: what fills it is ended after 5 s, where gRPC's own deadline is 120."""
    federation = Federation(tmp_path)
    with flooded(federation, start, (SOFT, SOFT), SOFT, "once") as (guardian, address):
        assert attempts_until_served(federation, address, most=40) <= 40
        assert "Traceback" not in guardian.log.read_text()
