"""The audit log through the admin service."""

from ostraka.common.identity import Role, verify_signed
from ostraka.common.wire.contexts import AUDIT_CONTEXT
from ostraka.guardian.dashboard.console import contents_of
from ostraka.guardian.ledger.log.audit import GENESIS, row_hash
from ostraka.protos.ostraka.v1 import admin_pb2
from tests.guardian.admin.support import label
from tests.guardian.federation import FEDERATION, Calls, Federation


def export(guardian: Calls, first: int = 0) -> list[admin_pb2.AuditRow]:
    return list(guardian.admin.ExportAudit(admin_pb2.ExportAuditRequest(first=first)))


def test_exported_rows_are_a_chain_that_anybody_can_check(guardian: Calls, federation: Federation) -> None:
    label(guardian)
    rows = export(guardian)
    assert [row.sequence for row in rows] == list(range(1, len(rows) + 1))
    previous = GENESIS
    for row in rows:
        assert row.previous == previous
        assert row.hash == row_hash(row.sequence, row.time_unix_ms, row.previous, row.payload)
        signer = verify_signed(
            row.signed,
            AUDIT_CONTEXT,
            ca_pem=federation.credentials["q", Role.QUERY].ca_pem,
            clock=federation.clock,
            federation=FEDERATION,
            role=Role.GUARDIAN,
        )
        assert signer.site == "guardian"
        previous = row.hash
    assert export(guardian, first=3) == rows[2:]


def test_a_row_names_who_asked_for_it(guardian: Calls) -> None:
    guardian.budget("a", 7)
    session = guardian.open().session_id
    guardian.set_party("b", "suspended")
    told = {said["kind"]: said for said in map(contents_of, export(guardian))}
    assert [told[kind]["by"] for kind in ("budget_set", "party_set")] == ["ops", "ops"]
    assert told["session_opened"]["session"] == session
    assert "by" not in told["session_opened"]


def test_the_head_is_the_last_row(guardian: Calls) -> None:
    head = guardian.admin.Head(admin_pb2.HeadRequest())
    last = export(guardian)[-1]
    assert (head.sequence, head.hash, head.signed) == (last.sequence, last.hash, last.signed)
    for beyond in (head.sequence + 1, 2**63, 2**64 - 1):
        assert export(guardian, first=beyond) == []
