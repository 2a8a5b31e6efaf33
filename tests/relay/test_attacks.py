"""What relays, strangers and other sites can do to calls by a relay: end them, and nothing else."""

import asyncio
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

import grpc
import pytest
from prometheus_client import CollectorRegistry

from ostraka.common.config import SiteConfig, split_address
from ostraka.common.errors import ErrorCode
from ostraka.common.identity import Credentials, Identity, Role
from ostraka.common.identity.credentials import TLS_CERT, TLS_KEY
from ostraka.common.relay.agent import Agent
from ostraka.common.rpc import make_server, open_channel
from ostraka.common.telemetry.rpc import RpcMetrics
from ostraka.protos.ostraka.v1 import site_pb2, site_pb2_grpc
from ostraka.relay import relay as relays
from ostraka.relay import server
from ostraka.relay.server import looping
from tests.common.federation import GUARDIAN, NAME, PARTY, QUERIER, Federation
from tests.relay.relaying import make_relay, make_site
from tests.relay.test_relay import CLOCK, ask, attached, greeting, ways

OTHER = Identity(NAME, "b", Role.PARTY)
HEAD = 5
"""Bytes of a TLS record's head; its last two are the length of what follows."""
Alter = Callable[[list[bytes]], list[bytes]]


@pytest.fixture(scope="module")
def federation(tmp_path_factory: pytest.TempPathFactory) -> Federation:
    return Federation(tmp_path_factory.mktemp("attacks") / "federation")


@pytest.fixture(scope="module")
def folder(federation: Federation) -> Path:
    return make_relay(federation)


@pytest.fixture
def address(folder: Path) -> Iterator[str]:
    with server.running(folder) as address:
        yield address


@contextmanager
def serving(credentials: Credentials) -> Iterator[tuple[str, Callable[[], float]]]:
    """Serve, and yield where, and how often somebody was answered."""
    registry = CollectorRegistry()
    bound = make_server(credentials, "127.0.0.1:0", [], {}, CLOCK, metrics=RpcMetrics(registry))
    bound.server.start()

    def answered() -> float:
        labels = {"method": "Site/About", "code": "ok"}
        return registry.get_sample_value("ostraka_rpc_calls_total", labels) or 0

    yield bound.address, answered
    bound.server.stop(None).wait()


