"""Overhead of a relay, compared with direct calls in the same run: `python -m benchmarks.relay`.

The relay and the site's agent are processes; server and caller are threads of this process. Everything is on
this machine, so no network time is included: a call through a relay crosses the network twice.
"""

import asyncio
import socket
import ssl
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.processors import TICKS
from ostraka.common.clock import SystemClock
from ostraka.common.config import SITE_FILE, SiteConfig, load_site, split_address, write_site
from ostraka.common.identity import CertificateAuthority, Credentials, Identity, Role
from ostraka.common.relay.agent import attach
from ostraka.common.relay.agent_process import AgentProcess, relay_ways
from ostraka.common.relay.section import load_relay_section
from ostraka.common.rpc import make_server, open_channel
from ostraka.deploy.simulation.processes import ChildCommand, Supervisor
from ostraka.protos.ostraka.v1 import site_pb2, site_pb2_grpc
from ostraka.relay.quotas import MAX_OF_SITE

FEDERATION = "bench"
RELAY = Identity(FEDERATION, "hub", Role.RELAY)
PARTY = Identity(FEDERATION, "a", Role.PARTY)
QUERIER = Identity(FEDERATION, "q", Role.QUERY)
CALLS = 400  # of each way, alternately: medians, which other load disturbs equally
CONNECTIONS = 40  # of each way
BULK_BYTES = 256 << 20  # of one stream: takes seconds, so its start is negligible
IDLE_SITES = 400  # attached at once: their memory is far above the relay's own fluctuations
AT_ONCE = 16  # sites that attach at the same time
DAYS = 1.0


def main() -> None:
    """Print medians of both ways, and the relay's own cost."""
    table = Table("", "direct", "by the relay", "more", "ratio")
    table.title = "one run, ways in turns"
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        bench = Bench(Path(folder), stack)
        calls = bench.in_turns(CALLS, bench.calling())
        new = bench.in_turns(CONNECTIONS, (bench.connecting(bench.direct), bench.connecting(bench.relayed)))
        for name, (direct, relayed) in (("call, ms", calls), ("new connection, ms", new)):
            table.add_row(
                name, f"{direct:.2f}", f"{relayed:.2f}", f"{relayed - direct:.2f}", f"{relayed / direct:.1f}"
            )
        direct, relayed, relay_s, agent_s = bench.bulk()
        table.add_row("one stream, MB/s", f"{direct:.0f}", f"{relayed:.0f}", "", f"{relayed / direct:.2f}")
        Console().print(table)
        gigabytes = BULK_BYTES / 1e9
        print(f"relay {relay_s / gigabytes:.1f} processor s/GB: {relay_s / gigabytes * 2:.1f}% at 20 MB/s")
        print(f"agent {agent_s / gigabytes:.1f} processor s/GB")
        bytes_each, attach_ms = asyncio.run(bench.idle())
        print(f"idle site {bytes_each / 1e3:.0f} kB, attaching {attach_ms:.1f} ms of the relay's processor")


