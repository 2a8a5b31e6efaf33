"""Receipts: what a party answered, told to a guardian whose ledger was restored from a backup."""

from collections.abc import Iterator
from itertools import islice

from ostraka.common.identity import Credentials
from ostraka.common.mechanism.message import mechanism_message
from ostraka.common.wire.contexts import RECEIPTS_CONTEXT
from ostraka.protos.ostraka.v1 import common_pb2, guardian_pb2
from ostraka.services.journal.charges import GroupCharge
from ostraka.services.journal.journal import Journal

AT_ONCE = 1000
"""Receipts of one message at most."""


def receipts(journal: Journal, credentials: Credentials) -> Iterator[guardian_pb2.ReconcileRequest]:
    """Every charge of the journal in signed messages, one at least; each time read afresh.

    The first tells all numbers of votes of one person that this party declared.
    """
    rows = journal.receipts()
    part = list(islice(rows, AT_ONCE))
    declared_votes = journal.declared_votes()
    while True:
        message = common_pb2.Receipts(
            site=credentials.identity.site,
            receipts=[_receipt(*charged) for charged in part],
            declared_votes=declared_votes,
        )
        declared_votes = []
        signed = credentials.sign(RECEIPTS_CONTEXT, message.SerializeToString(deterministic=True))
        yield guardian_pb2.ReconcileRequest(receipts=signed)
        part = list(islice(rows, AT_ONCE))
        if not part:
            return


def _receipt(session_id: str, batch_id: int, charge: GroupCharge) -> common_pb2.Receipt:
    return common_pb2.Receipt(
        session_id=session_id,
        batch_id=batch_id,
        group=charge.group,
        mechanism=mechanism_message(charge.mechanism),
        classes=charge.classes,
        adjacency=charge.adjacency,
        queries=charge.queries,
        sensitivity=charge.sensitivity,
    )