class Middle:
    """Carries bytes as a relay does, and alters the TLS records that callers send once told to."""

    def __init__(self, target: str) -> None:
        self._target = target
        self.alter: Alter | None = None

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        onward = await asyncio.open_connection(*split_address(self._target))
        copies = [
            asyncio.create_task(self._send(reader, onward[1])),
            asyncio.create_task(self._return(onward[0], writer)),
        ]
        try:
            await asyncio.wait(copies, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for copy in copies:
                copy.cancel()
            for one in (writer, onward[1]):
                one.transport.abort()

    async def _send(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        held: list[bytes] = []
        with suppress(OSError, asyncio.IncompleteReadError):
            while True:
                head = await reader.readexactly(HEAD)
                record = head + await reader.readexactly(int.from_bytes(head[3:]))
                if self.alter is None:
                    writer.write(record)
                    continue
                held.append(record)
                changed = self.alter(held)
                if changed:
                    held.clear()
                    writer.write(b"".join(changed))

    async def _return(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(65_536):
                writer.write(data)


@contextmanager
def between(middle: Middle) -> Iterator[str]:
    bound = socket.create_server(("127.0.0.1", 0))
    with looping() as loop:
        serving = asyncio.start_server(middle.serve, sock=bound)
        made = asyncio.run_coroutine_threadsafe(serving, loop).result()
        yield f"127.0.0.1:{bound.getsockname()[1]}"
        loop.call_soon_threadsafe(made.close)


def flip(records: list[bytes]) -> list[bytes]:
    """Change one bit of what is encrypted."""
    (record,) = records
    return [record[:-1] + bytes([record[-1] ^ 1])]


def repeat(records: list[bytes]) -> list[bytes]:
    return records * 2


def swap(records: list[bytes]) -> list[bytes]:
    """Hold one record back until the next one is there, which then goes first."""
    return records[::-1] if len(records) == 2 else []


def keep(records: list[bytes]) -> list[bytes]:
    """Hold back all that comes."""
    return []


@pytest.mark.parametrize("alter", [flip, repeat, swap, keep])
def test_whoever_alters_repeats_reorders_or_holds_back_ends_a_call_and_changes_none(
    federation: Federation, address: str, alter: Alter
) -> None:
    """The call is made at most once, and its caller is told that it does not know."""
    middle = Middle(address)
    caller = federation.issue(QUERIER)
    with serving(federation.issue(PARTY)) as (served, answered), between(middle) as way:

        def call() -> None:
            with open_channel(caller, way, PARTY) as channel:
                stub = site_pb2_grpc.SiteStub(channel)
                stub.About(site_pb2.AboutRequest(), timeout=20)
                middle.alter = alter
                with pytest.raises(grpc.RpcError) as caught:
                    stub.About(site_pb2.AboutRequest(), timeout=0.3)
                assert caught.value.code() in (
                    grpc.StatusCode.UNAVAILABLE,
                    grpc.StatusCode.DEADLINE_EXCEEDED,
                )

        async def work(_: Agent) -> None:
            await asyncio.to_thread(call)

        attached(make_site(federation, PARTY, address), work, served)
        assert answered() in ((1, 2) if alter is repeat else (1,))


def test_an_agent_gets_callers_of_its_own_certificate_alone(federation: Federation, address: str) -> None:
    caller = federation.issue(QUERIER)
    with serving(federation.issue(OTHER)) as (served, answered):

        async def work(_: Agent) -> None:
            assert await asyncio.to_thread(ask, caller, address) == ErrorCode.PARTY_DETACHED
            assert "." in await asyncio.to_thread(ask, caller, address, OTHER)

        attached(make_site(federation, OTHER, address), work, served)
        before = answered()

        async def diverted(_: Agent) -> None:
            code = await asyncio.to_thread(ask, caller, address)
            assert code.startswith("identity.")

        # A relay that passes a caller on to another site than it names: that one's certificate is refused.
        attached(make_site(federation, PARTY, address), diverted, served)
        assert answered() == before


def test_a_stranger_reaches_a_handshake_and_no_call(
    federation: Federation, address: str, tmp_path: Path
) -> None:
    stranger = Federation(tmp_path / "foreign").issue(QUERIER)
    with serving(federation.issue(PARTY)) as (served, answered):

        async def work(_: Agent) -> None:
            code = await asyncio.to_thread(ask, stranger, address)
            assert code.startswith("identity.")

        attached(make_site(federation, PARTY, address), work, served)
        assert answered() == 0


def test_a_caller_that_says_no_more_than_hello_is_ended(
    federation: Federation, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relays, "INNER_S", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:

        async def work(_: Agent) -> None:
            reader, writer = await asyncio.open_connection(*split_address(address))
            writer.write(greeting(PARTY.server_name))
            with suppress(ConnectionResetError):
                assert await reader.read(1) == b""
            writer.close()

        attached(make_site(federation, PARTY, address), work, f"127.0.0.1:{silent.getsockname()[1]}")


def agent(
    site: SiteConfig,
    served: str,
    lent: dict[Identity, socket.socket],
    told: Callable[[tuple[str, bool]], None],
) -> Agent:
    """Return an agent of a server, which attaches again at once."""
    serving = asyncio.Future[str]()
    serving.set_result(served)
    return Agent(
        Credentials.of(site), ways(site), CLOCK, serving, lent, lambda *what: told(what), lambda *_: 0.01
    )


def ask_any(credentials: Credentials, addresses: str) -> str:
    """Call the party as gRPC does where the name of its relay has several addresses."""
    parts = [(credentials.folder / name).read_bytes() for name in (TLS_KEY, TLS_CERT)]
    tls = grpc.ssl_channel_credentials(credentials.ca_pem, *parts)
    name = ("grpc.ssl_target_name_override", PARTY.server_name)
    with grpc.secure_channel(f"ipv4:{addresses}", tls, [name]) as channel:
        return str(site_pb2_grpc.SiteStub(channel).About(site_pb2.AboutRequest(), timeout=20).version)


def test_callers_and_calls_outwards_go_on_by_the_relay_that_is_left(
    federation: Federation, folder: Path
) -> None:
    """One of two relays ends, and comes back at its port; whoever calls names both."""
    caller = federation.issue(QUERIER)
    guardian = federation.issue(GUARDIAN)
    with ExitStack() as stack:
        served, _ = stack.enter_context(serving(federation.issue(PARTY)))
        called, answered = stack.enter_context(serving(guardian))
        first = server.running(folder)
        left = first.__enter__()
        stack.push(first)
        right = stack.enter_context(server.running(folder))
        site = make_site(federation, PARTY, f"{left},{right}")
        over = make_site(federation, GUARDIAN, right)
        names = f"{left},{right}"

        async def run() -> None:
            lent = stack.enter_context(closing(socket.create_server(("127.0.0.1", 0))))
            where = f"127.0.0.1:{lent.getsockname()[1]}"
            known: asyncio.Queue[tuple[str, bool]] = asyncio.Queue()
            agents = [
                agent(site, served, {GUARDIAN: lent}, known.put_nowait),
                agent(over, called, {}, known.put_nowait),
            ]
            stop = asyncio.Event()
            running = [asyncio.create_task(one.run(stop)) for one in agents]
            try:
                told = {await known.get() for _ in range(3)}
                assert told == {(left, True), (right, True)}
                assert "." in await asyncio.to_thread(ask_any, caller, names)
                # The guardian is attached to one of the two alone, and both are asked.
                assert "." in await asyncio.to_thread(ask, caller, where, GUARDIAN)
                await asyncio.to_thread(first.__exit__, None, None, None)
                assert await known.get() == (left, False)
                assert "." in await asyncio.to_thread(ask_any, caller, names)
                assert "." in await asyncio.to_thread(ask, caller, where, GUARDIAN)
                with server.running(make_relay(federation, left)):
                    assert await known.get() == (left, True)
                    assert "." in await asyncio.to_thread(ask, caller, left)
            finally:
                for one in running:
                    one.cancel()
                await asyncio.wait(running)

        asyncio.run(asyncio.wait_for(run(), 60))
        assert answered() == 2
