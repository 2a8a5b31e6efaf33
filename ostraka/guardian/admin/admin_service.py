"""The guardian's admin service. Amounts shown are worst-case ones, which do not depend on votes."""

from collections.abc import Mapping

from ostraka.common.identity import Role
from ostraka.guardian.admin.audit_admin import AuditAdmin
from ostraka.guardian.admin.budget_admin import Consent
from ostraka.guardian.admin.party_admin import Parties, Revoking
from ostraka.guardian.admin.policy_admin import PolicyAdmin
from ostraka.guardian.admin.publication_admin import Publishing
from ostraka.guardian.admin.session_admin import SealedCharges, Sessions
from ostraka.protos.ostraka.v1 import admin_pb2

_SERVICE = admin_pb2.DESCRIPTOR.services_by_name["Admin"]

ROLES: Mapping[str, frozenset[Role]] = {
    f"/{_SERVICE.full_name}/{method.name}": frozenset({Role.ADMIN}) for method in _SERVICE.methods
}


class AdminService(Parties, Consent, PolicyAdmin, Revoking, Sessions, AuditAdmin, SealedCharges, Publishing):
    """Serves administrators; the role is checked before a method runs."""
