"""What strangers, sites and relays may not have more of."""

import asyncio
import socket
from contextlib import AsyncExitStack, ExitStack, aclosing, closing, suppress
from http import HTTPStatus

import pytest
from structlog.testing import capture_logs

from ostraka.common.config import SiteConfig, split_address
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Credentials, Identity, Role
from ostraka.common.relay import agent as agents
from ostraka.common.relay import dialling, messages
from ostraka.common.relay.agent import Agent, attach
from ostraka.common.relay.messages import ATTACH, Challenge, Dial, Hello, Open, Refused
from ostraka.common.relay.proofs import new_nonce
from ostraka.common.relay.splice import Side
from ostraka.common.relay.web_socket import (
    MAX_BACKLOG_BYTES,
    MAX_FRAME_BYTES,
    MAX_TEXTS,
    MAX_UNREAD_BYTES,
    WebSocket,
)
from ostraka.common.rpc.http_connect import MAX_ANSWER_BYTES
from ostraka.relay import attachments, server
from ostraka.relay import relay as relays
from tests.common.federation import GUARDIAN, NAME, PARTY, QUERIER, Federation
from tests.fair_clock import HANGS_S
from tests.relay.relaying import Proxy, make_relay, make_site, proxying
from tests.relay.test_relay import CLOCK, ask, attached, greeting, refused, way, ways

MAX_PING_BYTES = 125
"""Content of a control frame (RFC 6455, 5.5)."""
UPGRADE = (
    f"GET {ATTACH} HTTP/1.1\r\nHost: hub\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
).encode()


@pytest.fixture
def federation(tmp_path_factory: pytest.TempPathFactory) -> Federation:
    return Federation(tmp_path_factory.mktemp("limits") / "federation")


def test_no_more_sites_attach_than_may(federation: Federation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attachments, "MAX_SITES", 1)
    with server.running(make_relay(federation)) as address:
        first, second = (
            make_site(federation, one, address) for one in (PARTY, Identity(NAME, "b", Role.PARTY))
        )

        async def work() -> None:
            older = await attach(Credentials.of(first), way(first), CLOCK, serves=True)
            # Its own place is taken anew.
            newer = await attach(Credentials.of(first), way(first), CLOCK, serves=True)
            async with aclosing(older.socket), aclosing(newer.socket):
                await attach(Credentials.of(second), way(second), CLOCK, serves=True)

        assert refused(work()).code == ErrorCode.RELAY_QUOTA


def test_one_site_takes_no_other_ones_place(federation: Federation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attachments, "MAX_OF_SITE", 1)
    with server.running(make_relay(federation)) as address:
        site = make_site(federation, PARTY, address)

        async def work() -> None:
            first = await attach(Credentials.of(site), way(site), CLOCK, serves=False)
            async with aclosing(first.socket):
                await attach(Credentials.of(site), way(site), CLOCK, serves=False)

        error = refused(work())
        assert error.code == ErrorCode.RELAY_QUOTA
        assert PARTY.uri in error.message


def test_strangers_leave_room_for_attached_callers(
    federation: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attachments, "MAX_STRANGERS", 1)
    with ExitStack() as callers, server.running(make_relay(federation)) as address:
        site = make_site(federation, PARTY, address)
        other = make_site(federation, QUERIER, address)

        async def work() -> None:
            called = await attach(Credentials.of(site), way(site), CLOCK, serves=True)
            calling = await attach(Credentials.of(other), way(other), CLOCK, serves=False)
            async with aclosing(called.socket), aclosing(calling.socket):
                callers.enter_context(closing(call(address)))
                assert isinstance(await messages.receive(called.socket), Open)
                with closing(call(address)) as second:
                    second.setblocking(False)
                    assert await asyncio.get_running_loop().sock_recv(second, 10) == agents.DETACHED_ALERT
                messages.send(calling.socket, Dial(name=PARTY.server_name, ref=new_nonce()))
                assert isinstance(await messages.receive(called.socket), Open)

        asyncio.run(asyncio.wait_for(work(), 60))


def test_a_site_has_no_more_tunnels_than_may(federation: Federation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attachments, "MAX_TUNNELS", 1)
    with ExitStack() as callers, server.running(make_relay(federation)) as address:
        site = make_site(federation, PARTY, address)

        async def work() -> None:
            attachment = await attach(Credentials.of(site), way(site), CLOCK, serves=True)
            async with aclosing(attachment.socket):
                callers.enter_context(closing(call(address)))
                assert isinstance(await messages.receive(attachment.socket), Open)
                with closing(call(address)) as second:
                    second.setblocking(False)
                    assert await asyncio.get_running_loop().sock_recv(second, 10) == agents.DETACHED_ALERT

        asyncio.run(asyncio.wait_for(work(), 60))


