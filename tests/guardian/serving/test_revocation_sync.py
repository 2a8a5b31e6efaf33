"""Revocation over real sockets: lists are taken, callers cut, parties left out, and nothing charged twice."""

import json
import threading
from collections.abc import Iterable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import grpc
import pytest
from structlog.testing import capture_logs

from ostraka.common.clock import ManualClock, SystemClock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import CertificateAuthority, Role
from ostraka.common.identity.revocation import CRL
from ostraka.common.mechanism import Confident
from ostraka.common.rpc.shares import stream_share
from ostraka.common.sharing.fixed_point import encode
from ostraka.common.sharing.ring import RingArray
from ostraka.common.sharing.shares import split as split_shares
from ostraka.common.wire.contexts import AGREEMENT_CONTEXT
from ostraka.guardian.ledger import LedgerReader, open_guardian_ledger, verify
from ostraka.guardian.ledger.members import revocations
from ostraka.guardian.serving.timers import Follower, following
from ostraka.protos.ostraka.v1 import admin_pb2, common_pb2, guardian_pb2
from tests.fair_clock import HANGS_S
from tests.guardian.federation import (
    FEDERATION,
    PARTIES,
    RING,
    Calls,
    Federation,
    framed_ballots,
    framed_sum,
    plan,
    refusal,
    unanimous,
)

A, Q = ("a", Role.PARTY), ("q", Role.QUERY)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(SystemClock().now())


@pytest.fixture
def federation(tmp_path: Path, clock: ManualClock) -> Federation:
    return Federation(tmp_path, clock)


@pytest.fixture
def calls(federation: Federation) -> Iterator[Calls]:
    with federation.guardian() as calls:
        calls.prepare_all()
        yield calls


class HeldBack:
    """Messages of a stream that stops before its last, until it is let go."""

    def __init__(self, messages: Iterable[Any]) -> None:
        self._messages = list(messages)
        self.reached = threading.Event()
        self.go_on = threading.Event()

    def __iter__(self) -> Iterator[Any]:
        yield from self._messages[:-1]
        self.reached.set()
        self.go_on.wait(HANGS_S)
        yield self._messages[-1]


def ballots(session: str, share: RingArray) -> list[guardian_pb2.SubmitBallotsRequest]:
    return list(stream_share(guardian_pb2.SubmitBallotsRequest, *framed_ballots(session, 1, share)))


def total(session: str, values: RingArray) -> list[guardian_pb2.ReleaseRequest]:
    return list(stream_share(guardian_pb2.ReleaseRequest, *framed_sum(session, 1, values)))


def sites(ticket: common_pb2.Ticket) -> list[str]:
    return [schedule.participant.site for schedule in ticket.schedule]


def test_a_list_is_in_force_at_once_kept_and_recorded_once(calls: Calls, federation: Federation) -> None:
    pem = federation.revoke(federation.credentials[A])
    before = calls.admin.Head(admin_pb2.HeadRequest()).sequence
    for _ in range(2):
        reply = calls.revoke(pem, "stolen laptop")
        assert (reply.number, reply.revoked) == (1, 2)
    assert refusal(lambda: calls.register("a")) == "identity.revoked"
    assert (federation.guardian_folder / CRL).read_bytes() == pem
    (row,) = calls.admin.ExportAudit(admin_pb2.ExportAuditRequest(first=before + 1))
    payload = json.loads(row.payload)
    assert (payload["kind"], payload["number"], payload["revoked"]) == ("revocations_applied", 1, 2)
    assert payload["reason"] == "stolen laptop"


def test_lists_that_are_foreign_older_or_none_change_nothing(calls: Calls, federation: Federation) -> None:
    older, newer = federation.revoke(), federation.revoke()
    foreign = CertificateAuthority.create(FEDERATION, SystemClock()).revoke([1], SystemClock())
    calls.revoke(newer)
    before = calls.admin.Head(admin_pb2.HeadRequest())
    for pem, code in ((older, "invalid"), (foreign, "foreign"), (b"none", "invalid")):
        assert refusal(partial(calls.revoke, pem)) == f"identity.{code}"
    assert refusal(lambda: calls.revoke(newer, reason="")) == "message.invalid"
    assert calls.admin.Head(admin_pb2.HeadRequest()) == before


