"""The relay's server: one port, and connections taken from it until told to stop."""

import asyncio
import errno
import socket
import ssl
import threading
from asyncio.sslproto import SSLProtocol
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import structlog
from prometheus_client import CollectorRegistry

from ostraka.common.clock import Clock, SystemClock
from ostraka.common.config import SiteConfig, load_site, require_role, split_address
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.files.open_files import allow_callers
from ostraka.common.identity import Credentials
from ostraka.common.identity.credentials import TLS_CERT, TLS_KEY
from ostraka.common.identity.revocation import CRL, Revocations
from ostraka.common.relay.dialling import PROTOCOLS
from ostraka.common.rpc.serving import stop_on_signal, write_ready
from ostraka.common.telemetry.site import observing
from ostraka.relay.attachments import Attachments
from ostraka.relay.metrics import RelayMetrics
from ostraka.relay.relay import CHECK_EVERY_S, Relay, readable
from ostraka.relay.section import RelayServerSection, load_server_section

WAITING = 4096
"""Connections that the system keeps until they are accepted: all sites come back at once after a restart."""
TLS_BUFFER_BYTES = 16_384
"""For what one connection's TLS read: a record. asyncio would keep 256 KiB for each attached site, which is
most of its memory, and has no documented way to change that."""
FULL_S = 0.1
"""Pause where no more files may be open."""


def serve(folder: Path, *, ready_file: Path | None = None) -> None:
    """Serve the relay of site folder `folder` until SIGTERM or SIGINT.

    Args:
        folder: the provisioned site.
        ready_file: where to write {"address": ...} once connections are taken.

    Raises:
        OstrakaError: `config.invalid`, `identity.*`, `server.port_in_use`.
    """
    stop = stop_on_signal()
    SSLProtocol.max_size = TLS_BUFFER_BYTES
    with running(folder) as address:
        if ready_file is not None:
            write_ready(ready_file, address)
        structlog.get_logger().info("relay.serving", address=address)
        stop.wait()


@contextmanager
def running(
    folder: Path, *, clock: Clock | None = None, registry: CollectorRegistry | None = None
) -> Iterator[str]:
    """Run a relay within the block, and yield its address; connections under way end with the block."""
    clock = clock or SystemClock()
    require_role(folder, "relay")
    site = load_site(folder)
    section = load_server_section(site)
    own = Credentials.of(site)
    own.check_valid(clock)
    with observing(folder, registry, credentials=own, clock=clock) as served:
        tls = outer_tls(site, section, own)
        lists = [one / CRL for one in own.lists]
        revocations = Revocations(lists, own.ca_pem, look_every_s=CHECK_EVERY_S)
        attachments = Attachments(revocations, clock)
        metrics = RelayMetrics(served)
        metrics.watch(lambda: attachments.count, lambda: attachments.tunnels)
        reach = section.addresses_by_name(site.federation)
        with listen(site.listen) as bound, looping() as loop:
            relay = Relay(own, tls, reach, attachments, revocations, clock, metrics)
            taking = asyncio.run_coroutine_threadsafe(_take(relay, bound), loop)
            try:
                host = site.listen.rpartition(":")[0]
                yield f"{host}:{bound.getsockname()[1]}"
            finally:
                taking.cancel()


def outer_tls(site: SiteConfig, section: RelayServerSection, own: Credentials) -> ssl.SSLContext:
    """Return what the outer TLS shows; raises config.invalid for files that cannot be used."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_alpn_protocols(PROTOCOLS)
    context.num_tickets = 0  # a site attaches once, and tickets take memory of both
    certificate = own.folder / TLS_CERT if section.certificate is None else site.folder / section.certificate
    key = own.folder / TLS_KEY if section.key is None else site.folder / section.key
    try:
        context.load_cert_chain(certificate, key)
    except OSError as error:  # which errors of TLS are
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            f"{certificate} and {key} are no certificate and its key, or cannot be read: correct"
            " `certificate` and `key` in the table [relay].",
        ) from error
    return context


@contextmanager
def listen(address: str) -> Iterator[socket.socket]:
    """Listen at host:port within the block; raises server.port_in_use or config.invalid."""
    host, port = split_address(address)
    allow_callers()
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        bound = socket.create_server((host, port), family=family, backlog=WAITING)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise OstrakaError(
                ErrorCode.SERVER_PORT_IN_USE,
                f"Something already listens at {address}; stop it, or change `listen` in site.toml.",
            ) from error
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            f"Cannot listen at {address}: {error.strerror}; correct `listen` in site.toml.",
        ) from error
    with bound:
        bound.setblocking(False)
        yield bound


@contextmanager
def looping() -> Iterator[asyncio.AbstractEventLoop]:
    """Run an event loop in a thread within the block; what it still does is cancelled at the end."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="relay")
    thread.start()
    try:
        yield loop
    finally:
        asyncio.run_coroutine_threadsafe(_cancel_all(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _cancel_all() -> None:
    while others := asyncio.all_tasks() - {asyncio.current_task()}:
        await asyncio.sleep(0)  # a task that was made just now begins, and closes what it was handed
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
    await asyncio.sleep(0)  # transports that were closed just now end in the next turn


async def _take(relay: Relay, bound: socket.socket) -> None:
    """Accept connections, each served by a task of its own."""
    loop = asyncio.get_running_loop()
    served = {loop.create_task(relay.watch())}
    while True:
        # Not `sock_accept`: a connection that came while it is cancelled would be nobody's.
        await readable(bound)
        try:
            connection, source = bound.accept()
        except OSError:  # no more files may be open, or the caller is gone already
            await asyncio.sleep(FULL_S)
            continue
        connection.setblocking(False)
        task = loop.create_task(relay.take(connection, str(source[0])))
        served.add(task)
        task.add_done_callback(served.discard)
