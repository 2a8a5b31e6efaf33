"""Parties behind a relay: its process, and one process with all their agents.

`python -m benchmarks.load.relayed FOLDER READY ADDRESS` attaches each site with a folder in FOLDER to the
relay at ADDRESS. Once all are attached, it reports the address where each site's calls to the guardian are
accepted. If the addresses of the sites' own servers follow, in alphabetical order of sites, callers are
forwarded to these.
"""

import asyncio
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from pathlib import Path

from benchmarks.load.federation import GUARDIAN, RELAY, Federation, Guardian
from ostraka.common.clock import SystemClock
from ostraka.common.files.open_files import allow_callers
from ostraka.common.identity import Credentials
from ostraka.common.relay.agent import Agent
from ostraka.common.relay.dialling import Way
from ostraka.common.rpc.serving import write_ready
from ostraka.deploy.simulation.processes import Child, Start, Supervisor

ATTACHED_S = 300.0
"""Maximum seconds for all agents of this machine to attach: 3,000 took 56 s besides other work."""


@dataclass(frozen=True)
class Relayed:
    """A relay with all parties attached.

    Attributes:
        relay: its process.
        agents: the process of all agents.
        addresses: by site, where its calls to the guardian are accepted, or where it is called if it serves.
        attach_s: from the first attachment to the last.
        attach_ms: processor time of the relay per attachment.
        attached_mb: memory of the relay once all are attached.
    """

    relay: Guardian
    agents: Guardian
    addresses: Mapping[str, str]
    attach_s: float
    attach_ms: float
    attached_mb: float

    def figures(self) -> dict[str, float]:
        """Return the cost of attaching, and the peak memory of the relay and all agents."""
        return {
            "attach_s": self.attach_s,
            "attach_ms": self.attach_ms,
            "attached_mb": self.attached_mb,
            "relay_peak_mb": self.relay.peak_mb,
            "agents_peak_mb": self.agents.peak_mb,
        }


@contextmanager
def attach_all(
    root: Path, federation: Federation, guardian: str, start: Start, served: Mapping[str, str] | None = None
) -> Iterator[Relayed]:
    """Run a relay, and attach every party of a federation to it in the block.

    Args:
        root: folder of the federation.
        federation: its parties.
        guardian: address at which the relay reaches the guardian.
        start: starts processes.
        served: addresses of the parties' servers by site, to which callers are forwarded; None: they serve
            nothing, and call the guardian.
    """
    folder = root / "agents"
    ready = root / "agents.json"
    log = root / "agents.log"
    folder.mkdir()
    sites = [party.identity.site for party in federation.parties]
    for site in sites:
        (folder / site).symlink_to(root / site)
    with (
        federation.relay(guardian, start) as relay,
        log.open("wb") as output,
        Supervisor(root / "logs") as processes,
    ):
        before = relay.seconds_at_rest()
        began = time.perf_counter()
        command = [sys.executable, "-m", "benchmarks.load.relayed", str(folder), str(ready), relay.address]
        command += [served[site] for site in sorted(sites)] if served else []
        with subprocess.Popen(command, stdout=output, stderr=output) as process:
            try:
                said = processes.wait_ready(Child("agents", process, log), ready, ATTACHED_S)
                taken = time.perf_counter() - began
                used = relay.seconds_at_rest() - before
                addresses = dict(zip(sorted(sites), said.split(), strict=True))
                agents = Guardian("", process)
                yield Relayed(relay, agents, addresses, taken, 1000 * used / len(sites), relay.resident_mb)
            finally:
                process.kill()


async def serve(folder: Path, ready: Path, address: str, served: Sequence[str]) -> None:
    """Keep all sites attached until the process is ended."""
    loop = asyncio.get_running_loop()
    called: list[str] = []
    attached: list[asyncio.Future[None]] = []
    async with asyncio.TaskGroup() as tasks:
        for site, own_server in zip_longest(sorted(folder.iterdir()), served):
            own = Credentials.load(site)
            way = Way(address, RELAY, None, None, own.ca_pem)
            serving = loop.create_future() if own_server else None
            lent = {}
            if serving is not None:
                serving.set_result(own_server)
                called.append(address)
            else:
                lent[GUARDIAN] = socket.create_server(("127.0.0.1", 0))
                called.append(f"127.0.0.1:{lent[GUARDIAN].getsockname()[1]}")
            done = loop.create_future()
            attached.append(done)
            agent = Agent(own, [way], SystemClock(), serving, lent, partial(_tell, done))
            tasks.create_task(agent.run(asyncio.Event()))
        await asyncio.gather(*attached)
        write_ready(ready, " ".join(called))


def _tell(done: asyncio.Future[None], _address: str, there: bool) -> None:
    if there and not done.done():
        done.set_result(None)


if __name__ == "__main__":
    allow_callers()
    asyncio.run(serve(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], sys.argv[4:]))