def test_one_caller_leaves_room_for_others(federation: Federation, monkeypatch: pytest.MonkeyPatch) -> None:
    """A site that is attached could otherwise keep all others from any site."""
    monkeypatch.setattr(attachments, "MAX_OF_CALLER", 1)
    with server.running(make_relay(federation)) as address:
        sites = [
            make_site(federation, one, address) for one in (PARTY, QUERIER, Identity(NAME, "b", Role.PARTY))
        ]

        async def work() -> None:
            async with AsyncExitStack() as stack:
                sockets = []
                for site in sites:
                    attachment = await attach(Credentials.of(site), way(site), CLOCK, serves=True)
                    sockets.append(await stack.enter_async_context(aclosing(attachment.socket)))
                called, greedy, other = sockets
                for _ in range(2):
                    messages.send(greedy, Dial(name=PARTY.server_name, ref=new_nonce()))
                refused_call = await messages.receive_only(greedy, Refused)
                assert refused_call.code == ErrorCode.RELAY_QUOTA
                messages.send(other, Dial(name=PARTY.server_name, ref=new_nonce()))
                for _ in range(2):
                    assert isinstance(await messages.receive(called), Open)

        asyncio.run(asyncio.wait_for(work(), 60))


def call(address: str) -> socket.socket:
    """Call the party."""
    caller = socket.create_connection(split_address(address))
    caller.sendall(greeting(PARTY.server_name))
    return caller


def test_an_address_has_no_more_connections_than_may(
    federation: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relays, "MAX_OF_SOURCE", 2)
    with server.running(make_relay(federation)) as address, ExitStack() as callers:
        first, second, third = (
            callers.enter_context(socket.create_connection(split_address(address))) for _ in range(3)
        )
        third.settimeout(30)
        assert third.recv(1) == b""
        for one in (first, second):
            one.setblocking(False)
            with pytest.raises(BlockingIOError):
                one.recv(1)


def test_a_slow_handshake_holds_up_its_own_address_alone(
    federation: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relays, "HANDSHAKES_AT_ONCE", 1)
    with server.running(make_relay(federation)) as address:
        site = make_site(federation, PARTY, address)
        with socket.create_connection(split_address(address)) as slow:
            slow.sendall(greeting("relay.example"))
            assert slow.recv(1)  # its handshake has begun
            waiting = refused(asyncio.wait_for(_fail_late(site), 60))
            assert waiting.code == ErrorCode.SERVER_BUSY
        host, port = split_address(address)
        asyncio.run(_attach_from("127.0.0.2", host, port, site))


async def _fail_late(site: SiteConfig) -> None:
    """Attach, and fail where that takes no time."""
    try:
        async with asyncio.timeout(0.5):
            await way(site).web_socket(ATTACH)
    except TimeoutError as error:
        raise OstrakaError(ErrorCode.SERVER_BUSY, "It waits.") from error


async def _attach_from(source: str, host: str, port: int, site: SiteConfig) -> None:
    """Open a WebSocket from another of this machine's addresses."""
    here = way(site)
    loop = asyncio.get_running_loop()
    _, opened = await loop.create_connection(
        lambda: WebSocket.client(host, port, ATTACH),
        host,
        port,
        ssl=here.tls,
        server_hostname=here.server_name,
        local_addr=(source, 0),
    )
    await opened.opened
    opened.abort()


@pytest.mark.parametrize("flood", ["frame", "texts", "long"])
def test_a_control_socket_that_sends_too_much_is_cut_off(federation: Federation, flood: str) -> None:
    with server.running(make_relay(federation)) as address:
        site = make_site(federation, PARTY, address)

        async def work() -> None:
            opened = await way(site).web_socket(ATTACH)
            if flood == "frame":
                opened.send(bytes(MAX_FRAME_BYTES + 1))
            elif flood == "texts":
                for _ in range(2 * MAX_TEXTS):
                    opened.send_text("{}")
            else:
                messages.send(opened, Hello(nonce=new_nonce(), serves=True))
                await messages.receive_only(opened, Challenge)
                proof = f'{{"kind": "proof", "proof": "{"A" * 4000}"{" " * messages.MAX_TEXT}}}'
                opened.send_text(proof)
                with pytest.raises(OstrakaError) as caught:
                    await messages.receive_only(opened, Challenge)
                assert caught.value.code == ErrorCode.MESSAGE_INVALID
            await opened.ended

        asyncio.run(asyncio.wait_for(work(), 60))


def test_texts_wait_in_no_endless_row() -> None:
    async def work() -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            _, opened = await asyncio.get_running_loop().create_connection(WebSocket.server, sock=ours)
            for _ in range(MAX_TEXTS):
                opened._take_text("{}")
            assert not opened.ended.done()
            opened._take_text("{}")
            await opened.ended

    asyncio.run(asyncio.wait_for(work(), 60))


def test_texts_that_nobody_reads_are_no_longer_together_than_may() -> None:
    """A called site could fill the relay's memory while the calling one opens no connection."""

    async def work() -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            _, opened = await asyncio.get_running_loop().create_connection(WebSocket.server, sock=ours)
            for _ in range(2):
                opened._take_text("x" * MAX_UNREAD_BYTES)
                await opened.receive_text()
            opened._take_text("x" * MAX_UNREAD_BYTES)
            assert not opened.ended.done()
            opened._take_text("x")
            await opened.ended

    asyncio.run(asyncio.wait_for(work(), 60))


