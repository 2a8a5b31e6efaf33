"""Minimum cost of a share: a bare Python gRPC server with mutual TLS that receives it and does nothing.

`python -m benchmarks.load.floor FOLDER READY` serves it with the credentials in FOLDER.
"""

import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import grpc

from benchmarks.load.federation import GUARDIAN, Guardian, call
from benchmarks.load.meter import Cost, Meter
from ostraka.common.identity import Credentials
from ostraka.common.rpc.limits import THREADS
from ostraka.common.rpc.serving import write_ready
from ostraka.deploy.simulation.processes import Child, Supervisor

METHOD = "/ostraka.load.Floor/Take"
HEADER_BYTES = 100
REPLY_BYTES = 640
"""Size of what surrounds a share: its header, and an acknowledgement with a signed audit head."""
READY_S = 60.0


def measure_floor(root: Path, parties: Sequence[Credentials], share_bytes: int, pool: Executor) -> Cost:
    """Let every party send a share's bytes twice; the second time is measured, on open connections."""
    with _serving(root) as server:
        meter = Meter([server])
        channels = [call(party, server) for party in parties]
        takes: list[Any] = [channel.unary_unary(METHOD) for channel in channels]
        share = bytes(HEADER_BYTES + share_bytes)
        for _ in range(2):
            with meter.measure("floor") as cost:
                jobs = [
                    pool.submit(cost.time, partial(take, share), sent=len(share), received=len)
                    for take in takes
                ]
                for job in jobs:
                    job.result()
        for channel in channels:
            channel.close()
    return meter.costs[-1]


def serve(folder: Path, ready: Path) -> None:
    """Serve until the process is ended."""
    credentials = Credentials.load(folder)
    server = grpc.server(ThreadPoolExecutor(THREADS))
    handler: Any = grpc.unary_unary_rpc_method_handler(_take)
    _, service, method = METHOD.split("/")
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(service, {method: handler})])
    pair = (credentials.tls_key_pem, credentials.tls_cert_pem)
    tls = grpc.ssl_server_credentials([pair], credentials.ca_pem, require_client_auth=True)
    port = server.add_secure_port("127.0.0.1:0", tls)
    server.start()
    write_ready(ready, f"127.0.0.1:{port}")
    threading.Event().wait()


def _take(_share: bytes, _: grpc.ServicerContext) -> bytes:
    return bytes(REPLY_BYTES)


@contextmanager
def _serving(root: Path) -> Iterator[Guardian]:
    folder = root / GUARDIAN.site
    ready = root / "floor.json"
    log = root / "floor.log"
    with log.open("wb") as output, Supervisor(root / "logs") as processes:
        command = [sys.executable, "-m", "benchmarks.load.floor", str(folder), str(ready)]
        with subprocess.Popen(command, stdout=output, stderr=output) as process:
            try:
                address = processes.wait_ready(Child("floor", process, log), ready, READY_S)
                yield Guardian(address, process)
            finally:
                process.kill()


if __name__ == "__main__":
    serve(Path(sys.argv[1]), Path(sys.argv[2]))
