"""Heads of the audit log that parties kept: whether they are on this ledger's chain."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import bindparam, select

from ostraka.guardian.ledger.sessions import session_close
from ostraka.guardian.ledger.store.schema import audit, meta, parties
from ostraka.guardian.ledger.transaction import Transaction
from ostraka.protos.ostraka.v1 import common_pb2

_HASHES = select(audit.c.sequence, audit.c.hash).where(
    audit.c.sequence.in_(bindparam("sequences", expanding=True))
)


def check(tx: Transaction, kept: Sequence[tuple[str, common_pb2.AuditHead]]) -> None:
    """Find out whether the ledger lost what heads stand for that parties, by their sites, kept.

    That is a backup put back without `restore`, so it is treated as one: a new epoch, unless the party must
    reconcile anyway. Each lost head counts once, so that one sent again after its party reconciled (because
    the reply was lost) starts no further epoch.
    """
    if not kept:
        return
    sequences = {head.sequence for _, head in kept}
    rows = tx.connection.execute(_HASHES, {"sequences": sorted(sequences)})
    chain = {row.sequence: row.hash for row in rows}
    for site, head in kept:
        if chain.get(head.sequence) != head.hash and not _is_known_lost(tx, head):
            _lost(tx, site, head)


def _lost(tx: Transaction, site: str, kept: common_pb2.AuditHead) -> None:
    reconciled = select(parties.c.reconciled_epoch).where(parties.c.site == site).scalar_subquery()
    behind = tx.connection.execute(select(reconciled < meta.c.epoch)).scalar_one()
    if behind:
        tx.record("lost_head_seen", site=site, kept=_name(kept))
    else:
        ended = session_close.end_all(tx)
        began = session_close.begin_epoch(tx)
        tx.record("rollback_found", site=site, kept=_name(kept), epoch=began, ended=ended)


def _is_known_lost(tx: Transaction, kept: common_pb2.AuditHead) -> bool:
    row = audit.c.payload.contains(f'"kept":"{_name(kept)}"', autoescape=True)
    return tx.connection.execute(select(audit.c.sequence).where(row).limit(1)).first() is not None


def _name(head: common_pb2.AuditHead) -> str:
    return f"{head.sequence}:{head.hash.hex()}"
