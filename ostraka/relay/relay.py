"""One connection to the relay's port after another: a caller that is passed on, or a site's WebSocket."""

import asyncio
import socket
import ssl
from collections.abc import Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass
from http import HTTPStatus
from weakref import WeakValueDictionary

import structlog

from ostraka.common.clock import Clock
from ostraka.common.config import split_address
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Credentials
from ostraka.common.identity.revocation import Revocations
from ostraka.common.relay import messages
from ostraka.common.relay.agent import DETACHED_ALERT, PING_S, beat
from ostraka.common.relay.dialling import TIMEOUT_S, connect
from ostraka.common.relay.messages import ATTACH, TUNNEL, Challenge, Dial, Hello, Proof, Refused
from ostraka.common.relay.proofs import Exchange, check_site, new_nonce, prove_relay
from ostraka.common.relay.splice import Side, until_ended
from ostraka.common.relay.web_socket import CLOSE_S, WebSocket
from ostraka.relay.attachments import Attached, Attachments
from ostraka.relay.client_hello import NotTlsError, count_needed_bytes, server_name
from ostraka.relay.metrics import RelayMetrics
from ostraka.relay.quotas import MAX_OF_SOURCE, Quota

HELLO_S = 10.0
"""For a whole ClientHello, and again for TLS and the upgrade, and for the proof."""
INNER_S = 15.0
"""Until a caller sent more than its ClientHello: a handshake takes three round trips."""
HANDSHAKES_AT_ONCE = 32
"""Of the outer TLS from one address: all sites of a proxy at once after a restart would miss their deadlines
together, and come again. Whoever is slow on purpose holds up those at its own address alone."""
CHECK_EVERY_S = 2.0
"""Seconds after which attached sites are held against the revocation list again."""
CALLEE = ".ostraka.internal"
"""How names end that callers of a federation ask for."""


@dataclass
class Arrival:
    """An accepted connection, closed with its block unless its socket was handed over.

    Attributes:
        connection: its socket.
        source: the IP address that it comes from.
    """

    connection: socket.socket
    source: str
    _own: bool = True

    def hand_over(self) -> socket.socket:
        """Return the socket, which somebody else closes from now on."""
        self._own = False
        return self.connection

    def close(self) -> None:
        """Close the socket if nobody took it over."""
        if self._own:
            self.connection.close()