def test_parties_are_handed_the_list_that_they_lack(calls: Calls, federation: Federation) -> None:
    assert not calls.register("a").revocations
    pem = federation.revoke(federation.credentials["b", Role.PARTY])
    calls.revoke(pem)
    assert calls.register("a").revocations == pem
    assert not calls.register("a", revocations=1).revocations


@pytest.mark.heavy
def test_a_party_cut_in_its_stream_is_left_out_and_not_charged(
    calls: Calls, federation: Federation, clock: ManualClock
) -> None:
    easy = plan(mechanism=Confident(sigma1=2.0, sigma2=1.0, threshold=5.0))
    session = calls.open(easy).session_id
    assert sites(calls.ticket(session, 1, 20)) == list(PARTIES)
    votes = unanimous(20)
    stream = HeldBack(ballots(session, split_shares(votes[0], bytes(32), RING)))
    cut = calls.begin_submitting(A[0], iter(stream))
    assert stream.reached.wait(HANGS_S)
    halves = []
    for i, site in enumerate("bc", start=1):
        share = split_shares(votes[i], bytes([i]) * 32, RING)
        calls.submit(site, session, 1, share)
        halves.append(encode(votes[i], RING) - share)

    calls.revoke(federation.revoke(federation.credentials[A]))
    ended: Any = cut.exception(HANGS_S)
    assert ended.code() is grpc.StatusCode.CANCELLED
    stream.go_on.set()
    clock.advance(31)
    assert list(calls.prepare(session, 1).frozen) == ["b", "c"]
    assert calls.release(session, 1, RING.sum(halves)) == [(True, 1)] * 20
    assert calls.spent("a") == 0
    assert calls.spent("b") == calls.spent("c") > 0
    assert sites(calls.ticket(session, 2, 10)) == ["b", "c"]
    assert calls.states() == {"a": "revoked", "b": "active", "c": "active"}
    assert refusal(lambda: calls.open(plan(nonce=b"m" * 16))) == "party.suspended"

    calls.renew(*A)
    calls.register("a")
    assert sites(calls.ticket(session, 3, 10)) == list(PARTIES)
    assert set(calls.states().values()) == {"active"}


@pytest.mark.heavy
def test_a_querying_party_cut_in_its_release_is_charged_once(calls: Calls, federation: Federation) -> None:
    session = calls.open().session_id
    calls.ticket(session, 1, 20)
    summed = calls.vote(session, 1, unanimous(20))
    stream = HeldBack(total(session, summed))
    cut = calls.query.Release(iter(stream))
    assert stream.reached.wait(HANGS_S)
    calls.revoke(federation.revoke(federation.credentials[Q]))
    with pytest.raises(grpc.RpcError) as ended:
        next(cut)
    assert ended.value.code() is grpc.StatusCode.CANCELLED
    stream.go_on.set()
    assert calls.spent() == 0
    assert refusal(lambda: calls.release(session, 1, summed)) == "identity.revoked"

    calls.renew(*Q)
    answers = calls.release(session, 1, summed)
    assert answers == [(True, 1)] * 20
    spent = calls.spent()
    assert calls.release(session, 1, summed) == answers
    assert calls.spent() == spent > 0


def test_too_few_parties_that_are_not_revoked_lose_the_quorum(calls: Calls, federation: Federation) -> None:
    session = calls.open().session_id
    calls.revoke(federation.revoke(*(federation.credentials[site, Role.PARTY] for site in "ab")))
    assert refusal(lambda: calls.ticket(session, 1, 20)) == "quorum.lost"
    assert all(calls.spent(site) == 0 for site in PARTIES)


