"""A relay with real sockets: what it passes on, and whom it refuses."""

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterator
from contextlib import aclosing, closing, suppress
from pathlib import Path

import grpc
import pytest
from prometheus_client import CollectorRegistry

from ostraka.common.clock import Clock, SystemClock
from ostraka.common.config import SiteConfig, split_address
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Credentials, Identity, Role
from ostraka.common.identity.revocation import CRL
from ostraka.common.relay import agent as agents
from ostraka.common.relay import messages
from ostraka.common.relay.agent import Agent, attach
from ostraka.common.relay.agent_process import relay_ways
from ostraka.common.relay.dialling import Way
from ostraka.common.relay.messages import ATTACH, TUNNEL, Attached, Challenge, Hello, Open, Proof
from ostraka.common.relay.proofs import Exchange, new_nonce, prove_site
from ostraka.common.relay.section import load_relay_section
from ostraka.common.relay.web_socket import WebSocket
from ostraka.common.rpc import make_server, open_channel
from ostraka.common.rpc.failures import call_error
from ostraka.protos.ostraka.v1 import site_pb2, site_pb2_grpc
from ostraka.relay import attachments, server
from ostraka.relay import relay as relays
from ostraka.relay.quotas import Quota
from tests.common.federation import NAME, PARTY, QUERIER, Federation
from tests.fair_clock import HANGS_S
from tests.relay.relaying import HUB, Proxy, found_corporation, make_relay, make_site, proxying

CLOCK: Clock = SystemClock()


@pytest.fixture(scope="module")
def federation(tmp_path_factory: pytest.TempPathFactory) -> Federation:
    return Federation(tmp_path_factory.mktemp("relay") / "federation")


@pytest.fixture(scope="module")
def folder(federation: Federation) -> Path:
    return make_relay(federation)


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


@pytest.fixture
def address(folder: Path, registry: CollectorRegistry) -> Iterator[str]:
    with server.running(folder, registry=registry) as address:
        yield address


def ways(site: SiteConfig) -> list[Way]:
    return relay_ways(site, load_relay_section(site))


def way(site: SiteConfig) -> Way:
    return ways(site)[0]


def attached(site: SiteConfig, work: Callable[[Agent], Awaitable[None]], served: str = "") -> None:
    """Run `work` once an agent of `site`, whose server is at `served`, is attached."""

    async def run() -> None:
        there = asyncio.Event()
        serving = asyncio.Future[str]()
        serving.set_result(served)

        def told(_: str, attached: bool) -> None:
            if attached:
                there.set()

        agent = Agent(Credentials.of(site), ways(site), CLOCK, serving, told=told)
        running = asyncio.create_task(agent.run(asyncio.Event()))
        async with asyncio.timeout(30):
            await there.wait()
            try:
                await work(agent)
            finally:
                running.cancel()  # without waiting for callers: gRPC may keep a connection for a while
                await asyncio.wait([running])

    asyncio.run(run())


def refused(work: Awaitable[object]) -> OstrakaError:
    async def run() -> None:
        await work

    with pytest.raises(OstrakaError) as caught:
        asyncio.run(run())
    return caught.value


def ask(credentials: Credentials, address: str, who: Identity = PARTY) -> str:
    """Call a server; return who it is, or the code of what went wrong."""
    with open_channel(credentials, address, who) as channel:
        try:
            return str(site_pb2_grpc.SiteStub(channel).About(site_pb2.AboutRequest(), timeout=20).version)
        except grpc.RpcError as error:
            return call_error(error).code


@pytest.fixture
def party(federation: Federation) -> Iterator[str]:
    """Serve as the party, and yield where."""
    bound = make_server(federation.issue(PARTY), "127.0.0.1:0", [], {}, CLOCK)
    bound.server.start()
    yield bound.address
    bound.server.stop(None).wait()


def test_a_caller_is_passed_on_to_the_site_that_it_names(
    federation: Federation, address: str, party: str, registry: CollectorRegistry
) -> None:
    caller = federation.issue(QUERIER)
    assert ask(caller, address) == ErrorCode.PARTY_DETACHED

    async def work(_: Agent) -> None:
        assert "." in await asyncio.to_thread(ask, caller, address)
        other = Identity(NAME, "b", Role.PARTY)
        assert await asyncio.to_thread(ask, caller, address, other) == ErrorCode.PARTY_DETACHED
        assert registry.get_sample_value("ostraka_relay_sites") == 1

    attached(make_site(federation, PARTY, address), work, party)
    passed = registry.get_sample_value("ostraka_relay_connections_total", {"role": "party"})
    assert passed
    assert registry.get_sample_value("ostraka_relay_refused_total", {"code": "party.detached"})


