from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ostraka.common.clock import ManualClock, SystemClock
from ostraka.common.datasets import digits
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import CertificateAuthority, Credentials, Role
from ostraka.common.plan.plan import Plan
from ostraka.common.plan.signed_lists import MerkleTree
from ostraka.common.wire.contexts import GRANT_CONTEXT
from ostraka.protos.ostraka.v1 import common_pb2
from tests.services.wire import FEDERATION, Ask, Caller, Federation, participant, scheduled, yesterday
from tests.signed_lists import shown

HOUR_S = 3600
SignedEntry = common_pb2.SignedEntry


def ask(caller: Caller, size: int = 3) -> Ask:
    return caller.ask(caller.federation.task.prepare(digits().X[:size]))


def refused(caller: Caller, asked: Ask) -> OstrakaError:
    with pytest.raises(OstrakaError) as refusal:
        caller.vote(asked)
    assert not caller.federation.guardian.submissions
    return refusal.value


@pytest.mark.parametrize(
    ("off_s", "code"), [(-HOUR_S, ErrorCode.GRANT_NOT_YET_VALID), (HOUR_S + 90, ErrorCode.GRANT_EXPIRED)]
)
def test_a_clock_that_is_an_hour_off_is_named(attica: Federation, off_s: float, code: ErrorCode) -> None:
    with attica.serving(ManualClock(SystemClock().now() + off_s)) as caller:
        error = refused(caller, ask(caller))
    assert error.code is code
    assert "clocks" in error.message


@pytest.mark.parametrize("off_s", [-50, HOUR_S + 50])
def test_a_clock_within_the_allowed_skew_is_good_enough(attica: Federation, off_s: float) -> None:
    clock = ManualClock(SystemClock().now())
    with attica.serving(clock) as caller:
        asked = ask(caller)
        clock.advance(off_s)
        caller.vote(asked)


