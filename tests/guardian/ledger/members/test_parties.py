"""A party's standing, and what its kept head proves."""

import pytest

from ostraka.common.clock import ManualClock
from ostraka.common.errors import ErrorCode
from ostraka.guardian.ledger import Ledger, StoredParty, reconcile, registrations
from ostraka.guardian.ledger.log import audit
from ostraka.guardian.ledger.members import parties
from ostraka.guardian.ledger.sessions import batches, endings, sessions
from ostraka.protos.ostraka.v1 import common_pb2
from tests.guardian.ledger.places import LOST, Place
from tests.guardian.ledger.support import ATHENS, START, amounts, open_session, refused, with_budgets

AT = int(START * 1000)


@pytest.fixture
def ledger(place: Place) -> Ledger:
    return with_budgets(place.open())


def register(ledger: Ledger, site: str, kept: common_pb2.AuditHead | None = None) -> bool:
    """Whether the party is asked to reconcile."""
    return ledger.write(registrations.register, site, b"m", b"signed", kept_head=kept).reconcile


def state(ledger: Ledger, site: str = "athens") -> str:
    return ledger.read(parties.all_parties, site)[0].state


def test_a_party_becomes_active_when_it_registers(ledger: Ledger, time: ManualClock) -> None:
    added = ledger.write(parties.set_party, "athens", "added", reason="a member")
    assert added == StoredParty("athens", "added", True, AT)
    time.advance(1.0)
    assert not register(ledger, "athens")
    assert not register(ledger, "corinth")
    assert ledger.read(parties.all_parties) == [
        StoredParty("athens", "active", True, AT + 1000),
        StoredParty("corinth", "active", True, AT + 1000),
    ]
    assert ledger.read(parties.all_parties, "sparta") == []


def test_a_suspended_party_stays_so_until_it_is_resumed(ledger: Ledger) -> None:
    register(ledger, "athens")
    ledger.write(parties.set_party, "athens", "suspended", reason="r")
    ledger.write(registrations.register, "athens", b"another manifest", b"signed")
    assert state(ledger) == "suspended"
    refused(ErrorCode.PARTY_SUSPENDED, lambda: ledger.write(parties.set_party, "athens", "added", reason="r"))
    assert ledger.write(parties.set_party, "athens", "active", reason="r").state == "active"
    assert ledger.write(parties.set_party, "athens", "added", reason="r").state == "active"


def test_a_party_that_never_registered_is_not_active(ledger: Ledger) -> None:
    ledger.write(parties.set_party, "athens", "added", reason="r")
    ledger.write(parties.set_party, "athens", "suspended", reason="r")
    assert ledger.write(parties.set_party, "athens", "active", reason="r").state == "added"


def test_a_removed_party_is_gone_for_good(ledger: Ledger) -> None:
    register(ledger, "athens")
    ledger.write(parties.set_party, "athens", "removed", reason="left")
    for again in ("added", "active", "suspended"):
        refused(ErrorCode.PARTY_REMOVED, lambda: ledger.write(parties.set_party, "athens", again, reason="r"))  # noqa: B023
    refused(ErrorCode.PARTY_REMOVED, lambda: register(ledger, "athens"))
    assert state(ledger) == "removed"


def test_a_party_must_be_known_and_a_state_too(ledger: Ledger) -> None:
    for unknown in ("active", "suspended", "removed"):
        refused(
            ErrorCode.PARTY_UNKNOWN,
            lambda: ledger.write(parties.set_party, "athens", unknown, reason="r"),  # noqa: B023
        )
    with pytest.raises(ValueError, match="state"):
        ledger.write(parties.set_party, "athens", "happy", reason="r")


def test_a_kept_head_on_the_chain_proves_nothing(ledger: Ledger) -> None:
    kept = ledger.read(audit.head)
    register(ledger, "athens")
    before = ledger.read(audit.head)
    assert not register(ledger, "athens", kept)
    assert ledger.read(audit.head) == before


@pytest.mark.parametrize("sequence", [3, 1000])
def test_a_kept_head_that_is_not_on_the_chain_begins_an_epoch(place: Place, sequence: int) -> None:
    ledger = with_budgets(place.open())
    for site in ("athens", "corinth"):
        register(ledger, site)
    ledger.write_session("s", batches.open_batch, 1, 5, b"t", {ATHENS: 100})
    open_session(ledger, "t")
    ledger.write_session("t", endings.close)
    lost = common_pb2.AuditHead(sequence=sequence, hash=b"l" * 32)
    registered = ledger.write(registrations.register, "athens", b"m", b"signed", kept_head=lost)
    assert (registered.epoch, registered.reconcile, registered.head) == (1, True, ledger.read(audit.head))
    assert ledger.read(parties.epoch) == 1
    assert [party.reconciled for party in ledger.read(parties.all_parties)] == [False, False]
    assert amounts(ledger) == (0, 0)
    assert [session.state for session in ledger.read(sessions.summaries)] == ["ended", "closed"]
    place.open()


def test_a_loss_counts_once_whoever_finds_it_and_however_often(ledger: Ledger) -> None:
    for site in ("athens", "corinth"):
        register(ledger, site)
    other = common_pb2.AuditHead(sequence=1001, hash=b"m" * 32)
    assert register(ledger, "athens", LOST)
    assert register(ledger, "corinth", other)
    ledger.write(reconcile.reconcile, "athens", [])
    ledger.write(reconcile.reconcile, "corinth", [])
    assert not register(ledger, "athens", LOST)
    assert not register(ledger, "corinth", other)
    assert ledger.read(parties.epoch) == 1
    later = common_pb2.AuditHead(sequence=1002, hash=b"n" * 32)
    assert register(ledger, "athens", later)
    assert ledger.read(parties.epoch) == 2


def test_a_party_new_to_a_ledger_that_lost_history_reconciles_too(ledger: Ledger) -> None:
    register(ledger, "athens")
    register(ledger, "athens", LOST)
    assert register(ledger, "corinth")
    assert not ledger.write(parties.set_party, "sparta", "added", reason="r").reconciled
    ledger.write(reconcile.reconcile, "corinth", [])
    assert not register(ledger, "corinth")
