"""Parties that a querying party calls: one process, with a port and certificates for each of them.

`python -m benchmarks.load.ports FOLDER READY` serves all that have a folder in FOLDER. A reply is a fresh
seed.
"""

import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from benchmarks.load.run import CLASSES
from ostraka.common.identity import Credentials
from ostraka.common.rpc import keepalive
from ostraka.common.rpc.limits import THREADS
from ostraka.common.rpc.serving import write_ready
from ostraka.common.sharing.shares import fresh_seed
from ostraka.deploy.simulation.processes import Child, Supervisor
from ostraka.protos.ostraka.v1 import party_pb2

READY_S = 120.0


def serve(folder: Path, ready: Path) -> None:
    """Serve until the process is ended."""
    server = grpc.server(ThreadPoolExecutor(THREADS), options=keepalive.serving())
    handler: Any = grpc.stream_stream_rpc_method_handler(
        _vote, party_pb2.VoteRequest.FromString, party_pb2.VoteReply.SerializeToString
    )
    server.add_generic_rpc_handlers(
        [grpc.method_handlers_generic_handler("ostraka.v1.Party", {"Vote": handler})]
    )
    status = health.HealthServicer()
    status.set("", health_pb2.HealthCheckResponse.SERVING)
    health_pb2_grpc.add_HealthServicer_to_server(status, server)
    bound = []
    for party in sorted(folder.iterdir()):
        credentials = Credentials.load(party)
        pair = (credentials.tls_key_pem, credentials.tls_cert_pem)
        tls = grpc.ssl_server_credentials([pair], credentials.ca_pem, require_client_auth=True)
        bound.append(f"127.0.0.1:{server.add_secure_port('127.0.0.1:0', tls)}")
    server.start()
    write_ready(ready, " ".join(bound))
    threading.Event().wait()


def _vote(
    messages: Iterator[party_pb2.VoteRequest], _: grpc.ServicerContext
) -> Iterator[party_pb2.VoteReply]:
    """Answer a batch without looking at it."""
    header = next(messages).header
    for _chunk in messages:
        pass
    reply = party_pb2.VoteReplyHeader(rows=header.rows, width=CLASSES, seed=fresh_seed())
    yield party_pb2.VoteReply(header=reply)


@contextmanager
def serving(root: Path, parties: Sequence[Credentials]) -> Iterator[dict[str, str]]:
    """Run such a process for these parties of `root`, and yield their addresses by site."""
    folder = root / "ports"
    ready = root / "ports.json"
    log = root / "ports.log"
    folder.mkdir()
    for party in parties:
        (folder / party.identity.site).symlink_to(root / party.identity.site)
    with log.open("wb") as output, Supervisor(root / "logs") as processes:
        command = [sys.executable, "-m", "benchmarks.load.ports", str(folder), str(ready)]
        with subprocess.Popen(command, stdout=output, stderr=output) as process:
            try:
                addresses = processes.wait_ready(Child("ports", process, log), ready, READY_S).split()
                yield dict(zip(sorted(one.identity.site for one in parties), addresses, strict=True))
            finally:
                process.kill()


if __name__ == "__main__":
    serve(Path(sys.argv[1]), Path(sys.argv[2]))
