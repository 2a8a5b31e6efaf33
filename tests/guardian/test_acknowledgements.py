"""What parties are told that bring their ballots: from memory, and never other than the ledger says."""

from pathlib import Path

import numpy as np
import pytest

from ostraka.common.identity import Role
from ostraka.common.sharing.ring import RingArray
from ostraka.guardian.ledger import Ledger, open_guardian_ledger
from ostraka.protos.ostraka.v1 import admin_pb2, guardian_pb2
from tests.guardian.federation import Calls, Federation, plan, refusal
from tests.guardian.transactions import Transactions

SHARE: RingArray = np.zeros((20, 4), dtype=np.uint64)


def opened(guardian: Calls) -> str:
    session = guardian.open(plan(parties=("a", "b"))).session_id
    guardian.ticket(session, 1, 20)
    return session


def head(guardian: Calls) -> object:
    return guardian.admin.Head(admin_pb2.HeadRequest())


def test_an_acknowledgement_carries_the_head_of_the_ledger(guardian: Calls) -> None:
    session = opened(guardian)
    first = guardian.submit("a", session, 1, SHARE)
    assert first == head(guardian)
    guardian.set_party("c", "suspended")
    second = guardian.submit("b", session, 1, SHARE)
    assert second == head(guardian)
    assert second.sequence == first.sequence + 1


def test_shares_are_acknowledged_without_a_read_while_nothing_changes(
    guardian: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Ledger, "renew_lease", lambda _: None)  # it is a change, too
    session = opened(guardian)
    transactions = Transactions(monkeypatch)
    assert transactions.of(lambda: guardian.submit("a", session, 1, SHARE)) == ["read", "read"]
    assert transactions.of(lambda: guardian.submit("b", session, 1, SHARE)) == []
    guardian.set_party("c", "suspended")
    assert transactions.of(lambda: guardian.submit("b", session, 1, SHARE)) == ["read", "read"]


def test_a_party_that_is_not_scheduled_is_refused_after_one_that_is(guardian: Calls) -> None:
    session = opened(guardian)
    guardian.submit("a", session, 1, SHARE)
    assert refusal(lambda: guardian.submit("c", session, 1, SHARE)) == "ticket.invalid"
    assert refusal(lambda: guardian.submit("b", session, 2, SHARE)) == "ticket.invalid"


def test_a_batch_of_a_closed_session_takes_no_share(guardian: Calls) -> None:
    session = opened(guardian)
    guardian.submit("a", session, 1, SHARE)
    guardian.query.CloseSession(guardian_pb2.CloseSessionRequest(session_id=session))
    assert refusal(lambda: guardian.submit("b", session, 1, SHARE)) == "batch.dead"


def test_a_settled_batch_takes_no_share(guardian: Calls) -> None:
    session = opened(guardian)
    guardian.submit("a", session, 1, SHARE)
    assert not guardian.settle(session, 1).released
    assert refusal(lambda: guardian.submit("b", session, 1, SHARE)) == "batch.dead"


def test_a_guardian_that_was_superseded_acknowledges_nothing(tmp_path: Path) -> None:
    federation = Federation(tmp_path)
    with federation.guardian() as guardian:
        guardian.prepare_all()
        session = opened(guardian)
        guardian.submit("a", session, 1, SHARE)
        credentials = federation.credentials["guardian", Role.GUARDIAN]
        open_guardian_ledger(federation.guardian_folder, credentials, federation.clock).close()
        assert refusal(lambda: guardian.submit("b", session, 1, SHARE)) == "ledger.fenced"
