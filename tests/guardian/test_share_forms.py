"""Shares in one message and as streams, between real members and a real guardian."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import grpc
import numpy as np
import pytest

from ostraka.client.peers.guardian_peer import GuardianPeer, Sum
from ostraka.client.peers.retry import Retry
from ostraka.common.identity import Role
from ostraka.common.rpc import open_channel, shares
from ostraka.common.rpc.redirect import Replicas
from ostraka.common.sharing.fixed_point import encode
from ostraka.guardian.serving.service import GuardianService
from ostraka.protos.ostraka.v1 import guardian_pb2
from ostraka.services.journal.journal import Journal
from ostraka.services.voting.submission import GuardianLink
from tests.guardian.federation import (
    PARTIES,
    RING,
    Calls,
    Federation,
    framed_ballots,
    framed_sum,
    refusal,
    unanimous,
)
from tests.guardian.verified_batch import SIZE, Batch, verified

SHARES = ("SubmitBallots", "SubmitProof", "VerifyBallots", "Release")
FORMS = [*SHARES, *(f"{name}Whole" for name in SHARES)]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the calls with shares that the guardian is asked, as they come."""
    heard: list[str] = []

    def listen(name: str) -> None:
        method = getattr(GuardianService, name)

        def answer(self: GuardianService, request: Any, context: grpc.ServicerContext) -> Any:
            heard.append(name)
            return method(self, request, context)

        monkeypatch.setattr(GuardianService, name, answer)

    for name in FORMS:
        listen(name)
    return heard


@pytest.fixture(params=["at once", "beyond the limit", "to an older guardian"])
def form(request: pytest.FixtureRequest, asked: list[str], monkeypatch: pytest.MonkeyPatch) -> str:
    """Have shares sent so; the limit, or what the guardian knows, is changed accordingly."""

    def unknown(_: GuardianService, __: Any, context: grpc.ServicerContext) -> NoReturn:
        asked.append("unknown")
        context.abort(grpc.StatusCode.UNIMPLEMENTED, "Method not found!")

    if request.param == "beyond the limit":
        monkeypatch.setattr(shares, "MAX_WHOLE_BYTES", 0)
    if request.param == "to an older guardian":
        for name in SHARES:
            monkeypatch.setattr(GuardianService, f"{name}Whole", unknown)
    return str(request.param)


@pytest.fixture
def guardian(form: str, tmp_path: Path) -> Iterator[tuple[Federation, Calls]]:
    federation = Federation(tmp_path)
    with federation.guardian() as calls:
        calls.prepare_all()
        yield federation, calls


def test_a_batch_is_released_in_either_form(
    guardian: tuple[Federation, Calls], form: str, asked: list[str], tmp_path: Path
) -> None:
    federation, calls = guardian
    identity = federation.credentials["guardian", Role.GUARDIAN].identity
    batch = Batch(calls, verified())
    with ExitStack() as stack:
        for site in PARTIES:
            own = federation.credentials[site, Role.PARTY]
            journal = stack.enter_context(Journal(tmp_path / f"{site}.db"))
            link = GuardianLink(own, calls.address, identity, journal, federation.clock)
            stack.enter_context(closing(link)).submit(batch.share(site))
        connect = partial(open_channel, federation.credentials["q", Role.QUERY], expected=identity)
        peer = GuardianPeer(stack.enter_context(closing(Replicas(connect, calls.address))), Retry())
        assert peer.verify_ballots(batch.verification()) == frozenset()
        frozen, _ = peer.prepare(batch.session, 1, PARTIES)
        total = Sum(batch.plan.modulus.to_bytes(batch.total(frozen)), SIZE, batch.plan.classes)
        answers = peer.release(batch.session, 1, total)
    assert [(answer.answered, answer.label) for answer in answers] == [(True, 2)] * SIZE
    streams = [*PARTIES, "querier"]
    expected = {
        "at once": sorted(
            3 * ["SubmitBallotsWhole", "SubmitProofWhole"] + ["VerifyBallotsWhole", "ReleaseWhole"]
        ),
        "beyond the limit": sorted(3 * ["SubmitBallots", "SubmitProof"] + ["VerifyBallots", "Release"]),
    }
    expected["to an older guardian"] = sorted(expected["beyond the limit"] + len(streams) * ["unknown"])
    assert sorted(asked) == expected[form], "each member asks an older guardian once"


def share(session: str, label: int = 1) -> guardian_pb2.SubmitBallotsWholeRequest:
    """Return a share of 20 queries in one message."""
    header, data = framed_ballots(session, 1, encode(unanimous(20, label)[0], RING))
    return guardian_pb2.SubmitBallotsWholeRequest(header=header, data=data)


def test_one_share_is_the_same_in_both_forms_and_held_against_the_same_rules(tmp_path: Path) -> None:
    with Federation(tmp_path).guardian() as calls:
        calls.prepare_all()
        session = calls.open().session_id
        calls.ticket(session, 1, 20)
        a, b = (calls.stub(site, Role.PARTY) for site in ("a", "b"))
        head = a.SubmitBallotsWhole(share(session)).audit_head
        assert calls.submit("a", session, 1, encode(unanimous(20)[0], RING)) == head
        assert a.SubmitBallotsWhole(share(session)).audit_head == head
        assert refusal(lambda: a.SubmitBallotsWhole(share(session, label=2))) == "batch.altered"
        calls.submit("b", session, 1, encode(unanimous(20)[0], RING))
        assert refusal(lambda: b.SubmitBallotsWhole(share(session, label=2))) == "batch.altered"
        c = calls.stub("c", Role.PARTY)
        for change, code in (
            ({"data": b"short"}, "message.invalid"),
            ({"data": bytes(len(share(session).data))}, "message.invalid"),
            ({"data": share(session).data + b"1"}, "message.too_large"),
            ({"data": bytes(shares.MAX_WHOLE_BYTES + 1)}, "message.too_large"),
            ({"data": bytes(4 << 20)}, "message.too_large"),
            ({"header": guardian_pb2.BallotsHeader(session_id=session, batch_id=2)}, "ticket.invalid"),
        ):
            altered = share(session)
            altered.MergeFrom(guardian_pb2.SubmitBallotsWholeRequest(**change))
            assert refusal(lambda: c.SubmitBallotsWhole(altered)) == code  # noqa: B023
        assert refusal(lambda: calls.query.SubmitBallotsWhole(share(session))) == "identity.wrong_role"
        too_large = guardian_pb2.SubmitBallotsWholeRequest(data=bytes(shares.MAX_WHOLE_BYTES + 1))
        assert refusal(lambda: c.SubmitBallotsWhole(too_large), told="as a stream") == "message.too_large"
        c.SubmitBallotsWhole(share(session))
        assert list(calls.prepare(session, 1).frozen) == list(PARTIES)
        nothing = np.zeros((20, 4), dtype=np.uint64)
        header, data = framed_sum(session, 1, nothing)
        total = guardian_pb2.ReleaseWholeRequest(header=header, data=data)
        answers = list(calls.query.ReleaseWhole(total))
        assert sum(len(reply.answers) for reply in answers) == 20
        assert calls.replies(session, 1, nothing) == list(calls.query.ReleaseWhole(total)) == answers
