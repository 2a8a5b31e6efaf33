"""How soon all sites are attached again after their relay is killed: `python -m benchmarks.relay_restart`.

The relay is a process. The sites' agents, each with its own keys, are tasks of this process, so their 1,000
handshakes and proofs share one core, instead of using as many machines.
"""

import asyncio
import logging
import os
import signal
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import structlog

from benchmarks.relay import processor_s
from ostraka.common.clock import SystemClock
from ostraka.common.config import SITE_FILE, SiteConfig, load_site, write_site
from ostraka.common.files.open_files import allow_callers
from ostraka.common.identity import CertificateAuthority, Credentials, Identity, Role
from ostraka.common.relay.agent import STEADY_S, Agent
from ostraka.common.relay.agent_process import relay_ways
from ostraka.common.relay.section import load_relay_section
from ostraka.deploy.simulation.processes import Child, ChildCommand, Supervisor

FEDERATION = "bench"
RELAY = Identity(FEDERATION, "hub", Role.RELAY)
SITES = 1000  # a quarter of a relay's capacity: a country's hospitals
TURNS = 3  # they differ by this machine's load, and by the agents' random pauses
DAYS = 1.0
LOOK_EVERY_S = 0.01


def main() -> None:
    """Print the seconds of each restart, since the kill and since the relay accepted connections."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    allow_callers()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with Supervisor(folder / "logs") as processes:
            asyncio.run(_measure(folder, processes))


async def _measure(folder: Path, processes: Supervisor) -> None:
    ca = CertificateAuthority.create(FEDERATION, SystemClock())
    relay = RelayProcess(folder / "relay", ca, processes)
    await asyncio.to_thread(relay.start)
    herd = Herd()
    began = time.perf_counter()
    agents = [herd.make(_make_site(folder / f"site-{number}", ca, relay.address)) for number in range(SITES)]
    print(f"{SITES} sites made in {time.perf_counter() - began:.1f} s")
    stop = asyncio.Event()
    began = time.perf_counter()
    running = [asyncio.create_task(agent.run(stop)) for agent in agents]
    await herd.wait(SITES)
    print(f"all attached at first, at once, in {time.perf_counter() - began:.1f} s")
    for _ in range(TURNS):
        await asyncio.sleep(2 * STEADY_S)  # long enough for stable attachments
        relay.kill()
        killed = time.perf_counter()
        own = time.process_time()
        await asyncio.to_thread(relay.start)
        taking = time.perf_counter()
        await herd.wait(SITES)
        back = time.perf_counter()
        print(
            f"all back {back - killed:.1f} s after the kill, {back - taking:.1f} s after the relay took"
            f" connections again; processor seconds: relay {processor_s(relay.pid):.1f}, sites"
            f" {time.process_time() - own:.1f}; load {os.getloadavg()[0]:.0f}"
        )
    for task in running:
        task.cancel()
    with suppress(asyncio.CancelledError):
        await asyncio.gather(*running, return_exceptions=True)


class RelayProcess:
    """A relay that is killed, and restarted at its port."""

    def __init__(self, folder: Path, ca: CertificateAuthority, processes: Supervisor) -> None:
        self.address = "127.0.0.1:0"
        self._folder = folder
        self._processes = processes
        self._child: Child
        folder.mkdir()
        ca.issue(RELAY, folder, SystemClock(), days=DAYS)

    @property
    def pid(self) -> int:
        """The process id."""
        return self._child.process.pid

    def start(self) -> None:
        """Start it; return once it accepts connections."""
        write_site(_config(RELAY, self._folder, listen=self.address))
        ready = self._folder / "ready.json"
        ready.unlink(missing_ok=True)
        command = ["relay", "serve", "--site", str(self._folder), "--ready-file", str(ready)]
        self._child = self._processes.start(ChildCommand("relay", command))
        self.address = self._processes.wait_ready(self._child, ready, 60)

    def kill(self) -> None:
        """Kill it without notice."""
        os.kill(self.pid, signal.SIGKILL)
        self._child.process.wait()


class Herd:
    """Agents, and how many of them are attached."""

    def __init__(self) -> None:
        self._attached = 0

    def make(self, site: SiteConfig) -> Agent:
        """Return the agent of one more site, which is set to serve."""

        def count(_: str, attached: bool) -> None:
            self._attached += 1 if attached else -1

        ways = relay_ways(site, load_relay_section(site))
        return Agent(Credentials.of(site), ways, SystemClock(), asyncio.Future(), told=count)

    async def wait(self, count: int) -> None:
        """Wait until `count` are attached."""
        while self._attached < count:
            await asyncio.sleep(LOOK_EVERY_S)


def _make_site(folder: Path, ca: CertificateAuthority, relay: str) -> SiteConfig:
    folder.mkdir()
    identity = Identity(FEDERATION, folder.name, Role.PARTY)
    ca.issue(identity, folder, SystemClock(), days=DAYS)
    write_site(_config(identity, folder, listen="127.0.0.1:0", guardian="127.0.0.1:1"))
    with (folder / SITE_FILE).open("a") as file:
        file.write(f'\n[relay]\naddress = "{relay}"\nsite = "{RELAY.site}"\n')
    return load_site(folder)


def _config(identity: Identity, folder: Path, **addresses: str) -> SiteConfig:
    return SiteConfig(
        federation=FEDERATION, site=identity.site, role=identity.role.value, folder=folder, **addresses
    )


if __name__ == "__main__":
    main()