@pytest.mark.parametrize("answered", ["pings", "calls"])
def test_an_end_that_asks_for_answers_and_reads_none_is_cut_off(answered: str) -> None:
    ping = bytes([0x89, 0x80 | MAX_PING_BYTES]) + bytes(4 + MAX_PING_BYTES)

    async def work() -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            _, opened = await asyncio.get_running_loop().create_connection(WebSocket.server, sock=ours)
            opened.data_received(UPGRADE)
            request = await opened.opened
            assert request is not None
            opened.accept(request)
            for _ in range(2 * MAX_BACKLOG_BYTES // MAX_PING_BYTES):
                if answered == "pings":
                    opened.data_received(ping)
                else:
                    opened.send_text("x" * MAX_PING_BYTES)
            await opened.ended

    asyncio.run(asyncio.wait_for(work(), 60))


def test_a_request_with_garbage_after_it_is_not_answered() -> None:
    """It is in the same bytes, so that the connection ends before its owner sees the request."""

    async def work() -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            _, opened = await asyncio.get_running_loop().create_connection(WebSocket.server, sock=ours)
            opened.data_received(UPGRADE + b"\xff" * 8)
            request = await opened.opened
            assert request is not None
            opened.reject(HTTPStatus.NOT_FOUND, "There is nothing here.")
            await opened.ended
            assert not theirs.recv(1)

    asyncio.run(asyncio.wait_for(work(), 60))


def test_a_proxy_that_answers_without_end_is_given_up(federation: Federation) -> None:
    class Endless(Proxy):
        async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with suppress(OSError):
                writer.write(b"HTTP/1.1 200 OK\r\n")
                while True:
                    writer.write(b"X-Filler: " + bytes(MAX_ANSWER_BYTES).replace(b"\0", b"x") + b"\r\n")
                    await writer.drain()

    with proxying(Endless()) as where:
        site = make_site(federation, PARTY, "127.0.0.1:1", f'proxy = "http://{where}"\n')
        assert refused(way(site).web_socket(ATTACH)).code == ErrorCode.RELAY_UNREACHABLE


def test_a_relay_that_stays_silent_is_given_up(
    federation: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dialling, "TIMEOUT_S", 0.01)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        where = f"127.0.0.1:{silent.getsockname()[1]}"
        site = make_site(federation, PARTY, where)
        assert refused(way(site).web_socket(ATTACH)).code == ErrorCode.RELAY_UNREACHABLE


def test_an_agent_makes_no_more_calls_than_may(
    federation: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agents, "MAX_CALLS", 0)

    async def work() -> None:
        attachment = await attach(Credentials.of(site), way(site), CLOCK, serves=False)
        agent = Agent(Credentials.of(site), ways(site), CLOCK, None)
        ours, theirs = socket.socketpair()
        async with aclosing(attachment.socket):
            with theirs:
                _, side = await asyncio.get_running_loop().create_connection(Side, sock=ours)
                with monkeypatch.context() as nothing_sent:
                    nothing_sent.setattr(agents, "send", None)
                    assert not await agent._ask(attachment, GUARDIAN, side)
                side.close()
                await side.ended

    with server.running(make_relay(federation)) as address:
        site = make_site(federation, QUERIER, address)
        asyncio.run(asyncio.wait_for(work(), HANGS_S))


def test_an_agent_carries_no_more_connections_than_may_and_says_so(
    federation: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The relay would wait for the connection for longer than the caller does."""
    monkeypatch.setattr(attachments, "OPEN_S", HANGS_S)
    monkeypatch.setattr(agents, "MAX_TUNNELS", 0)
    caller = federation.issue(QUERIER)

    async def work(_: Agent) -> None:
        assert await asyncio.to_thread(ask, caller, address) == ErrorCode.PARTY_DETACHED

    with server.running(make_relay(federation)) as address:
        attached(make_site(federation, PARTY, address), work, "127.0.0.1:1")


def test_a_relay_fills_no_log_of_its_agent(federation: Federation) -> None:
    """It refuses calls that nobody made, and asks for connections that are not opened."""

    async def work(agent: Agent, attachment: agents.Attachment) -> None:
        for _ in range(3):
            agent._refuse_call(Refused(code="party.detached", message="No.", ref=new_nonce()))
            await agent._open(attachment, Open(token=new_nonce(), ref=new_nonce()))

    async def run() -> None:
        attachment = await attach(Credentials.of(site), way(site), CLOCK, serves=False)
        async with aclosing(attachment.socket):
            await work(Agent(Credentials.of(site), ways(site), CLOCK, None), attachment)

    with server.running(make_relay(federation)) as address, capture_logs() as logged:
        site = make_site(federation, PARTY, address)
        asyncio.run(asyncio.wait_for(run(), HANGS_S))
    events = [entry["event"] for entry in logged if entry["log_level"] == "warning"]
    assert events == ["relay.refused_late", "relay.not_opened"]
