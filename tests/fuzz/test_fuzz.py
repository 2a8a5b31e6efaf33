"""Planted faults of servers and of clients are found, by inputs that find them again."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from ostraka.client.peers import guardian_peer
from ostraka.client.session import permissions
from ostraka.common.identity import Identity, Role
from ostraka.common.mechanism import GnMax
from ostraka.common.rpc.checked import Replies
from ostraka.guardian.members.member_standing import MemberStanding
from ostraka.protos.ostraka.v1 import common_pb2, guardian_pb2
from tests.fuzz.altering import Call
from tests.fuzz.calling import Callers, Server
from tests.fuzz.campaign import Campaign, Tally
from tests.fuzz.client_campaign import ClientCampaign
from tests.fuzz.deceived import Deceived, deceived
from tests.fuzz.forging import CONTEXTS, Forger
from tests.fuzz.lying import KINDS, Lie
from tests.fuzz.meddling import Meddler, Tap
from tests.fuzz.methods import Method, answered_by, methods_of
from tests.fuzz.watching import problem_of
from tests.guardian.federation import FEDERATION, Calls, Federation, plan, unanimous

SEED, MOST, LIES = 5, 1_000, 100
MEMBERS = {"admin": "ops-admin", "query": "q-query", "spare": "a-party", "guardian": "guardian-guardian"}


class Bench:
    """A guardian in this process, and what is sent to it."""

    def __init__(self, federation: Federation, guardian: Calls, tap: Tap) -> None:
        keys = {f"{site}-{role}": one for (site, role), one in federation.credentials.items()}
        self.guardian, self.tap = guardian, tap
        server = Server(guardian.address, Identity(FEDERATION, "guardian", Role.GUARDIAN))
        members = {name: keys[key] for name, key in MEMBERS.items()}
        ca_pem = members["admin"].ca_pem
        self.callers = Callers({"guardian": server}, {**members, "nobody": None}, ca_pem)
        self.methods = methods_of("guardian", self.callers.channel("query", "guardian"))
        self.forger = Forger(dict.fromkeys(CONTEXTS, members["spare"]))
        tap.learn(
            self.methods,
            {guardian.address: "guardian"},
            {one.identity.uri: name for name, one in members.items()},
        )

    def campaign(self) -> Campaign:
        """Return a campaign with the same inputs every time."""
        return Campaign(SEED, self.callers, self.methods, self.forger, self.tap, {}, {})

    def method(self, name: str) -> Method:
        """Return a call by its name."""
        (found,) = (method for method in self.methods if method.path.endswith(f"/{name}"))
        return found

    def session(self, nonce: bytes) -> None:
        """Have a batch released."""
        self.guardian.prepare_all()
        session = self.guardian.open(plan(nonce=nonce, mechanism=GnMax(sigma=2.0))).session_id
        self.guardian.ticket(session, 1, 2)
        total = self.guardian.vote(session, 1, unanimous(2))
        assert len(self.guardian.release(session, 1, total)) == 2


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    federation, tap = Federation(tmp_path_factory.mktemp("fuzz")), Tap()
    with tap.tapping(), federation.guardian() as guardian:
        made = Bench(federation, guardian, tap)
        with made.callers:
            yield made


@pytest.fixture(scope="module")
def lying(bench: Bench, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClientCampaign]:
    """Clients of a session that went well, and a guardian and a party that lie to them."""
    bench.session(b"lied to" + bytes(9))
    members = {name: one for name, one in bench.callers.members.items() if one is not None}
    who = Deceived(members, "guardian", "spare", "spare", sites={})
    folder = tmp_path_factory.mktemp("lying") / "deceived"
    with deceived(who, bench.tap.recorder, bench.forger, SEED, folder) as campaign:
        yield campaign


@pytest.fixture
def clients(lying: ClientCampaign) -> ClientCampaign:
    """Return them with nothing counted."""
    lying.tally = Tally()
    return lying


def test_a_handler_that_raises_is_found_and_found_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def raises(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(MemberStanding, "of", raises)
    first = bench.campaign()
    for number in range(0, MOST, 2):
        first.one(number)
        if any("/Standing by" in what for what in first.tally.findings):
            break
    (found,) = (what for what in first.tally.findings if "/Standing by" in what)
    assert "INTERNAL internal" in found
    told = next(line for line in capsys.readouterr().out.splitlines() if "/Standing by" in line)
    again = bench.campaign()
    again.one(int(told.partition("--only ")[2].partition(":")[0]))
    assert found in again.tally.findings


def test_a_call_that_succeeds_for_a_wrong_role_is_found(bench: Bench) -> None:
    about = replace(bench.method("About"), roles=frozenset({Role.PARTY}))
    for sender, wrong in (("spare", False), ("query", True)):
        call = Call(about, sender, (b"",))
        assert (bench.callers.problem(call, bench.callers.send(call)) is not None) is wrong


def test_a_session_is_meddled_with_and_goes_on(bench: Bench) -> None:
    sent: list[Call] = []
    bench.tap.meddler = Meddler("seed", bench.forger, tuple(MEMBERS), sent.append)
    bench.session(b"meddled" + bytes(9))
    bench.tap.meddler = None
    assert {call.method.path.rpartition("/")[2] for call in sent} > {"OpenBatch", "SubmitBallots"}
    assert {"stream cut", "another's", "bytes mutated"} < {call.kind for call in sent}


def test_clients_take_no_lie(clients: ClientCampaign) -> None:
    for number in range(LIES):
        clients.one(number)
    assert clients.tally.inputs == LIES
    assert not clients.tally.findings


def test_nothing_that_reaches_a_client_as_a_reply_is_found_and_found_again(
    clients: ClientCampaign, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Replies, "only", lambda self: next(self, None))
    for number in range(MOST):
        clients.one(number)
        if clients.tally.findings:
            break
    told = next(line for line in capsys.readouterr().out.splitlines() if "NoneType" in line)
    clients.tally = Tally()
    clients.one(int(told.partition("--only ")[2].partition(":")[0]))
    assert any("NoneType" in what for what in clients.tally.findings)


def test_an_altered_grant_that_is_accepted_is_found(
    clients: ClientCampaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    def believe(signed: Any, _: bytes, header: Any, **__: object) -> Any:
        header.ParseFromString(signed.payload)
        return header

    monkeypatch.setattr(permissions, "read_signed", believe)
    place = clients.place_of("OpenSession")
    reply = guardian_pb2.OpenSessionReply.FromString(clients.honest(place)[0])
    grant = common_pb2.Grant.FromString(reply.grant.signed.payload)
    grant.max_queries += 1
    reply.grant.signed.payload = grant.SerializeToString()
    clients.tell(0, place, Lie((reply.SerializeToString(),)))
    assert any("was accepted, altered" in what for what in clients.tally.findings)


def test_an_endless_stream_that_is_read_is_found(
    clients: ClientCampaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = clients.place_of("Release")
    megabyte = guardian_pb2.ReleaseReply(update=common_pb2.Chunk(data=bytes(1 << 20))).SerializeToString()
    endless = Lie(clients.honest(place), endlessly=megabyte)
    clients.tell(0, place, endless)
    assert not clients.tally.findings
    monkeypatch.setattr(guardian_peer, "limit_replies", lambda replies, _: replies)
    clients.tell(0, place, endless)
    assert any("endless stream" in what for what in clients.tally.findings)


@pytest.mark.parametrize("name", ["OpenSession", "Release"])
def test_every_lie_follows_from_the_seed(bench: Bench, name: str) -> None:
    (exchange, *_) = bench.tap.recorder.exchanges[f"/ostraka.v1.Guardian/{name}"]
    method = answered_by(exchange.path)

    def told(seed: int) -> list[Lie]:
        draws = random.Random(seed)  # noqa: S311
        return [made(method, exchange.replies, draws, bench.forger) for made in KINDS]

    assert told(1) == told(1) != told(2)


@pytest.mark.parametrize("kind", ["nonsense", "edited"])
def test_messages_follow_from_the_seed(bench: Bench, kind: str) -> None:
    method = bench.method("Register")
    honest = [bench.forger.nonsense(method.request, random.Random(1))]  # noqa: S311

    def made(seed: int) -> list[bytes]:
        draws = random.Random(seed)  # noqa: S311
        if kind == "nonsense":
            return [bench.forger.nonsense(method.request, draws)]
        return bench.forger.edited(method.request, honest, draws)

    assert made(2) == made(2) != made(3)


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ('{"event": "guardian.serving", "level": "info"}', False),
        ('{"event": "Exception calling application", "exception": ["KeyError"]}', True),
        ('{"event": "rpc.internal", "error": "OverflowError"}', True),
        ("Traceback (most recent call last):", True),
    ],
)
def test_unforeseen_lines_of_a_log_are_found(line: str, wrong: bool) -> None:
    assert (problem_of(line) is not None) is wrong