def test_callers_of_a_site_whose_server_is_gone_are_told_at_once(
    federation: Federation, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One calls the relay, the other by its agent; both would wait for longer than their deadline."""
    monkeypatch.setattr(attachments, "OPEN_S", HANGS_S)
    monkeypatch.setattr(agents, "CALL_S", HANGS_S)
    caller = federation.issue(QUERIER)
    over = make_site(federation, QUERIER, address)
    with (
        socket.create_server(("127.0.0.1", 0)) as closed,
        socket.create_server(("127.0.0.1", 0)) as lent,
    ):
        gone, where = (f"127.0.0.1:{one.getsockname()[1]}" for one in (closed, lent))
        closed.close()

        async def work(_: Agent) -> None:
            assert await asyncio.to_thread(ask, caller, address) == ErrorCode.PARTY_DETACHED
            calling = Agent(Credentials.of(over), ways(over), CLOCK, None, {PARTY: lent})
            running = asyncio.create_task(calling.run(asyncio.Event()))
            assert await asyncio.to_thread(ask, caller, where) == ErrorCode.PARTY_DETACHED
            running.cancel()
            await asyncio.wait([running])

        attached(make_site(federation, PARTY, address), work, gone)


def test_a_proxy_with_a_password_that_inspects_is_passed_and_one_without_is_named(
    federation: Federation, address: str, party: str, tmp_path: Path
) -> None:
    corporation = found_corporation(tmp_path / "corporation")
    caller = federation.issue(QUERIER)
    proxy = Proxy("ward:p%40ss", corporation)
    with proxying(Proxy("ward:p@ss", corporation)) as where:
        named = f'proxy = "http://ward:p%40ss@{where}"\nca = "{corporation.root}"\n'

        async def work(_: Agent) -> None:
            assert "." in await asyncio.to_thread(ask, caller, address)

        attached(make_site(federation, PARTY, address, named), work, party)
        inspected = make_site(federation, PARTY, address, f'proxy = "http://ward:p%40ss@{where}"\n')
        assert refused(way(inspected).web_socket(ATTACH)).code == ErrorCode.RELAY_INTERCEPTED
        nobody = make_site(federation, PARTY, address, f'proxy = "http://{where}"\n')
        error = refused(way(nobody).web_socket(ATTACH))
        assert error.code == ErrorCode.RELAY_UNREACHABLE
        assert error.details["status"] == "407"
    assert not proxy.connected


def test_what_is_no_relay_is_named(federation: Federation, address: str, party: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        nowhere = f"127.0.0.1:{closed.getsockname()[1]}"
    site = make_site(federation, PARTY, nowhere)
    assert refused(way(site).web_socket(ATTACH)).code == ErrorCode.RELAY_UNREACHABLE
    # A server of gRPC speaks TLS, and its certificate is another's.
    assert refused(way(make_site(federation, PARTY, party)).web_socket(ATTACH)).code in (
        ErrorCode.RELAY_INTERCEPTED,
        ErrorCode.RELAY_UNREACHABLE,
    )
    here = way(make_site(federation, PARTY, address))
    error = refused(here.web_socket("/elsewhere"))
    assert (error.code, error.details["status"]) == (ErrorCode.RELAY_UPGRADE_REFUSED, "404")
    assert refused(here.web_socket(f"{TUNNEL}guessed-token-1234")).details["status"] == "404"


async def prove(way: Way, own: Credentials, exchange: Exchange | None = None, proof: str = "") -> None:
    """Attach with a proof over another exchange, or with another's proof."""
    opened = await way.web_socket(ATTACH)
    try:
        nonce = new_nonce()
        messages.send(opened, Hello(nonce=nonce, serves=True))
        challenge = await messages.receive_only(opened, Challenge)
        made = exchange or Exchange(way.relay, nonce, challenge.nonce)
        messages.send(opened, Proof(proof=proof or prove_site(own, made)))
        await messages.receive_only(opened, Attached)
    finally:
        await opened.aclose()


def test_only_a_proof_made_for_this_relay_and_connection_attaches(
    federation: Federation, address: str, tmp_path: Path
) -> None:
    own = federation.issue(PARTY)
    here = way(make_site(federation, PARTY, address))
    asyncio.run(prove(here, own))

    old = Exchange(HUB, new_nonce(), new_nonce())
    assert refused(prove(here, own, proof=prove_site(own, old))).code == ErrorCode.IDENTITY_WRONG_SERVER
    elsewhere = Exchange(Identity(NAME, "spare", Role.RELAY), new_nonce(), new_nonce())
    assert refused(prove(here, own, elsewhere)).code == ErrorCode.IDENTITY_WRONG_SERVER
    foreign = Federation(tmp_path / "foreign").issue(PARTY)
    assert refused(prove(here, foreign)).code == ErrorCode.IDENTITY_FOREIGN
    assert refused(prove(here, federation.issue(HUB))).code == ErrorCode.IDENTITY_WRONG_ROLE
    garbled = refused(prove(here, own, proof="AAAA"))
    assert garbled.code == ErrorCode.IDENTITY_INVALID


def test_a_site_refuses_another_relay_behind_the_same_address(federation: Federation, address: str) -> None:
    site = make_site(federation, PARTY, address)
    other = Way(address, Identity(NAME, "spare", Role.RELAY), None, None, Credentials.of(site).ca_pem)
    assert refused(other.web_socket(ATTACH)).code == ErrorCode.RELAY_UNREACHABLE


def test_a_site_signs_nothing_for_a_relay_that_does_not_prove_itself(
    federation: Federation, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    """Its outer TLS is right, as an inspecting proxy's would be, and its proof is another relay's."""
    impostor = federation.issue(Identity(NAME, "spare", Role.RELAY))
    signed = []
    monkeypatch.setattr(relays, "prove_relay", lambda _, exchange: relays_proof(impostor, exchange))
    monkeypatch.setattr(agents, "prove_site", lambda *_: signed.append(1))
    with server.running(folder) as address:
        site = make_site(federation, PARTY, address)
        error = refused(attach(Credentials.of(site), way(site), CLOCK, serves=True))
    assert error.code == ErrorCode.IDENTITY_WRONG_SERVER
    assert not signed


def relays_proof(impostor: Credentials, exchange: Exchange) -> str:
    from ostraka.common.relay.proofs import prove_relay

    return prove_relay(impostor, exchange)


def test_a_site_that_is_revoked_is_cut_off_and_refused_from_then_on(
    federation: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relays, "CHECK_EVERY_S", 0.01)
    monkeypatch.setattr(server, "CHECK_EVERY_S", 0.0)
    folder = make_relay(federation)
    with server.running(folder) as address:
        site = make_site(federation, PARTY, address)
        own = Credentials.of(site)

        async def work() -> None:
            attachment = await attach(own, way(site), CLOCK, serves=True)
            crl = federation.revoke(own)
            (folder / CRL).write_bytes(crl)
            async with aclosing(attachment.socket):
                await messages.receive_only(attachment.socket, Attached)

        assert refused(work()).code == ErrorCode.IDENTITY_REVOKED
        assert refused(attach(own, way(site), CLOCK, serves=True)).code == ErrorCode.IDENTITY_REVOKED


def test_a_site_that_is_revoked_carries_nothing_on_though_its_attachment_ended(
    federation: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relays, "INNER_S", HANGS_S)
    monkeypatch.setattr(relays, "CHECK_EVERY_S", 0.01)
    monkeypatch.setattr(server, "CHECK_EVERY_S", 0.0)
    folder = make_relay(federation)
    with server.running(folder) as address, socket.create_connection(split_address(address)) as caller:
        site = make_site(federation, PARTY, address)
        own = Credentials.of(site)

        async def work() -> None:
            attachment = await attach(own, way(site), CLOCK, serves=True)
            caller.sendall(greeting(PARTY.server_name))
            asked = await messages.receive_only(attachment.socket, Open)
            tunnel = await way(site).web_socket(TUNNEL + asked.token)
            tunnel.send(b"hello")
            caller.setblocking(False)
            loop = asyncio.get_running_loop()
            assert await loop.sock_recv(caller, 10) == b"hello"
            await attachment.socket.aclose()
            (folder / CRL).write_bytes(federation.revoke(own))
            with suppress(ConnectionResetError):
                assert await loop.sock_recv(caller, 10) == b""
            tunnel.abort()

        asyncio.run(asyncio.wait_for(work(), 60))


def test_a_newer_agent_replaces_one_that_may_be_dead(federation: Federation, address: str) -> None:
    site = make_site(federation, PARTY, address)
    own = Credentials.of(site)

    async def work() -> None:
        older = await attach(own, way(site), CLOCK, serves=True)
        calling = await attach(own, way(site), CLOCK, serves=False)
        newer = await attach(own, way(site), CLOCK, serves=True)
        with pytest.raises(OstrakaError) as caught:
            await messages.receive_only(older.socket, Attached)
        assert caught.value.code == ErrorCode.RELAY_REPLACED
        await older.socket.aclose()
        # Whoever attaches to call outwards alone replaces nobody, and is replaced by nobody.
        assert not calling.socket.ended.done()
        await calling.socket.aclose()
        await newer.socket.aclose()

    asyncio.run(work())


class Echo(asyncio.Protocol):
    """Answers with what comes, and says that it is done once the caller does."""

    def __init__(self) -> None:
        self.kept = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.kept += data

    def eof_received(self) -> bool:
        assert isinstance(self.transport, asyncio.Transport)
        self.transport.write(self.kept[::-1])
        return False  # and closes, once all is written


def greeting(name: str) -> bytes:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    sent = ssl.MemoryBIO()
    tls = context.wrap_bio(ssl.MemoryBIO(), sent, server_hostname=name)
    with pytest.raises(ssl.SSLWantReadError):
        tls.do_handshake()
    return sent.read()


def test_an_end_that_sends_no_more_is_still_answered(federation: Federation, address: str) -> None:
    async def work(agent: Agent) -> None:
        reader, writer = await asyncio.open_connection(*split_address(address))
        sent = greeting(PARTY.server_name) + bytes(range(256)) * 4000
        writer.write(sent)
        writer.write_eof()
        assert await reader.read(-1) == sent[::-1]
        writer.close()

    with socket.create_server(("127.0.0.1", 0)) as bound:
        served = f"127.0.0.1:{bound.getsockname()[1]}"

        async def serve(agent: Agent) -> None:
            made = await asyncio.get_running_loop().create_server(Echo, sock=bound)
            await work(agent)
            made.close()

        attached(make_site(federation, PARTY, address), serve, served)


@pytest.mark.heavy
def test_a_reader_that_stands_still_stops_the_sender_and_fills_no_memory(
    federation: Federation, address: str
) -> None:
    """The server sends without end; what it gets rid of is what sockets and buffers on the way hold."""

    async def work(sent: list[int]) -> None:
        loop = asyncio.get_running_loop()
        caller = socket.create_connection(split_address(address))
        with closing(caller):
            caller.setblocking(False)
            await loop.sock_sendall(caller, greeting(PARTY.server_name))
            before = -1
            while not sent or sent[0] != before:
                before = sent[0] if sent else -1
                await asyncio.sleep(0.5)

    sent: list[int] = []

    async def flood(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                writer.write(bytes(65_536))
                await writer.drain()
                sent[:] = [sum(sent) + 65_536]
        except OSError:
            writer.close()

    async def serve(_: Agent) -> None:
        made = await asyncio.start_server(flood, sock=bound)
        await work(sent)
        made.close()

    with socket.create_server(("127.0.0.1", 0)) as bound:
        attached(make_site(federation, PARTY, address), serve, f"127.0.0.1:{bound.getsockname()[1]}")
    # Six buffers of the system, 4 MiB each at most, and four of 64 KiB here; without a stop it is GiB.
    assert 0 < sent[0] < 30 << 20


def test_whoever_says_nothing_or_garbage_is_ended_and_holds_up_nobody(
    federation: Federation, address: str, party: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent = [socket.create_connection(split_address(address)) for _ in range(200)]
    for one in silent:
        one.sendall(b"\x16\x03\x01")
    caller = federation.issue(QUERIER)

    async def work(_: Agent) -> None:
        assert "." in await asyncio.to_thread(ask, caller, address)

    attached(make_site(federation, PARTY, address), work, party)
    with socket.create_connection(split_address(address)) as garbage:
        garbage.sendall(b"GET / HTTP/1.1\r\n\r\n")
        with suppress(ConnectionResetError):  # what it sent was never read
            assert garbage.recv(1) == b""
    for one in silent:
        one.close()


def test_a_hello_that_is_not_finished_in_time_is_ended() -> None:
    async def work() -> None:
        with socket.create_server(("127.0.0.1", 0)) as bound:
            theirs = socket.create_connection(bound.getsockname())
            ours, _ = bound.accept()
        with ours, theirs:
            ours.setblocking(False)
            theirs.sendall(b"\x16\x03\x01")
            with pytest.raises(TimeoutError):
                await relays.peek_hello(ours, most_s=0.01)
            theirs.shutdown(socket.SHUT_WR)
            with pytest.raises(ConnectionResetError):
                await relays.peek_hello(ours)

    asyncio.run(work())


def test_a_name_has_as_many_places_as_its_quota() -> None:
    quota = Quota(2, "connections")
    with quota.place("a"), quota.place("b"):
        with quota.place("a"), pytest.raises(OstrakaError) as caught, quota.place("a"):
            pass
        assert caught.value.code == ErrorCode.RELAY_QUOTA
        assert quota.total == 2
    assert quota.total == 0


def test_a_dead_end_is_noticed_by_its_silence() -> None:
    """The other end is a socket that nobody reads."""

    async def work() -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            _, opened = await asyncio.get_running_loop().create_connection(WebSocket.server, sock=ours)
            await agents.beat(opened, every_s=0.01)
            assert opened.ended.done()

    asyncio.run(asyncio.wait_for(work(), 60))
