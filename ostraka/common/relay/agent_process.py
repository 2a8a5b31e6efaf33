"""The agent as a child process of its user, so that a server's own threads never wait for its bytes."""

import asyncio
import json
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

import structlog
from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, Metric

from ostraka.common.clock import SystemClock
from ostraka.common.config import SiteConfig, load_site, split_address
from ostraka.common.files.open_files import allow_callers
from ostraka.common.identity import Credentials, Identity, Role
from ostraka.common.relay.agent import Agent
from ostraka.common.relay.dialling import Way
from ostraka.common.relay.section import RelaySection, load_relay_section
from ostraka.common.rpc.serving import DRAIN_S
from ostraka.common.telemetry.registry import Scraped
from ostraka.common.validation import FrozenModel

AGAIN_S = 1.0
"""Seconds before an agent that ended by itself is started again."""
END_S = 2.0
"""Seconds that a child gets to end after the deadline of its connections."""
WAITING_CALLS = 128
"""Number of outward calls that the system keeps waiting while a child starts."""


class Begin(FrozenModel):
    """The first line for the child: its site folder, whether the site serves, and listening sockets.

    `lent` contains their file descriptors by the URI of the identity that is called.
    """

    folder: Path
    serves: bool
    lent: dict[str, int]


class Told(FrozenModel):
    """A line from the child: whether the site is attached to the relay at an address."""

    relay: str
    attached: bool


