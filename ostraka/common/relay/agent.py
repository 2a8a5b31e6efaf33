"""The agent of a site that only calls out: attached to each relay, it opens a socket for every caller."""

import asyncio
import secrets
import socket
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import structlog

from ostraka.common.clock import Clock
from ostraka.common.config import split_address
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Credentials, Identity
from ostraka.common.relay.dialling import Way, connect
from ostraka.common.relay.messages import (
    ATTACH,
    TUNNEL,
    Attached,
    Challenge,
    Dial,
    Hello,
    Open,
    Proof,
    Refused,
    receive,
    receive_only,
    refusal,
    send,
)
from ostraka.common.relay.proofs import Exchange, check_relay, new_nonce, prove_site
from ostraka.common.relay.splice import Side, until_ended
from ostraka.common.relay.web_socket import WebSocket

PAUSES_S = (0.2, 5.0)
"""The first and the longest pause before a site attaches again.

Each pause is drawn from its upper half, so that sites do not all come at once after their relay restarts.
"""
STEADY_S = 5.0
"""An attachment that lasted this long did not fail at once; pauses then start again from the first."""
PING_S = 20.0
"""Interval of pings from both ends; an end that hears nothing for twice as long gives up."""
PROOF_S = 10.0
"""Time limit for both proofs."""
CALL_S = 10.0
"""Time limit of an outward call for an attachment and the relay, and of a caller for this server."""
MAX_CALLS = 256
"""Maximum number of outward calls that wait for the relay; another one is closed at once."""
MAX_TUNNELS = 256
"""Maximum number of relay connections that an agent carries.

Two relays allow one site this many; a relay that was taken over may ignore that limit.
"""
LOG_EVERY_S = 60.0
"""Seconds between two log lines of an event that the relay may cause at any rate; it could fill the disk."""
DETACHED_ALERT = bytes.fromhex("15030300020270")
"""TLS's fatal alert unrecognized_name (RFC 8446, 6.2), unencrypted.

It is all that TLS lets a relay say before a handshake in which it is not involved. Callers read it as
party.detached.
"""


@dataclass(frozen=True)
class Attachment:
    """One attachment that is proved on both sides.

    Attributes:
        socket: its control socket.
        way: the way to the relay.
        ahead_s: how far the relay's clock is ahead, in seconds, give or take `unsure_s`.
        unsure_s: half the round trip.
    """

    socket: WebSocket
    way: Way
    ahead_s: float
    unsure_s: float


@dataclass(frozen=True)
class _Call:
    """An outward call that waits for a relay; `answer` says whether the relay opened a socket for it."""

    side: Side
    answer: asyncio.Future[bool]


