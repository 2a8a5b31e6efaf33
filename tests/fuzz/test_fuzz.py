"""Planted faults are found, by inputs that find them again."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest

from ostraka.common.identity import Identity, Role
from ostraka.common.mechanism import GnMax
from ostraka.guardian.member_status import MemberStatus
from tests.fuzz.altering import Call
from tests.fuzz.calling import Callers, Server
from tests.fuzz.campaign import Campaign
from tests.fuzz.forging import CONTEXTS, Forger
from tests.fuzz.meddling import Meddler, Tap
from tests.fuzz.methods import Method, methods_of
from tests.fuzz.watching import problem_of
from tests.guardian.federation import FEDERATION, Calls, Federation, plan, unanimous

SEED, MOST = 5, 1_000
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


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    federation, tap = Federation(tmp_path_factory.mktemp("fuzz")), Tap()
    with tap.tapping(), federation.guardian() as guardian:
        made = Bench(federation, guardian, tap)
        with made.callers:
            yield made


def test_a_handler_that_raises_is_found_and_found_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def raises(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(MemberStatus, "of", raises)
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
    guardian = bench.guardian
    guardian.prepare_all()
    sent: list[Call] = []
    bench.tap.meddler = Meddler("seed", bench.forger, tuple(MEMBERS), sent.append)
    session = guardian.open(plan(mechanism=GnMax(sigma=2.0))).session_id
    guardian.ticket(session, 1, 2)
    total = guardian.vote(session, 1, unanimous(2))
    assert len(guardian.release(session, 1, total)) == 2
    bench.tap.meddler = None
    assert {call.method.path.rpartition("/")[2] for call in sent} > {"OpenBatch", "SubmitBallots"}
    assert {"stream cut", "another's", "bytes mutated"} < {call.kind for call in sent}


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
