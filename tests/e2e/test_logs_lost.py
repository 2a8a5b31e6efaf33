"""Servers whose log goes to a terminal that is closed, or to a pipe that nobody reads, serve on."""

import json
import os
import pty
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from ostraka.common.config import load_site, write_site
from ostraka.common.identity import Credentials, Identity, Role
from ostraka.common.rpc import open_channel
from ostraka.deploy.simulation.federation import GUARDIAN, QUERY
from ostraka.deploy.simulation.processes import Process, Start
from tests.e2e.sites import SETTINGS, Sites
from tests.fair_clock import HANGS_S
from tests.waiting import until

ABOUT = "/ostraka.v1.Site/About"
MALFORMED = b"\xff\xff\xff"


@contextmanager
def served(group: str, folder: Path, output: int, start: Start) -> Iterator[tuple[Process, str]]:
    """Run a server as its own process that logs to `output`, which is closed here; yield its address too."""
    ready = folder / "ready.json"
    command = [group, "serve", "--site", str(folder), "--ready-file", str(ready)]
    with os.fdopen(output, "wb", buffering=0) as log:
        process = start(command, log, os.environ)
    try:
        until(lambda: ready.exists() or process.poll() is not None)
        yield process, json.loads(ready.read_text())["address"]
    finally:
        process.kill()


def require_serving_after_malformed(sites: Sites, address: str, whose: Identity) -> None:
    """Check that a message that cannot be read is an error of that call alone."""
    own = Credentials.of(load_site(sites.folder / QUERY))
    with closing(open_channel(own, address, whose)) as channel:
        with pytest.raises(grpc.RpcError) as failed:
            channel.unary_unary(ABOUT, request_serializer=bytes)(MALFORMED, timeout=HANGS_S)
        assert failed.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        health = health_pb2_grpc.HealthStub(channel)
        health.Check(  # type: ignore[attr-defined, unused-ignore]
            health_pb2.HealthCheckRequest(), timeout=HANGS_S
        )


def require_stopping(process: Process) -> None:
    process.terminate()
    assert process.wait(HANGS_S) == 0


def shown_on(terminal: int, text: bytes) -> None:
    """Read what a terminal is sent until `text` comes."""
    shown = b""
    while text not in shown:
        shown += os.read(terminal, 65536)


def test_servers_outlive_whoever_read_their_logs(sites: Sites, start: Start) -> None:
    terminal, theirs = pty.openpty()
    read, write = os.pipe()
    os.close(read)
    site = SETTINGS.sites[0]
    name = load_site(sites.folder / QUERY).federation
    with served("guardian", sites.folder / GUARDIAN, theirs, start) as (guardian, address):
        identity = Identity(name, GUARDIAN, Role.GUARDIAN)
        require_serving_after_malformed(sites, address, identity)
        shown_on(terminal, b"guardian.serving")
        os.close(terminal)
        require_serving_after_malformed(sites, address, identity)
        folder = sites.folder / site
        write_site(load_site(folder).model_copy(update={"guardian": address}))
        with served("party", folder, write, start) as (party, where):
            require_serving_after_malformed(sites, where, Identity(name, site, Role.PARTY))
            require_stopping(party)
        require_stopping(guardian)
