"""Charges with what votes cost, still encrypted, for administrators who have the ledger's key."""

from collections.abc import Iterator

import grpc

from ostraka.guardian.admin.admin_base import AdminPart
from ostraka.guardian.admin.pages import pages
from ostraka.guardian.ledger import SealedCharge, creation
from ostraka.guardian.ledger.sessions import recorded_charges
from ostraka.protos.ostraka.v1 import admin_pb2


class SealedCharges(AdminPart):
    """Hands out what only the ledger's key opens. All rows are of one length, whatever the votes were."""

    def ListSealedCharges(
        self, request: admin_pb2.ListSealedChargesRequest, context: grpc.ServicerContext
    ) -> Iterator[admin_pb2.SealedChargeRows]:
        """Return what tells the key, and every charge: batches, receipts and publications."""
        ledger_id, check = self._ledger.read(creation.key_check)
        yield admin_pb2.SealedChargeRows(ledger_id=ledger_id, key_check=check)
        for page in pages(map(_row, recorded_charges.sealed_charges(self._ledger))):
            yield admin_pb2.SealedChargeRows(rows=page)


def _row(charge: SealedCharge) -> admin_pb2.SealedChargeRow:
    return admin_pb2.SealedChargeRow(
        party=charge.unit.party,
        group=charge.unit.group,
        adjacency=charge.unit.adjacency,
        session_id=charge.session_id,
        batch_id=charge.batch_id,
        time_unix_ms=charge.released_unix_ms,
        worst_case=charge.worst_case,
        sealed=charge.sealed,
    )
