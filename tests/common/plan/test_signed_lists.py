from pathlib import Path

import pytest

from ostraka.common.clock import SystemClock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import CertificateAuthority, Credentials, Identity, Role
from ostraka.common.plan.signed_lists import (
    MerkleTree,
    SignedEntries,
    read_grant,
    read_ticket,
    sign_list,
    with_own,
)
from ostraka.common.wire.contexts import GRANT_CONTEXT, TICKET_CONTEXT
from ostraka.common.wire.limits import MAX_INTEGER
from ostraka.protos.ostraka.v1 import common_pb2
from tests.signed_lists import grant_of, own_ticket, ticket_of

SITES = ("a", "b", "c")
PARTICIPANTS = [common_pb2.Participant(site=site, teachers=2) for site in SITES]
GRANT = common_pb2.Grant(session_id="s", participants=PARTICIPANTS)
TICKET = common_pb2.Ticket(
    session_id="s", batch_id=1, schedule=[common_pb2.Schedule(participant=one) for one in PARTICIPANTS]
)


@pytest.fixture(scope="module")
def guardian(tmp_path_factory: pytest.TempPathFactory) -> Credentials:
    folder: Path = tmp_path_factory.mktemp("guardian")
    ca = CertificateAuthority.create("fed", SystemClock())
    return ca.issue(Identity("fed", "guardian", Role.GUARDIAN), folder, SystemClock())


def test_what_was_listed_is_read_whole_or_alone(guardian: Credentials) -> None:
    grant, ticket = sign_list(guardian, GRANT_CONTEXT, GRANT), sign_list(guardian, TICKET_CONTEXT, TICKET)
    assert list(grant_of(grant).participants) == PARTICIPANTS
    assert list(ticket_of(ticket).schedule) == list(TICKET.schedule)
    assert grant_of(grant) == read_grant(grant.SerializeToString())
    assert ticket_of(ticket) == read_ticket(ticket.SerializeToString())
    entries = SignedEntries(ticket, SITES)
    for site in SITES:
        (own,) = own_ticket(entries.of(site)).schedule
        assert own.participant.site == site


def test_what_is_signed_holds_no_entry(guardian: Credentials) -> None:
    signed = sign_list(guardian, GRANT_CONTEXT, GRANT).signed.payload
    assert not common_pb2.Grant.FromString(signed).participants
    assert len(SITES) == common_pb2.Grant.FromString(signed).listed.count
    assert len(GRANT.participants) == len(SITES)


@pytest.mark.parametrize("change", ["less", "more", "other", "turned", "unreadable"])
def test_a_list_that_was_not_signed_is_refused(guardian: Credentials, change: str) -> None:
    sent = sign_list(guardian, GRANT_CONTEXT, GRANT)
    match change:
        case "less":
            del sent.entries[-1]
        case "more":
            sent.entries.append(sent.entries[-1])
        case "other":
            sent.entries[0] = common_pb2.Participant(site="a", teachers=3).SerializeToString()
        case "turned":
            sent.entries[:] = sent.entries[::-1]
        case "unreadable":
            sent.entries[0] = b"\xff"
    with pytest.raises(OstrakaError) as refused:
        grant_of(sent)
    assert refused.value.code is ErrorCode.GRANT_INVALID


def test_an_entry_that_cannot_be_read_is_refused_though_it_was_signed() -> None:
    digest = common_pb2.ListDigest(root=MerkleTree([b"\xff"]).root, count=1)
    sent = common_pb2.SignedEntry(entry=b"\xff")
    with pytest.raises(OstrakaError) as refused:
        with_own(sent, common_pb2.Ticket(listed=digest), ErrorCode.TICKET_INVALID)
    assert refused.value.code is ErrorCode.TICKET_INVALID


def test_what_an_earlier_version_stored_is_read(guardian: Credentials) -> None:
    """It signed the entries with the rest, and ledgers of years ago hold such tickets."""
    grant = guardian.sign(GRANT_CONTEXT, GRANT.SerializeToString()).SerializeToString()
    ticket = guardian.sign(TICKET_CONTEXT, TICKET.SerializeToString()).SerializeToString()
    assert read_grant(grant) == GRANT
    assert read_ticket(ticket) == TICKET


def test_what_a_party_is_shown_hardly_grows_with_the_parties(guardian: Credentials) -> None:
    sizes = {}
    for count in (10, 1000):
        everyone = [common_pb2.Participant(site=f"site{number}", teachers=2) for number in range(count)]
        sent = sign_list(guardian, GRANT_CONTEXT, common_pb2.Grant(participants=everyone))
        sizes[count] = SignedEntries(sent, [one.site for one in everyone]).of("site0").ByteSize()
    assert sizes[1000] - sizes[10] < 7 * 40


def test_entries_with_numbers_that_mean_nothing_are_refused(guardian: Credentials) -> None:
    """An entry is signed by its hash alone, so it is read apart from what was signed."""
    asked = common_pb2.Participant(site="a", records=MAX_INTEGER + 1)
    grant = sign_list(guardian, GRANT_CONTEXT, common_pb2.Grant(session_id="s", participants=[asked]))
    with pytest.raises(OstrakaError) as refused:
        grant_of(grant)
    assert refused.value.code is ErrorCode.MESSAGE_INVALID
