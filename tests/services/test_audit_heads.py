"""Heads of the guardian's audit log, of which a party keeps those that were signed as they came."""

from collections.abc import Callable

import pytest
from structlog.testing import capture_logs

from ostraka.common.clock import SystemClock
from ostraka.common.identity import Credentials
from ostraka.protos.ostraka.v1 import common_pb2
from ostraka.services.journal.journal import Journal
from ostraka.services.voting.submission import GuardianLink
from tests.services.wire import Federation


def later(head: common_pb2.AuditHead) -> None:
    head.sequence += 7


def of_another_row(head: common_pb2.AuditHead) -> None:
    head.hash = bytes(32)


@pytest.mark.parametrize("alter", [later, of_another_row])
def test_a_head_that_carries_the_signature_of_another_is_not_kept(
    attica: Federation, alter: Callable[[common_pb2.AuditHead], None]
) -> None:
    guardian = attica.guardian
    with Journal(attica.party / "journal.db") as journal:
        own, expected = Credentials.load(attica.party), guardian.credentials.identity
        link = GuardianLink(own, guardian.address, expected, journal, SystemClock())
        link.register(common_pb2.Manifest(site="athens"))
        before = journal.audit_head()
        guardian.alter_head = alter
        with capture_logs() as logs:
            link.register(common_pb2.Manifest(site="athens"))
        link.close()
        assert before is not None
        assert journal.audit_head() == before
    assert [(entry["event"], entry["signer"]) for entry in logs] == [("audit_head_refused", expected.uri)]