@pytest.mark.parametrize(
    "changes",
    [
        {"plan_digest": bytes(32)},
        {"querier": f"ostraka://{FEDERATION}/dodona/query"},
        {"key_id": bytes(32)},
        {"protocol_version": "ostraka.v0"},
        {"ring_bits": 32},
        {"participants": [participant("sparta")]},
        {"session_id": ""},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_a_grant_of_something_else_is_refused(attica: Federation, changes: dict[str, Any]) -> None:
    with attica.serving() as caller:
        error = refused(caller, replace(ask(caller), grant=caller.grant(**changes)))
    assert error.code is ErrorCode.GRANT_INVALID


def test_another_querying_party_cannot_use_the_grant(attica: Federation) -> None:
    with attica.serving() as caller:
        address = caller.address
        with attica.calling(address, attica.issue("dodona", Role.QUERY)) as other:
            assert refused(other, ask(other)).code is ErrorCode.GRANT_INVALID


def own_signature(attica: Federation) -> Credentials:
    return attica.querier


def another_guardian(attica: Federation) -> Credentials:
    return attica.issue("hades", Role.GUARDIAN)


def foreign_federation(attica: Federation) -> Credentials:
    return attica.issue("guardian", Role.GUARDIAN, federation="persia")


def foreign_authority(attica: Federation) -> Credentials:
    attica.ca = CertificateAuthority.create(FEDERATION, yesterday())
    return attica.issue("guardian2", Role.GUARDIAN)


@pytest.mark.parametrize("part", ["grant", "ticket"])
@pytest.mark.parametrize(
    ("signer", "code"),
    [
        (own_signature, ErrorCode.IDENTITY_WRONG_ROLE),
        (another_guardian, None),
        (foreign_federation, ErrorCode.IDENTITY_FOREIGN),
        (foreign_authority, ErrorCode.IDENTITY_FOREIGN),
    ],
)
def test_what_the_guardian_did_not_sign_is_refused(
    attica: Federation, part: str, signer: Callable[[Federation], Credentials], code: ErrorCode | None
) -> None:
    own = {"grant": ErrorCode.GRANT_INVALID, "ticket": ErrorCode.TICKET_INVALID}[part]
    with attica.serving() as caller:
        forger = signer(attica)
        asked = ask(caller)
        if part == "grant":
            asked = replace(asked, grant=caller.grant(signer=forger))
        else:
            asked = replace(asked, ticket=caller.ticket(1, 3, signer=forger))
        error = refused(caller, asked)
    assert error.code is (code or own)


@pytest.mark.parametrize("part", ["grant", "ticket"])
@pytest.mark.parametrize("what", ["payload", "signature", "certificate_der"])
def test_an_altered_signature_is_refused(attica: Federation, part: str, what: str) -> None:
    with attica.serving() as caller:
        asked = ask(caller)
        signed: common_pb2.Signed = getattr(asked, part).signed
        old: bytes = getattr(signed, what)
        setattr(signed, what, old[:-1] + bytes([old[-1] ^ 1]))
        error = refused(caller, asked)
    assert error.code in {ErrorCode.GRANT_INVALID, ErrorCode.TICKET_INVALID, ErrorCode.IDENTITY_FOREIGN}


def test_a_ticket_is_no_grant(attica: Federation) -> None:
    with attica.serving() as caller:
        asked = ask(caller)
        assert refused(caller, replace(asked, grant=asked.ticket)).code is ErrorCode.GRANT_INVALID
        assert refused(caller, replace(asked, ticket=asked.grant)).code is ErrorCode.TICKET_INVALID


def test_a_batch_is_as_large_as_its_ticket(attica: Federation) -> None:
    with attica.serving() as caller:
        asked = ask(caller)
        small = replace(asked, ticket=caller.ticket(1, 2))
        huge = replace(asked, rows=2001, ticket=caller.ticket(1, 2001))
        assert refused(caller, small).code is ErrorCode.BATCH_TOO_LARGE
        assert refused(caller, huge).code is ErrorCode.BATCH_TOO_LARGE
        assert refused(caller, replace(asked, ticket=caller.ticket(1, 4))).code is ErrorCode.TICKET_INVALID
        empty = replace(asked, features=np.zeros((0, 64), np.float32), ticket=caller.ticket(1, 0))
        assert refused(caller, empty).code is ErrorCode.TICKET_INVALID


def test_a_ticket_must_schedule_this_party_as_the_grant_has_it(attica: Federation) -> None:
    athens = participant("athens")
    fewer = common_pb2.Participant(site="athens", teachers=2, cohorts=athens.cohorts)
    tickets: dict[str, dict[str, Any]] = {
        "another session": {"session_id": "other"},
        "without us": {"schedule": [scheduled(participant("sparta"))]},
        "too many bits": {"schedule": [scheduled(athens, bytes(2))]},
        "too many cohorts": {"schedule": [scheduled(athens, b"", b"")]},
        "no bits at all": {"schedule": [common_pb2.Schedule(participant=athens)]},
        "no query": {"schedule": [scheduled(athens, bytes(1))]},
        "another participant": {"schedule": [scheduled(fewer)]},
    }
    with attica.serving() as caller:
        for changes in tickets.values():
            ticket = caller.ticket(1, 3, **changes)
            assert refused(caller, replace(ask(caller), ticket=ticket)).code is ErrorCode.TICKET_INVALID


PARTS: dict[str, tuple[Callable[[Caller], common_pb2.SignedList], ErrorCode]] = {
    "grant": (lambda caller: caller.whole_grant(), ErrorCode.GRANT_INVALID),
    "ticket": (lambda caller: caller.whole_ticket(1, 3), ErrorCode.TICKET_INVALID),
}
"""Both signed lists, whose first of three entries is this party's, and what refuses another one."""


@pytest.mark.parametrize("part", PARTS)
def test_an_entry_that_is_not_this_partys_is_refused(attica: Federation, part: str) -> None:
    """A querying party has all entries and shows the wrong one, or makes one up."""
    make, code = PARTS[part]
    with attica.serving() as caller:
        whole, asked = make(caller), ask(caller)
        own, other = shown(whole), shown(whole, 1)
        sent = {
            "another party's": other,
            "this party's at another's place": SignedEntry(
                signed=own.signed, entry=own.entry, index=1, path=own.path
            ),
            "this party's with another's path": SignedEntry(
                signed=own.signed, entry=own.entry, path=other.path
            ),
            "none": SignedEntry(signed=own.signed, path=own.path),
            "altered": SignedEntry(signed=own.signed, entry=own.entry + own.entry, path=own.path),
            "a path too short": SignedEntry(signed=own.signed, entry=own.entry, path=own.path[:-1]),
            "a path too long": SignedEntry(signed=own.signed, entry=own.entry, path=[*own.path, bytes(32)]),
            "a place that no list has": SignedEntry(
                signed=own.signed, entry=own.entry, index=3, path=own.path
            ),
            "a node for an entry": SignedEntry(
                signed=own.signed, entry=MerkleTree(whole.entries[:2]).root, path=own.path[1:]
            ),
        }
        for what, entry in sent.items():
            changes: dict[str, Any] = {part: entry}
            assert refused(caller, replace(asked, **changes)).code is code, what


def test_an_entry_of_another_batch_or_session_is_refused(attica: Federation) -> None:
    """Only the ticket's own schedule counts: an earlier one had other queries of this party."""
    fewer = [scheduled(participant("athens"), b"\x80"), scheduled(participant("sparta"))]
    with attica.serving() as caller:
        asked, before = ask(caller), shown(caller.whole_ticket(2, 3, schedule=fewer))
        stale = SignedEntry(signed=asked.ticket.signed, entry=before.entry, path=before.path)
        assert refused(caller, replace(asked, ticket=stale)).code is ErrorCode.TICKET_INVALID
        richer = participant("athens")
        richer.cohorts[0].weight *= 2
        other = caller.grant(session_id="other", participants=[richer, participant("sparta")])
        foreign = SignedEntry(signed=asked.grant.signed, entry=other.entry, path=other.path)
        assert refused(caller, replace(asked, grant=foreign)).code is ErrorCode.GRANT_INVALID


def test_a_grant_that_holds_its_participants_itself_is_refused(attica: Federation) -> None:
    """As earlier versions signed them; what it lists would otherwise be read beside it."""
    with attica.serving() as caller:
        asked = ask(caller)
        grant = common_pb2.Grant.FromString(asked.grant.signed.payload)
        grant.participants.append(participant("athens"))
        signed = attica.guardian.credentials.sign(GRANT_CONTEXT, grant.SerializeToString())
        asked.grant.signed.CopyFrom(signed)
        assert refused(caller, asked).code is ErrorCode.GRANT_INVALID


def test_the_same_entry_shown_again_gets_the_same_seed(attica: Federation) -> None:
    with attica.serving() as caller:
        asked = ask(caller)
        assert caller.vote(asked) == caller.vote(replace(asked, ticket=caller.ticket(1, 3)))
        assert len(attica.guardian.submissions) == 1


def test_a_plan_of_another_task_is_never_answered(attica: Federation) -> None:
    fields = attica.plan.model_dump(exclude={"mechanism"}) | {"mechanism": attica.plan.mechanism}
    with attica.serving() as caller:
        for changes in ({"task_digest": bytes(32)}, {"classes": 9}):
            attica.plan = Plan(**(fields | changes))
            assert refused(caller, ask(caller)).code is ErrorCode.TASK_MISMATCH


def test_a_plan_that_leaves_this_party_out_is_refused(attica: Federation) -> None:
    fields = attica.plan.model_dump(exclude={"mechanism"}) | {"mechanism": attica.plan.mechanism}
    with attica.serving() as caller:
        attica.plan = Plan(**(fields | {"parties": ("sparta", "thebes")}))
        grant = caller.grant(participants=[participant("athens")])
        assert refused(caller, replace(ask(caller), grant=grant)).code is ErrorCode.GRANT_INVALID


def test_bytes_that_are_no_plan_are_refused(attica: Federation) -> None:
    with attica.serving() as caller:
        error = refused(caller, replace(ask(caller), plan=b"\xff"))
    assert (error.code, "its bytes are" in error.message) == (ErrorCode.PLAN_INVALID, True)