@dataclass
class Agent:
    """Keeps a site attached to its relays.

    Attributes:
        own: the site's credentials.
        ways: the way to each relay.
        clock: the clock.
        serving: set to the address of this site's server as soon as it serves; None if it does not serve.
        lent: listening sockets of this machine, by the identity that is called when something connects to
            them.
        told: called with each relay's address and whether the site is attached there.
        pause: draws a pause between two numbers of seconds.
    """

    own: Credentials
    ways: Sequence[Way]
    clock: Clock
    serving: asyncio.Future[str] | None
    lent: Mapping[Identity, socket.socket] = field(default_factory=dict)
    told: Callable[[str, bool], object] = lambda _address, _attached: None
    pause: Callable[[float, float], float] = secrets.SystemRandom().uniform

    def __post_init__(self) -> None:
        self._attached: dict[str, Attachment] = {}
        self._changed = asyncio.Event()
        self._calls: dict[str, _Call] = {}
        self._tunnels = 0
        self._log_again: dict[str, float] = {}
        self._ended = False
        self._tasks = asyncio.TaskGroup()

    async def run(self, stop: asyncio.Event) -> None:
        """Stay attached until `stop` is set, then accept no more callers and wait for the existing ones."""
        async with self._tasks:
            kept = [self._tasks.create_task(self._keep_attached(way)) for way in self.ways]
            servers = [await self._lend(identity, lent) for identity, lent in self.lent.items()]
            try:
                await stop.wait()
            finally:
                self._ended = True
                for server in servers:
                    server.close()
                # In the next turns of the loop, asyncio passes on, and we close, the connections that it is
                # still accepting or has accepted but not yet passed on.
                for _ in range(3):
                    await asyncio.sleep(0)
            for task in kept:
                task.cancel()

    async def _keep_attached(self, way: Way) -> None:
        pause = PAUSES_S[0]
        log = structlog.get_logger().bind(relay=way.relay.uri, address=way.address)
        problem = ""
        while True:
            began = time.monotonic()
            try:
                attachment = await attach(self.own, way, self.clock, serves=self.serving is not None)
                log.info("relay.attached", proxy=way.proxy.address if way.proxy else "")
                problem = ""
                await self._hold(attachment)
            except OstrakaError as error:
                if error.message != problem:  # logged once, not every 5 s for as long as it lasts
                    problem = error.message
                    log.warning("relay.detached", code=error.code, problem=error.message)
            if time.monotonic() - began > STEADY_S:
                pause = PAUSES_S[0]
            await asyncio.sleep(self.pause(pause / 2, pause))
            pause = min(PAUSES_S[1], 2 * pause)

    async def _hold(self, attachment: Attachment) -> None:
        """Do what the relay asks until its socket closes."""
        address = attachment.way.address
        self._attached[address] = attachment
        self._changed.set()
        self.told(address, True)
        beating = asyncio.create_task(beat(attachment.socket))
        try:
            while True:
                message = await receive(attachment.socket)
                if isinstance(message, Open):
                    self._start(self._open(attachment, message))
                elif isinstance(message, Refused) and message.ref is not None:
                    self._refuse_call(message)
                elif isinstance(message, Refused):
                    raise refusal(message)
        finally:
            beating.cancel()
            if self._attached.get(address) is attachment:
                del self._attached[address]
            self.told(address, False)
            await attachment.socket.aclose()

    def _start(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        return self._tasks.create_task(work)

    async def _open(self, attachment: Attachment, message: Open) -> None:
        """Join a new socket of the relay with this site's server, or with the call that it is for.

        If there is neither, the relay is told at once, because somebody waits for the socket.
        """
        try:
            with self._place():
                side = self._take(message.ref) if message.ref else await self._call_server()
                await _join(attachment.way, message.token, side)
        except (OstrakaError, OSError) as error:
            known = error if isinstance(error, OstrakaError) else _silent_server()
            self._warn_seldom("relay.not_opened", known)
            send(attachment.socket, Refused(code=known.code, message=known.message, ref=message.token))

    def _warn_seldom(self, event: str, error: OstrakaError) -> None:
        now = time.monotonic()
        if now >= self._log_again.get(event, now):
            self._log_again[event] = now + LOG_EVERY_S
            structlog.get_logger().warning(event, code=error.code, problem=error.message)

    @contextmanager
    def _place(self) -> Iterator[None]:
        if self._tunnels >= MAX_TUNNELS:
            raise OstrakaError(
                ErrorCode.RELAY_QUOTA, f"This site's agent carries {MAX_TUNNELS} connections, and no more."
            )
        self._tunnels += 1
        try:
            yield
        finally:
            self._tunnels -= 1

    def _take(self, ref: str) -> Side:
        call = self._calls.pop(ref, None)
        if call is None:
            raise OstrakaError(ErrorCode.SERVER_UNREACHABLE, "Whoever called by this agent has gone.")
        call.answer.set_result(True)
        return call.side

    async def _call_server(self) -> Side:
        if self.serving is None:
            raise _silent_server()
        try:
            async with asyncio.timeout(CALL_S):
                host, port = split_address(await asyncio.shield(self.serving))
                connection = await connect(host, port)
        except OSError as error:
            raise _silent_server() from error
        _, side = await asyncio.get_running_loop().create_connection(Side, sock=connection)
        return side

    async def _lend(self, identity: Identity, lent: socket.socket) -> asyncio.Server:
        def start_call() -> Side:
            side = Side()
            # Connections accepted just before the end are closed: no new task may be started.
            if self._ended:
                side.abort()
                return side
            task = self._start(self._call_out(identity, side))
            # A task that was cancelled before it began does not close the connection itself.
            task.add_done_callback(lambda done: side.abort() if done.cancelled() else None)
            return side

        return await asyncio.get_running_loop().create_server(start_call, sock=lent)

    async def _call_out(self, identity: Identity, side: Side) -> None:
        """Ask one relay after another for a socket to `identity`; end the call if none provides one."""
        taken = False
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(CALL_S):
                    for attachment in await self._attachments():
                        taken = taken or await self._ask(attachment, identity, side)
                    if not taken:
                        side.send(DETACHED_ALERT)
        finally:
            if not taken:
                side.close()

    async def _attachments(self) -> list[Attachment]:
        while not self._attached:
            self._changed.clear()
            await self._changed.wait()
        return list(self._attached.values())

    async def _ask(self, attachment: Attachment, identity: Identity, side: Side) -> bool:
        """Whether a relay opens a socket to `identity` for the call `side`."""
        if len(self._calls) >= MAX_CALLS:
            return False
        ref = new_nonce()
        answer = asyncio.get_running_loop().create_future()
        self._calls[ref] = _Call(side, answer)
        try:
            send(attachment.socket, Dial(name=identity.server_name, ref=ref))
            await asyncio.wait([answer, attachment.socket.ended], return_when=asyncio.FIRST_COMPLETED)
            return answer.done() and bool(answer.result())
        finally:
            self._calls.pop(ref, None)

    def _refuse_call(self, message: Refused) -> None:
        error = refusal(message)
        call = self._calls.pop(message.ref or "", None)
        if call is None:
            self._warn_seldom("relay.refused_late", error)  # whoever called has gone, or nobody did
            return
        structlog.get_logger().warning("relay.call_refused", code=error.code, problem=error.message)
        call.answer.set_result(False)


def _silent_server() -> OstrakaError:
    return OstrakaError(
        ErrorCode.SERVER_UNREACHABLE, "This site's own server does not answer its agent; look at its log."
    )


async def _join(way: Way, token: str, side: Side) -> None:
    """Join a new socket of the relay with `side` until both are closed."""
    try:
        tunnel = await way.web_socket(TUNNEL + token)
        tunnel.join(side)
        await until_ended(tunnel, side)
    finally:
        side.close()


async def attach(own: Credentials, way: Way, clock: Clock, *, serves: bool) -> Attachment:
    """Open a control socket and prove both ends; the relay forwards callers to a site that `serves`.

    Raises:
        OstrakaError: relay.*, or identity.* if either end refuses the other.
    """
    opened = await way.web_socket(ATTACH)
    try:
        async with asyncio.timeout(PROOF_S):
            return await _prove(opened, own, way, clock, serves)
    except TimeoutError as error:
        opened.abort()
        raise OstrakaError(
            ErrorCode.RELAY_UNREACHABLE,
            f"The relay at {way.address} does not prove who it is in time; check that it is a relay.",
        ) from error
    except BaseException:
        await opened.aclose()
        raise


async def _prove(opened: WebSocket, own: Credentials, way: Way, clock: Clock, serves: bool) -> Attachment:
    nonce = new_nonce()
    sent = clock.now()
    send(opened, Hello(nonce=nonce, serves=serves))
    challenge = await receive_only(opened, Challenge)
    received = clock.now()
    exchange = Exchange(way.relay, nonce, challenge.nonce)
    check_relay(challenge.proof, exchange, own, clock, own.revocations)
    send(opened, Proof(proof=prove_site(own, exchange)))
    await receive_only(opened, Attached)
    return Attachment(opened, way, challenge.now - (sent + received) / 2, (received - sent) / 2)


async def beat(opened: WebSocket, every_s: float = PING_S) -> None:
    """Ping the other end at this interval; abort a socket that was silent for twice as long."""
    while not opened.ended.done():
        await asyncio.wait([opened.ended], timeout=every_s)
        if opened.silent_s > 2 * every_s:
            opened.abort()
        else:
            opened.ping()
