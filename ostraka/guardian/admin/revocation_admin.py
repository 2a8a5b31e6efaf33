"""Revocation lists of the federation's CA: taken, recorded, in force at once."""

import grpc

from ostraka.guardian.admin import requests
from ostraka.guardian.admin.admin_base import AdminPart
from ostraka.guardian.ledger.members import revocations
from ostraka.protos.ostraka.v1 import admin_pb2


class Revoking(AdminPart):
    """Takes revocation lists; a certificate that one names stays revoked."""

    def Revoke(
        self, request: admin_pb2.RevokeRequest, context: grpc.ServicerContext
    ) -> admin_pb2.RevokeReply:
        """Put a newer list into force here, and leave it in the ledger for the other replicas."""
        reason = requests.reason(request.reason)
        current = self._credentials.revocations.accept(request.revocations)
        self._ledger.write(
            revocations.apply,
            current.pem.decode("ascii"),
            number=current.number,
            revoked=len(current.serials),
            reason=reason,
        )
        return admin_pb2.RevokeReply(number=current.number, revoked=len(current.serials))