@dataclass
class Relay:
    """What a relay knows and keeps.

    Attributes:
        own: its credentials.
        tls: of the outer TLS.
        reach: addresses that sites may call by the relay, by server name.
        attachments: who is attached.
        revocations: who is revoked.
        clock: tells now.
        metrics: what is counted.
    """

    own: Credentials
    tls: ssl.SSLContext
    reach: Mapping[str, str]
    attachments: Attachments
    revocations: Revocations
    clock: Clock
    metrics: RelayMetrics

    def __post_init__(self) -> None:
        self._sources = Quota(MAX_OF_SOURCE, "connections")
        self._handshakes: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        self._tasks: set[asyncio.Task[None]] = set()

    async def take(self, connection: socket.socket, source: str) -> None:
        """Serve one accepted connection until it ends; whatever is wrong with it ends it alone."""
        try:
            with closing(Arrival(connection, source)) as arrival, ExitStack() as place:
                place.enter_context(self._sources.place(source))
                await self._route(arrival, place)
        except OstrakaError as error:
            self.metrics.refuse(error.code)
            structlog.get_logger().debug("relay.refused", code=error.code, problem=error.message)
        except (OSError, NotTlsError):
            self.metrics.refuse("broken")

    async def watch(self) -> None:
        """Hold attached sites against the revocation list again and again."""
        while True:
            await asyncio.sleep(CHECK_EVERY_S)
            try:
                self.attachments.check()
            except Exception:
                # Whatever it was: those who are revoked later must be cut off all the same.
                structlog.get_logger().exception("relay.check_failed")

    async def _route(self, arrival: Arrival, place: ExitStack) -> None:
        hello = await peek_hello(arrival.connection)
        name = server_name(hello)
        if name.endswith(CALLEE) and name != self.own.identity.server_name:
            await self._pass_on(arrival, name, len(hello))
        else:
            await self._serve_site(arrival, place)

    async def _pass_on(self, arrival: Arrival, name: str, hello_bytes: int) -> None:
        """Splice a caller with a socket that the called site opens."""
        try:
            site = self.attachments.find(name)
            with self.attachments.place_for_stranger(site):
                tunnel = await self.attachments.open_tunnel(site)
                loop = asyncio.get_running_loop()
                try:
                    _, caller = await loop.connect_accepted_socket(Side, arrival.hand_over())
                    self.metrics.count_passed_on(site.identity.role)
                    tunnel.join(caller)
                    await _until_ended(caller, tunnel, hello_bytes)
                finally:
                    tunnel.abort()
        except OstrakaError:
            arrival.connection.send(DETACHED_ALERT)  # of 7 bytes, which an empty buffer takes
            raise

    async def _serve_site(self, arrival: Arrival, place: ExitStack) -> None:
        opened = await self._shake_hands(arrival)
        try:
            await self._serve_socket(opened, place)
        finally:
            await opened.aclose()

    async def _shake_hands(self, arrival: Arrival) -> WebSocket:
        """Return a WebSocket whose request has come."""
        at_once = self._handshakes.get(arrival.source)
        if at_once is None:
            at_once = self._handshakes[arrival.source] = asyncio.Semaphore(HANDSHAKES_AT_ONCE)
        async with at_once, asyncio.timeout(HELLO_S + TIMEOUT_S):
            _, opened = await asyncio.get_running_loop().connect_accepted_socket(
                WebSocket.server,
                arrival.hand_over(),
                ssl=self.tls,
                ssl_handshake_timeout=HELLO_S,
                ssl_shutdown_timeout=CLOSE_S,
            )
            try:
                await opened.opened
            except BaseException:
                opened.abort()
                raise
        return opened

    async def _serve_socket(self, opened: WebSocket, place: ExitStack) -> None:
        request = opened.opened.result()
        assert request is not None  # noqa: S101
        if request.path == ATTACH:
            opened.accept(request)
            await self._serve_control(opened, place)
        elif request.path.startswith(TUNNEL) and self.attachments.take_tunnel(
            request.path.removeprefix(TUNNEL), opened
        ):
            place.close()
            opened.accept(request)
            await opened.ended
        else:
            opened.reject(HTTPStatus.NOT_FOUND, "This is a relay of Ostraka; there is nothing here.")

    async def _serve_control(self, opened: WebSocket, place: ExitStack) -> None:
        try:
            async with asyncio.timeout(HELLO_S):
                site = await self._prove(opened)
            with self.attachments.attach(site):
                place.close()  # who has proved who it is counts as a site, and not by its address
                messages.send(opened, messages.Attached(name=site.identity.server_name))
                structlog.get_logger().info("relay.site_attached", site=site.identity.uri)
                await self._follow(site)
        except TimeoutError:
            opened.abort()
        except OstrakaError as error:
            messages.send(opened, Refused(code=error.code, message=error.message))
            if error.code is not ErrorCode.RELAY_UNREACHABLE:
                raise

    async def _prove(self, opened: WebSocket) -> Attached:
        hello = await messages.receive_only(opened, Hello)
        exchange = Exchange(self.own.identity, hello.nonce, new_nonce())
        proof = prove_relay(self.own, exchange)
        messages.send(opened, Challenge(nonce=exchange.relay_nonce, proof=proof, now=self.clock.now()))
        answer = await messages.receive_only(opened, Proof)
        proved = check_site(answer.proof, exchange, self.own, self.clock, self.revocations)
        return Attached(proved.identity, proved.certificate, opened, hello.serves)

    async def _follow(self, site: Attached) -> None:
        """Do what a site asks for, and hear what it refuses, until its control socket closes."""
        beating = asyncio.create_task(beat(site.socket, PING_S))
        try:
            while True:
                message = await messages.receive(site.socket)
                if isinstance(message, Dial):
                    task = asyncio.create_task(self._call_out(site, message))
                    self._tasks.add(task)
                    task.add_done_callback(self._tasks.discard)
                elif isinstance(message, Refused) and message.ref is not None:
                    self.attachments.refuse_tunnel(site, message.ref, messages.refusal(message))
        finally:
            beating.cancel()

    async def _call_out(self, site: Attached, dial: Dial) -> None:
        """Splice two sockets: the calling site's, and the called one's or that of an address in `reach`."""
        try:
            with self.attachments.place_for_caller(site, dial.name):
                if dial.name in self.reach:
                    connection = await connect_reached(self.reach[dial.name])
                    _, called = await asyncio.get_running_loop().create_connection(Side, sock=connection)
                    await self._join(site, dial.ref, called)
                else:
                    found = self.attachments.find(dial.name)
                    with self.attachments.place(found):
                        await self._join(site, dial.ref, await self.attachments.open_tunnel(found))
        except OstrakaError as error:
            self.metrics.refuse(error.code)
            messages.send(site.socket, Refused(code=error.code, message=error.message, ref=dial.ref))

    async def _join(self, site: Attached, ref: str, called: Side) -> None:
        try:
            calling = await self.attachments.open_tunnel(site, ref)
            self.metrics.count_passed_on(site.identity.role)
            calling.join(called)
            await until_ended(calling, called)
        finally:
            called.close()


async def peek_hello(connection: socket.socket, most_s: float = HELLO_S) -> bytes:
    """Return a connection's ClientHello, of which nothing is consumed.

    The system wakes this up once as many bytes are there as are needed next, and at the connection's end.

    Raises:
        NotTlsError: for anything else.
        OSError: for a connection that ends before, or is not done in time.
    """
    data = b""
    async with asyncio.timeout(most_s):
        while needed := count_needed_bytes(data):
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, needed)
            await readable(connection)
            data = connection.recv(needed, socket.MSG_PEEK)
            if len(data) < needed:
                raise ConnectionResetError
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1)
    return data


async def connect_reached(address: str) -> socket.socket:
    """Connect to an address that the relay's operator listed; raises server.unreachable."""
    try:
        async with asyncio.timeout(TIMEOUT_S):
            return await connect(*split_address(address))
    except OSError as error:
        raise OstrakaError(
            ErrorCode.SERVER_UNREACHABLE,
            f"The relay cannot reach {address}; have its operator check `reach` in its site.toml.",
        ) from error


async def _until_ended(caller: Side, tunnel: Side, hello_bytes: int) -> None:
    """Wait for the end of a splice; end one whose caller says no more than its ClientHello."""

    def end_silent() -> None:
        if caller.received <= hello_bytes:
            caller.abort()

    due = asyncio.get_running_loop().call_later(INNER_S, end_silent)
    try:
        await until_ended(caller, tunnel)
    finally:
        due.cancel()


async def readable(connection: socket.socket) -> None:
    """Wait until there is something to read, or a connection to accept."""
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(connection, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(connection)
