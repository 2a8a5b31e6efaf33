"""The guardian's admin service. It shows worst-case amounts, which do not depend on votes."""

from collections.abc import Iterator, Mapping

import grpc

from ostraka.common.identity import Role
from ostraka.guardian.admin.admin_base import AdminPart
from ostraka.guardian.admin.budget_admin import Consent
from ostraka.guardian.admin.party_admin import Parties, Revoking
from ostraka.guardian.admin.policy_admin import PolicyAdmin
from ostraka.guardian.admin.publication_admin import Publishing
from ostraka.guardian.admin.session_admin import SealedCharges, Sessions
from ostraka.guardian.ledger.log import audit
from ostraka.protos.ostraka.v1 import admin_pb2, common_pb2


class AuditAdmin(AdminPart):
    """Serves the audit log."""

    def Head(self, request: admin_pb2.HeadRequest, context: grpc.ServicerContext) -> common_pb2.AuditHead:
        """Return the sequence number and hash of the latest row, signed."""
        return self._ledger.read(audit.head)

    def ExportAudit(
        self, request: admin_pb2.ExportAuditRequest, context: grpc.ServicerContext
    ) -> Iterator[admin_pb2.AuditRow]:
        """Rows in order, from the first requested one to the head; never beyond it."""
        if request.first > self._ledger.read(audit.head).sequence:
            return
        for row in audit.audit_rows(self._ledger, max(1, request.first)):
            yield admin_pb2.AuditRow(
                sequence=row.sequence,
                time_unix_ms=row.time_unix_ms,
                payload=row.payload,
                previous=row.previous,
                hash=row.hash,
                signed=common_pb2.Signed.FromString(row.signed),
            )


_SERVICE = admin_pb2.DESCRIPTOR.services_by_name["Admin"]

ROLES: Mapping[str, frozenset[Role]] = {
    f"/{_SERVICE.full_name}/{method.name}": frozenset({Role.ADMIN}) for method in _SERVICE.methods
}


class AdminService(Parties, Consent, PolicyAdmin, Revoking, Sessions, AuditAdmin, SealedCharges, Publishing):
    """Serves administrators; the caller's role is checked before a method runs."""
