"""A guardian that was restored, or that has several replicas, as a party sees it."""

import threading
from typing import Any

import pytest

from ostraka.common.clock import SystemClock
from ostraka.common.datasets import digits
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Credentials, Identity, Role, read_signed
from ostraka.common.mechanism.message import mechanism_of
from ostraka.common.wire.contexts import RECEIPTS_CONTEXT
from ostraka.protos.ostraka.v1 import common_pb2
from ostraka.services.journal.journal import Journal, receipts
from ostraka.services.journal.limits import GroupCharge, QueryCount
from ostraka.services.serving.server import running
from tests.fair_clock import HANGS_S
from tests.services.wire import FEDERATION, Federation, Guardian


def vote(attica: Federation, *batches: int) -> None:
    X = attica.task.prepare(digits().X[:4])
    with attica.serving() as caller:
        for batch in batches:
            caller.vote(caller.ask(X, batch))


def read(message: common_pb2.Signed, ca_pem: bytes) -> common_pb2.Receipts:
    return read_signed(
        message,
        RECEIPTS_CONTEXT,
        common_pb2.Receipts(),
        signer=Identity(FEDERATION, "athens", Role.PARTY),
        ca_pem=ca_pem,
        clock=SystemClock(),
        invalid=ErrorCode.MESSAGE_INVALID,
    )


def kept(attica: Federation) -> tuple[int, int]:
    """Sequence and epoch of the head that the party keeps."""
    with Journal(attica.party / "journal.db") as journal:
        head = journal.audit_head()
        assert head is not None
        return head.sequence, journal.epoch()


def test_the_head_that_was_kept_is_shown_at_every_registration(attica: Federation) -> None:
    vote(attica, 1)
    vote(attica)
    assert [head.sequence for head in attica.guardian.kept_heads] == [0, 2]


def test_a_restored_guardian_is_told_all_receipts_and_its_new_chain_is_kept(attica: Federation) -> None:
    vote(attica, 1, 2)
    assert kept(attica) == (3, 0)
    attica.guardian.restore()
    vote(attica, 3)
    assert kept(attica) == (3, 1)
    (message,) = attica.guardian.receipts
    told = read(message, attica.querier.ca_pem)
    assert told.site == "athens"
    assert list(told.declared_votes) == [1]
    mechanism = attica.plan.mechanism
    assert [(one.session_id, one.batch_id, one.group) for one in told.receipts] == [
        ("session", 1, "all"),
        ("session", 2, "all"),
    ]
    for one in told.receipts:
        assert mechanism_of(one.mechanism) == mechanism
        assert (one.classes, one.adjacency, one.queries, one.sensitivity) == (10, "record", 4, 1.0)


def test_a_party_that_could_not_reconcile_keeps_its_old_head(attica: Federation) -> None:
    vote(attica, 1)
    attica.guardian.restore()
    attica.guardian.refuses_receipts = OstrakaError(ErrorCode.BUDGET_MISSING, "Give the group a budget.")
    with pytest.raises(OstrakaError) as refused:
        vote(attica)
    assert refused.value.code is ErrorCode.BUDGET_MISSING
    assert kept(attica) == (2, 0)
    attica.guardian.refuses_receipts = None
    vote(attica)
    assert kept(attica)[1] == 1


def test_a_running_party_finds_out_that_its_guardian_was_restored(attica: Federation) -> None:
    told = threading.Event()
    attica.guardian.on_receipts = told.set
    with running(attica.party, stop=attica.stop, again_s=0.01):
        attica.guardian.restore()
        assert told.wait(HANGS_S)


def test_many_receipts_travel_in_messages_of_a_thousand(attica: Federation) -> None:
    own = Credentials.load(attica.party)
    charges = [GroupCharge(attica.plan.mechanism, 3, 10, group=str(group)) for group in range(1001)]
    with Journal(attica.party / "journal.db") as journal:
        (empty,) = receipts(journal, own)
        journal.record("s", 1, charges, QueryCount(attica.querier.identity.uri, 3), 1.0)
        sent = [read(request.receipts, own.ca_pem) for request in receipts(journal, own)]
    assert not read(empty.receipts, own.ca_pem).receipts
    assert [len(message.receipts) for message in sent] == [1000, 1]


def test_a_share_follows_its_session_to_the_replica_that_holds_it(attica: Federation) -> None:
    other: Any = Guardian(attica.guardian.credentials)  # type: ignore[abstract]
    other.start()
    attica.guardian.refusal = OstrakaError(
        ErrorCode.SESSION_ELSEWHERE, "Ask the other replica.", address=other.address
    )
    X = attica.task.prepare(digits().X[:4])
    with attica.serving() as caller:
        for batch in (1, 2):
            caller.vote(caller.ask(X, batch))
    other.stop()
    assert [batch for _, batch, _, _ in attica.guardian.submissions] == [1]
    assert [batch for _, batch, _, _ in other.submissions] == [1, 2]
