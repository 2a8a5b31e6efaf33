"""Sites of a federation under load: keys and certificates, and guardians in their own processes."""

import json
import shutil
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import grpc

from ostraka.common.clock import SystemClock
from ostraka.common.config import SITE_FILE, SiteConfig, write_site
from ostraka.common.identity import CertificateAuthority, Credentials, Identity, Role
from ostraka.common.rpc import open_channel
from ostraka.deploy.simulation.processes import ChildCommand, Process, Start, Supervisor
from ostraka.guardian.ledger.store.cipher import load_or_create_key

NAME = "load"
GUARDIAN = Identity(NAME, "guardian", Role.GUARDIAN)
QUERIER = Identity(NAME, "querier", Role.QUERY)
ADMIN = Identity(NAME, "admin", Role.ADMIN)
RELAY = Identity(NAME, "hub", Role.RELAY)
READY_S = 60.0
REST_S = 0.05
RESTING_S = 0.002
RESTS_S = 10.0
"""Maximum wait until a guardian is idle."""


@dataclass(frozen=True)
class Guardian:
    """The process of a guardian, or of another server of the benchmark."""

    address: str
    process: Process

    @property
    def cpu_s(self) -> float:
        """Processor seconds of all its threads so far."""
        return time.clock_gettime((~self.process.pid << 3) | 2)

    @property
    def peak_mb(self) -> float:
        """Its peak memory, in MB."""
        return self._megabytes("VmHWM")

    @property
    def resident_mb(self) -> float:
        """Its current memory, in MB."""
        return self._megabytes("VmRSS")

    def _megabytes(self, field: str) -> float:
        lines = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii").splitlines()
        (kilobytes,) = (line.split()[1] for line in lines if line.startswith(field))
        return int(kilobytes) * 1024 / 1e6

    def seconds_at_rest(self) -> float:
        """Return its processor seconds so far, once its work after replies is done."""
        end = time.monotonic() + RESTS_S
        before = self.cpu_s
        while time.monotonic() < end:
            time.sleep(REST_S)
            now = self.cpu_s
            if now - before < RESTING_S:
                return now
            before = now
        return before


class Federation:
    """A certificate authority and everybody it certified."""

    def __init__(self, root: Path, parties: int, policy: str = "") -> None:
        """Make keys and certificates of `parties` parties and of everybody else, in folders of `root`.

        `policy` has lines for guardians' table [policy].
        """
        (root / "ca").mkdir()
        self._root = root
        self._policy = policy
        self._authority = CertificateAuthority.create(NAME, SystemClock()).save(root / "ca")
        self.parties = tuple(
            self._issue(Identity(NAME, f"party-{number:05d}", Role.PARTY)) for number in range(parties)
        )
        self.querier = self._issue(QUERIER)
        self.admin = self._issue(ADMIN)
        self._issue(GUARDIAN)
        self._issue(RELAY)

    def _issue(self, identity: Identity) -> Credentials:
        folder = self._root / identity.site
        folder.mkdir()
        return self._authority.issue(identity, folder, SystemClock())

    @contextmanager
    def guardians(self, ledgers: Sequence[str], start: Start) -> Iterator[list[Guardian]]:
        """Run a guardian for each of `ledgers`: the URL that they share, or an empty one for a file."""
        with Supervisor(self._root / "logs", start=start) as processes:
            yield [self._guardian(number, url, processes) for number, url in enumerate(ledgers)]

    def _guardian(self, number: int, url: str, processes: Supervisor) -> Guardian:
        load_or_create_key(self._root / GUARDIAN.site)
        folder = self._root / f"serving-{number}"
        ready = self._root / f"ready-{number}.json"
        shutil.copytree(self._root / GUARDIAN.site, folder)
        listen = _free_address() if url else "127.0.0.1:0"
        write_site(
            SiteConfig(federation=NAME, site=GUARDIAN.site, role="guardian", listen=listen, folder=folder)
        )
        with (folder / SITE_FILE).open("a", encoding="utf-8") as file:
            if url:
                file.write(f"\n[ledger]\nurl = {json.dumps(url)}\n")
            if self._policy:
                file.write(f"\n[policy]\n{self._policy}\n")
        command = ["guardian", "serve", "--site", str(folder), "--ready-file", str(ready)]
        child = processes.start(ChildCommand(folder.name, command))
        return Guardian(processes.wait_ready(child, ready, READY_S), child.process)

    @contextmanager
    def relay(self, guardian: str, start: Start) -> Iterator[Guardian]:
        """Run a relay in the block, through which sites may call the guardian at an address."""
        folder = self._root / RELAY.site
        ready = self._root / "ready-relay.json"
        write_site(
            SiteConfig(federation=NAME, site=RELAY.site, role="relay", listen="127.0.0.1:0", folder=folder)
        )
        with (folder / SITE_FILE).open("a", encoding="utf-8") as file:
            file.write(f'\n[relay]\nreach = {{ {GUARDIAN.site} = "{guardian}" }}\n')
        with Supervisor(self._root / "logs", start=start) as processes:
            command = ["relay", "serve", "--site", str(folder), "--ready-file", str(ready)]
            child = processes.start(ChildCommand("relay", command))
            yield Guardian(processes.wait_ready(child, ready, READY_S), child.process)


def call(caller: Credentials, guardian: Guardian) -> grpc.Channel:
    """Open a channel to a guardian."""
    return open_channel(caller, guardian.address, GUARDIAN)


def _free_address() -> str:
    """Return a port that is free now: guardians that share a ledger know each other by their addresses."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"