class AgentProcess:
    """A child process that keeps a site attached; if it ends by itself, it is started again."""

    def __init__(self, folder: Path, lent: Mapping[Identity, socket.socket], *, serves: bool) -> None:
        """Take the site folder, and listening sockets by the identity that is called on a connection.

        Callers are forwarded to a site that `serves` as soon as `serve` gives its address.
        """
        self._folder = folder
        self._serves = serves
        self._lent = dict(lent)
        # Guards the child, its server's address, and whether it should end: the follower also starts
        # children.
        self._lock = threading.Lock()
        self._serving: str | None = None
        self._closing = threading.Event()
        self._attached: dict[str, bool] = {}
        self._child = self._start()
        self._follower = threading.Thread(target=self._follow, name="relay-agent", daemon=True)
        self._follower.start()

    @property
    def attached(self) -> Mapping[str, bool]:
        """Whether the site is attached, by the address of each relay that was tried."""
        return dict(self._attached)

    @property
    def pid(self) -> int:
        """The process id of the current child."""
        return self._child.pid

    def serve(self, address: str) -> None:
        """Set the address of this site's server; callers are forwarded to it from now on."""
        with self._lock:
            self._serving = address
            self._write(address)

    def close(self) -> None:
        """Stop accepting callers; end the child when its connections are done, or after `DRAIN_S`."""
        with self._lock:
            self._closing.set()
            child = self._child
            with suppress(OSError):
                _input(child).close()
        try:
            child.wait(DRAIN_S + END_S)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        self._follower.join()
        _output(child).close()
        for lent in self._lent.values():
            lent.close()

    def _start(self) -> "subprocess.Popen[bytes]":
        child = subprocess.Popen(
            [sys.executable, "-P", "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=[lent.fileno() for lent in self._lent.values()],
            start_new_session=True,  # Ctrl-C at the parent must not end the child before the drain
        )
        lent = {identity.uri: one.fileno() for identity, one in self._lent.items()}
        self._child = child
        self._write(Begin(folder=self._folder.absolute(), serves=self._serves, lent=lent).model_dump_json())
        if self._serving is not None:
            self._write(self._serving)
        return child

    def _write(self, line: str) -> None:
        with suppress(OSError):  # a child that is gone is started again, with all its input
            _input(self._child).write(f"{line}\n".encode())
            _input(self._child).flush()

    def _follow(self) -> None:
        while True:
            for line in _output(self._child):
                told = Told.model_validate_json(line)
                self._attached[told.relay] = told.attached
            status = self._child.wait()
            self._attached = dict.fromkeys(self._attached, False)
            if self._closing.is_set():
                return
            structlog.get_logger().error("relay.agent_ended", status=status)
            self._closing.wait(AGAIN_S)
            with self._lock:
                if self._closing.is_set():
                    return
                _output(self._child).close()
                with suppress(OSError):
                    _input(self._child).close()
                self._start()


def _input(child: "subprocess.Popen[bytes]") -> IO[bytes]:
    assert child.stdin is not None  # noqa: S101
    return child.stdin


def _output(child: "subprocess.Popen[bytes]") -> IO[bytes]:
    assert child.stdout is not None  # noqa: S101
    return child.stdout


@contextmanager
def attach_to_relays(
    site: SiteConfig, *, serves: bool = False
) -> Iterator[tuple[SiteConfig, AgentProcess | None]]:
    """Keep a site attached within the block if its site.toml names a relay for what this process does.

    Args:
        site: the site's configuration.
        serves: whether this process serves, so that callers are forwarded to it.

    Yields:
        The configuration with the addresses that this process calls (the agent's own, for calls through the
        relay), and the agent, or None if no relay is named.

    Raises:
        OstrakaError: config.invalid.
    """
    section = load_relay_section(site)
    called = _find_called(site, section)
    if not section.address or not (serves or called):
        yield site, None
        return
    relay_ways(site, section)  # raises here for a wrong section, not in a child
    lent = {identity: _listen() for identity in called}
    addresses = {one: f"127.0.0.1:{bound.getsockname()[1]}" for one, bound in lent.items()}
    agent = AgentProcess(site.folder, lent, serves=serves)
    try:
        yield _with_addresses(site, addresses), agent
    finally:
        agent.close()


def watch_agent(registry: CollectorRegistry, agent: AgentProcess) -> None:
    """Show in a process's metrics whether its agent is attached."""

    def state() -> Iterator[Metric]:
        attached = GaugeMetricFamily(
            "ostraka_relay_attached",
            "1 while this site is attached to the relay at an address.",
            labels=["address"],
        )
        for address, there in sorted(agent.attached.items()):
            attached.add_metric([address], there)
        yield attached

    registry.register(Scraped(state))


def _find_called(site: SiteConfig, section: RelaySection) -> list[Identity]:
    """Return the identities that a site calls through its relay."""
    guardian = [Identity(site.federation, site.guardian_site, Role.GUARDIAN)] if section.guardian else []
    parties = site.parties if section.parties else ()
    return [*guardian, *(Identity(site.federation, party, Role.PARTY) for party in parties)]


def _with_addresses(site: SiteConfig, addresses: Mapping[Identity, str]) -> SiteConfig:
    guardian = next((where for one, where in addresses.items() if one.role is Role.GUARDIAN), site.guardian)
    parties = {one.site: where for one, where in addresses.items() if one.role is Role.PARTY}
    return site.model_copy(update={"guardian": guardian, "parties": {**site.parties, **parties}})


def _listen() -> socket.socket:
    """Return a socket at a free port of this machine, which only its own processes can reach."""
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    bound.bind(("127.0.0.1", 0))
    bound.listen(WAITING_CALLS)
    return bound


def relay_ways(site: SiteConfig, section: RelaySection) -> list[Way]:
    """Return a site's way to each of its relays; raise config.invalid."""
    own = Credentials.of(site)
    relay = section.identity(site.federation)
    roots = section.roots(site.folder)
    ways = [Way(one, relay, section.proxy_to(one), roots, own.ca_pem) for one in section.addresses]
    for way in ways:
        way.tls  # noqa: B018 (raises for roots that are none)
    return ways


async def _serve(begin: Begin, lines: asyncio.StreamReader) -> None:
    """Run the agent until the parent closes its end, or dies."""
    site = load_site(begin.folder)
    own = Credentials.of(site)
    stop = asyncio.Event()
    serving = asyncio.Future[str]() if begin.serves else None
    lent = {Identity.parse(uri): socket.socket(fileno=number) for uri, number in begin.lent.items()}
    agent = Agent(own, relay_ways(site, load_relay_section(site)), SystemClock(), serving, lent, _tell)
    working = asyncio.create_task(agent.run(stop))
    # If the agent fails, the process ends, and the parent starts it again.
    working.add_done_callback(lambda _: lines.feed_eof())
    while line := await lines.readline():
        address = line.decode().strip()
        if serving is not None and not serving.done():
            serving.set_result(_reachable(address))
    stop.set()
    done, _ = await asyncio.wait([working], timeout=DRAIN_S)
    if done:
        working.result()


def _reachable(listen: str) -> str:
    """Return where this machine reaches a server that listens at `listen`, maybe on every interface."""
    host, port = split_address(listen)
    own = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104
    return f"[{own}]:{port}" if ":" in own else f"{own}:{port}"


def _tell(relay: str, attached: bool) -> None:
    with suppress(OSError):
        print(Told(relay=relay, attached=attached).model_dump_json(), flush=True)


async def _main() -> None:
    loop = asyncio.get_running_loop()
    lines = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    begin = Begin.model_validate(json.loads(await lines.readline()))
    await _serve(begin, lines)


if __name__ == "__main__":
    from ostraka.common.telemetry import configure_logging

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    configure_logging()
    allow_callers()
    asyncio.run(_main())