class Bench:
    """A party, a relay, and the party's agent."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        ca = CertificateAuthority.create(FEDERATION, SystemClock())
        (folder / "ca").mkdir()
        ca.save(folder / "ca")
        self._ca = ca
        self._folder = folder
        self._own: dict[Identity, Credentials] = {}
        for identity in (RELAY, PARTY, QUERIER):
            own = folder / identity.role.value
            own.mkdir()
            self._own[identity] = ca.issue(identity, own, SystemClock(), days=DAYS)
        write_site(_config(RELAY, folder / "relay", listen="127.0.0.1:0"))
        processes = stack.enter_context(Supervisor(folder / "logs"))
        ready = folder / "ready.json"
        command = ["relay", "serve", "--site", str(folder / "relay"), "--ready-file", str(ready)]
        child = processes.start(ChildCommand("relay", command))
        self.relayed = processes.wait_ready(child, ready, 60)
        self._relay = child.process.pid
        site = _config(PARTY, folder / "party", listen="127.0.0.1:0", guardian="127.0.0.1:1")
        write_site(site)
        with (folder / "party" / SITE_FILE).open("a") as file:
            file.write(f'\n[relay]\naddress = "{self.relayed}"\nsite = "hub"\n')
        self._site = load_site(folder / "party")
        bound = make_server(self._own[PARTY], "127.0.0.1:0", [], {}, SystemClock())
        bound.server.start()
        stack.callback(bound.server.stop, None)
        self.direct = bound.address
        self._agent = _attach(self._site, bound.address)
        stack.callback(self._agent.close)
        self._stack = stack

    def calling(self) -> tuple[Callable[[], object], Callable[[], object]]:
        """Return calls on existing connections, one for each way."""
        return self._call_by(self.direct), self._call_by(self.relayed)

    def _call_by(self, address: str) -> Callable[[], object]:
        channel = self._stack.enter_context(open_channel(self._own[QUERIER], address, PARTY))
        stub = site_pb2_grpc.SiteStub(channel)

        def call() -> object:
            return stub.About(site_pb2.AboutRequest(), timeout=30)

        call()
        return call

    def connecting(self, address: str) -> Callable[[], object]:
        """Return a call on a new connection."""
        # Each has its own TLS sessions, so every handshake is a full one.
        folder = self._own[QUERIER].folder

        def connect() -> object:
            with open_channel(Credentials.load(folder), address, PARTY) as channel:
                return site_pb2_grpc.SiteStub(channel).About(site_pb2.AboutRequest(), timeout=30)

        return connect

    def in_turns(self, times: int, ways: tuple[Callable[[], object], Callable[[], object]]) -> list[float]:
        """Return the median milliseconds of each way."""
        taken: list[list[float]] = [[], []]
        for _ in range(times):
            for way, seconds in zip(ways, taken, strict=True):
                start = time.perf_counter()
                way()
                seconds.append(time.perf_counter() - start)
        return [1000 * statistics.median(seconds) for seconds in taken]

    def bulk(self) -> tuple[float, float, float, float]:
        """Return MB/s of one stream directly and through the relay, and processor seconds of relay and
        agent."""
        self._agent.close()
        hello = _hello(PARTY.server_name)
        with _flood(len(hello)) as address:
            direct = _receive(address, hello)
            agent = _attach(self._site, address)
            before = processor_s(self._relay), processor_s(agent.pid)
            relayed = _receive(self.relayed, hello)
            after = processor_s(self._relay), processor_s(agent.pid)
            agent.close()
        return direct, relayed, after[0] - before[0], after[1] - before[1]

    async def idle(self) -> tuple[float, float]:
        """Return an idle site's cost to the relay: bytes of memory, and milliseconds of processor time."""
        (way,) = relay_ways(self._site, load_relay_section(self._site))
        sites = [self._issue(number) for number in range(-(-IDLE_SITES // MAX_OF_SITE) + 1)]
        gate = asyncio.Semaphore(AT_ONCE)

        async def one(number: int) -> object:
            async with gate:
                return await attach(sites[number // MAX_OF_SITE], way, SystemClock(), serves=False)

        await attach(sites[-1], way, SystemClock(), serves=False)
        memory = _resident_bytes(self._relay)
        processor = processor_s(self._relay)
        kept = await asyncio.gather(*map(one, range(IDLE_SITES)))
        taken = processor_s(self._relay) - processor
        grown = _resident_bytes(self._relay) - memory
        del kept
        return grown / IDLE_SITES, 1000 * taken / IDLE_SITES

    def _issue(self, number: int) -> Credentials:
        """Return credentials of another party: a relay limits how often one site attaches."""
        folder = self._folder / f"idle-{number}"
        folder.mkdir()
        return self._ca.issue(
            Identity(FEDERATION, f"idle-{number}", Role.PARTY), folder, SystemClock(), days=DAYS
        )


def _config(identity: Identity, folder: Path, **addresses: str) -> SiteConfig:
    return SiteConfig(
        federation=FEDERATION, site=identity.site, role=identity.role.value, folder=folder, **addresses
    )


def _attach(site: SiteConfig, address: str) -> AgentProcess:
    """Return an agent that is attached, and forwards callers to a server."""
    agent = AgentProcess(site.folder, {}, serves=True)
    agent.serve(address)
    while not any(agent.attached.values()):
        time.sleep(0.01)
    return agent


def _hello(name: str) -> bytes:
    """Return a ClientHello that a relay can route."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    sent = ssl.MemoryBIO()
    with suppress(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), sent, server_hostname=name).do_handshake()
    return sent.read()


@contextmanager
def _flood(hello_bytes: int) -> Iterator[str]:
    """Serve `BULK_BYTES` to every caller that says hello, and yield the address."""

    def serve() -> None:
        block = bytes(1 << 20)
        with suppress(OSError):
            while True:
                connection, _ = bound.accept()
                with connection:
                    connection.recv(hello_bytes, socket.MSG_WAITALL)
                    for _ in range(BULK_BYTES // len(block)):
                        connection.sendall(block)

    with socket.create_server(("127.0.0.1", 0)) as bound:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"127.0.0.1:{bound.getsockname()[1]}"
        bound.shutdown(socket.SHUT_RDWR)
        thread.join()


def _receive(address: str, hello: bytes) -> float:
    """Return the MB/s at which a stream arrives."""
    buffer = bytearray(1 << 20)
    with socket.create_connection(split_address(address)) as connection:
        start = time.perf_counter()
        connection.sendall(hello)
        left = BULK_BYTES
        while left and (count := connection.recv_into(buffer)):
            left -= count
    assert not left, "the stream broke off"
    return BULK_BYTES / 1e6 / (time.perf_counter() - start)


def processor_s(pid: int) -> float:
    """Return the processor time of a process so far; Linux only."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def _resident_bytes(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    (line,) = (line for line in lines if line.startswith("VmRSS:"))
    return 1024 * int(line.split()[1])


if __name__ == "__main__":
    main()