def test_an_agreement_by_a_revoked_party_raises_nothing(calls: Calls, federation: Federation) -> None:
    agreed = common_pb2.Agreement(
        site="a", group="all", adjacency="record", action="raise", epsilon_before=1000, epsilon=2000, number=1
    )
    signed = federation.credentials[A].sign(AGREEMENT_CONTEXT, agreed.SerializeToString())
    calls.revoke(federation.revoke(federation.credentials[A]))
    request = admin_pb2.GrantBudgetRequest(agreement=signed, reason="we agreed")
    assert refusal(lambda: calls.admin.GrantBudget(request)) == "identity.revoked"


def test_other_replicas_find_the_list_in_the_ledger(calls: Calls, federation: Federation) -> None:
    """Each replica has a folder of its own and reads the one ledger."""
    other = federation.credentials["other", Role.QUERY].revocations
    folder = federation.guardian_folder
    with closing(LedgerReader.open_read_only(folder / "ledger.db")) as reader:
        follower = Follower(reader, other)
        follower.follow()
        assert other.number == 0
        for number in (1, 2):
            calls.revoke(federation.revoke(federation.credentials[A]))
            follower.follow()
            assert other.number == number
        calls.register("b")
        follower.follow()
        assert other.number == 2


def test_a_replica_that_could_not_read_the_ledger_once_follows_again(federation: Federation) -> None:
    class Busy:
        """A reader that is locked out at its second look."""

        def __init__(self, reader: LedgerReader) -> None:
            self._reader = reader
            self.looks = 0

        def read(self, question: Any, row: int) -> object:
            self.looks += 1
            if self.looks == 2:
                raise OstrakaError(ErrorCode.LEDGER_LOCKED, "The ledger is busy; try again.")
            if other.number:
                took.set()
            return self._reader.read(question, row)

    took = threading.Event()
    pem = federation.revoke(federation.credentials[A])
    guardian = federation.credentials["guardian", Role.GUARDIAN]
    other = federation.credentials["other", Role.QUERY].revocations
    with closing(open_guardian_ledger(federation.guardian_folder, guardian, federation.clock)) as ledger:
        busy: Any = Busy(ledger)
        with capture_logs() as logs, following(busy, other, interval_s=0.001):
            ledger.write(revocations.apply, pem.decode(), number=1, revoked=2, reason="a test")
            assert took.wait(HANGS_S)
    assert {"event": "guardian.revocations_not_read", "code": "ledger.locked", "log_level": "warning"} in logs


def test_an_older_list_that_another_replica_took_last_hides_no_newer_one(
    federation: Federation,
) -> None:
    older = federation.revoke(federation.credentials[Q])
    newer = federation.revoke(federation.credentials["ops", Role.ADMIN])
    foreign = CertificateAuthority.create(FEDERATION, SystemClock()).revoke([1], SystemClock())
    guardian = federation.credentials["guardian", Role.GUARDIAN]
    folder = federation.guardian_folder
    with closing(open_guardian_ledger(folder, guardian, federation.clock)) as ledger:
        for number, pem in ((2, newer), (1, older), (7, foreign)):
            ledger.write(
                revocations.apply, pem.decode(), number=number, revoked=0, reason="at two replicas at once"
            )
        late = federation.credentials["other", Role.QUERY].revocations
        late.accept(older)
        Follower(ledger, late).follow()
        assert late.number == 2


def test_a_guardian_takes_the_list_of_its_ledger_when_it_starts(federation: Federation) -> None:
    with federation.guardian() as calls:
        calls.prepare_all()
        calls.revoke(federation.revoke(federation.credentials[A]))
    (federation.guardian_folder / CRL).unlink()
    with federation.guardian() as calls:
        assert refusal(lambda: calls.register("a")) == "identity.revoked"


def test_the_log_verifies_whose_signer_is_revoked_now(federation: Federation) -> None:
    old = federation.credentials["guardian", Role.GUARDIAN]
    with federation.guardian() as calls:
        calls.prepare_all()
        calls.revoke(federation.revoke(old))
    head = verify(federation.guardian_folder / "ledger.db", ca_pem=old.ca_pem, federation=FEDERATION)
    assert head.sequence > 0
    with pytest.raises(OstrakaError, match="was revoked"), federation.guardian():
        pass
