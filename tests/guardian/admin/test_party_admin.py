"""Parties through the admin service."""

import pytest

from ostraka.protos.ostraka.v1 import admin_pb2
from tests.guardian.admin.support import label, refused
from tests.guardian.federation import TEACHERS, Calls, refusal


def set_party(guardian: Calls, party: str, state: str, reason: str = "why not") -> admin_pb2.PartyInfo:
    request = admin_pb2.SetPartyRequest(party=party, state=state, reason=reason)
    return guardian.admin.SetParty(request).party


def parties(guardian: Calls, party: str = "") -> dict[str, admin_pb2.PartyInfo]:
    found = guardian.admin.ListParties(admin_pb2.ListPartiesRequest(party=party))
    return {info.site: info for info in found}


def test_registered_parties_are_shown_with_what_they_declared(guardian: Calls) -> None:
    found = parties(guardian)
    assert set(found) == {"a", "b", "c"}
    info = found["a"]
    assert (info.state, info.training, info.max_votes_per_person) == ("active", "test", 1)
    assert [(g.name, g.records, g.teachers) for g in info.groups] == [("all", 100, TEACHERS)]
    assert info.since_unix_s > 0
    assert set(parties(guardian, "b")) == {"b"}


def test_a_party_is_added_before_it_registers(guardian: Calls) -> None:
    assert set_party(guardian, "newcomer", "added").state == "added"
    assert not parties(guardian, "newcomer")["newcomer"].groups


def test_a_suspended_party_takes_part_again_once_resumed(guardian: Calls) -> None:
    set_party(guardian, "a", "suspended")
    assert parties(guardian)["a"].state == "suspended"
    assert set_party(guardian, "a", "active").state == "active"
    assert label(guardian)


def test_a_removed_party_stays_removed(guardian: Calls) -> None:
    assert set_party(guardian, "a", "removed").state == "removed"
    assert refusal(lambda: set_party(guardian, "a", "active")) == "party.removed"
    assert refusal(lambda: guardian.register("a", training="again")) == "party.removed"


def test_a_party_nobody_knows(guardian: Calls) -> None:
    assert refusal(lambda: parties(guardian, "nobody")) == "party.unknown"
    assert refusal(lambda: set_party(guardian, "nobody", "suspended")) == "party.unknown"


@pytest.mark.parametrize(
    ("party", "state", "reason"),
    [
        ("a", "promoted", "because"),
        ("a", "unreconciled", "because"),
        ("", "suspended", "because"),
        ("Not A Name", "suspended", "because"),
        ("a", "suspended", " "),
        ("a", "suspended", "two\nlines"),
    ],
)
def test_what_cannot_be_meant_changes_nothing(guardian: Calls, party: str, state: str, reason: str) -> None:
    error = refused(lambda: set_party(guardian, party, state, reason))
    assert error.code == "message.invalid"
    assert parties(guardian)["a"].state == "active"
