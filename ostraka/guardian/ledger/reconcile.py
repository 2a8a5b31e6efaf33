"""Reconciliation after a loss of history: found by heads that parties kept, mended by their receipts.

A receipt says that a party voted on a batch, not whether the batch was released. So a receipt is charged
wherever its batch may have been released in a history that was lost, and nowhere else:

- the ledger does not know the batch, or knows it as one that never had a ticket;
- the batch had a ticket and no answers when the backup was made, and died by its restoring;
- the batch is dead, and the loss was found by a kept head: nobody can say where the lost history began.

What the ledger released itself is charged already. What died before the backup cost nothing but its check and
what parties had evaluated of it, which is charged already too. A batch that was checked before the backup and
whose receipt is charged pays for its check twice: rather too much than too little.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, Select, bindparam, insert, or_, select, tuple_, update

from ostraka.guardian.ledger.members import parties
from ostraka.guardian.ledger.reader import View
from ostraka.guardian.ledger.sessions import endings
from ostraka.guardian.ledger.store.amounts import add, check_amount
from ostraka.guardian.ledger.store.schema import (
    audit,
    batches,
    charges,
    evaluations,
    manifests,
    meta,
    receipts,
)
from ostraka.guardian.ledger.store.schema import parties as party_table
from ostraka.guardian.ledger.store.schema import units as unit_table
from ostraka.guardian.ledger.store.values import Owed, UnitKey
from ostraka.guardian.ledger.transaction import Transaction
from ostraka.guardian.ledger.units import carry_over, entries, history, repricing, units
from ostraka.guardian.ledger.units.units import UnitCharge
from ostraka.protos.ostraka.v1 import common_pb2

BatchKey = tuple[str, int]
_RECEIPTS_AT_ONCE = 5000
"""Receipts whose batches one statement names, with two parameters each; SQLite takes 32,766 of them."""
_UNIT = (unit_table.c.party, unit_table.c.group_name, unit_table.c.adjacency)


def reconcile(
    tx: Transaction,
    site: str,
    owed: Sequence[Owed],
    *,
    groups: Collection[str] = (),
    entered: Collection[str] = (),
    votes_raised_to: int | None = None,
) -> int:
    """Charge, at their worst case, the batches of a party's receipts that a restored ledger forgot.

    They count as data-dependent costs too, and go beyond the budget where it is too small. From then on
    the party is reconciled. The same receipts again are charged once.

    Args:
        tx: behind the fence.
        site: the party.
        owed: what all its receipts say, not a part of them; their signatures are verified.
        groups: those of its manifest. Where a group that is none of them is charged, its records may be
            in these now, whose units take over what it has spent.
        entered: those that its manifest has since the loss (`manifests_before_loss`). Where anything is
            charged, their units take over what the party's others have spent.
        votes_raised_to: how many votes one person has in a query, where the party raised that and the
            ledger may have forgotten it: all is costed again.

    Returns:
        How many were charged: one for each batch and unit.

    Raises:
        OstrakaError: `party.unknown`, `budget.missing` where a unit that owes has none.
        ValueError: a unit of another party, or an amount that is negative or no integer.
    """
    largest = _largest(site, owed)
    party = parties.require(tx.connection, site)
    now = parties.epoch(tx)
    lost = _Lost(tx.connection, party.reconciled_epoch)
    forgotten = _find_forgotten(tx.connection, largest, lost)
    _charge(tx, forgotten)
    tx.connection.execute(update(party_table).where(party_table.c.site == site).values(reconciled_epoch=now))
    if forgotten or party.reconciled_epoch != now:
        charged = [[item.session_id, item.batch_id, *item.unit, item.worst_case] for item in forgotten]
        tx.record("party_reconciled", site=site, epoch=now, charged=charged)
    if forgotten:
        moved = any(item.unit.group not in groups for item in forgotten)
        carry_over.inherit(tx, site, parties.units_of(site, groups if moved else entered))
    if votes_raised_to is not None:
        repricing.recost(tx, site, votes_raised_to)
    return len(forgotten)


def manifests_before_loss(view: View, site: str) -> list[bytes]:
    """Return the manifests that a party registered before the loss that it is to reconcile, in order.

    Raises `party.unknown`.
    """
    party = parties.require(view.connection, site)
    endings = _endings(view.connection)
    lost = [time_unix_ms for time_unix_ms, row in endings if row["epoch"] > party.reconciled_epoch]
    if not lost:
        return []
    statement = select(manifests.c.manifest).where(
        manifests.c.site == site, manifests.c.registered_unix_ms < min(lost)
    )
    return list(view.connection.scalars(statement.order_by(manifests.c.id)))


class _Lost:
    """Which batches may have been released in a history that was lost since a party last reconciled."""

    def __init__(self, connection: Connection, reconciled_epoch: int) -> None:
        endings = [row for _, row in _endings(connection) if row["epoch"] > reconciled_epoch]
        self._undeclared = any(row["kind"] == "rollback_found" for row in endings)
        self._dead = {
            (session, batch) for row in endings for session, batch_ids in row["ended"] for batch in batch_ids
        }

    def may_have_released(self, batch: BatchKey, state: str) -> bool:
        """Whether a batch that is in this state here (empty: never had a ticket) may have been released."""
        return not state or (state == "dead" and (self._undeclared or batch in self._dead))


def _endings(connection: Connection) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield when epochs ended, in Unix milliseconds, and what the log says of it."""
    kinds = ("restored", "rollback_found")
    named = [audit.c.payload.contains(f'"kind":"{kind}"', autoescape=True) for kind in kinds]
    for time_unix_ms, text in connection.execute(
        select(audit.c.time_unix_ms, audit.c.payload).where(or_(*named))
    ):
        row = json.loads(text)
        if row["kind"] in kinds:
            yield time_unix_ms, row


def _largest(site: str, owed: Sequence[Owed]) -> list[Owed]:
    """One of each batch and unit, the largest, in order."""
    largest: dict[tuple[BatchKey, UnitKey], Owed] = {}
    for item in owed:
        check_amount("worst_case", item.worst_case)
        if item.unit.party != site:
            raise ValueError(f"owed: {item.unit} is not a unit of {site}")
        key = (_batch(item), item.unit)
        if key not in largest or largest[key].worst_case < item.worst_case:
            largest[key] = replace(item, worst_case=add(0, item.worst_case))
    return [largest[key] for key in sorted(largest)]


def _find_forgotten(connection: Connection, owed: Sequence[Owed], lost: _Lost) -> list[Owed]:
    forgotten = []
    for start in range(0, len(owed), _RECEIPTS_AT_ONCE):
        part = owed[start : start + _RECEIPTS_AT_ONCE]
        keys = list({_batch(item) for item in part})
        states = _states(connection, keys)
        paid = _units_paid(connection, keys)
        forgotten += [
            item
            for item in part
            if (*_batch(item), item.unit) not in paid
            and lost.may_have_released(_batch(item), states.get(_batch(item), ""))
        ]
    return forgotten


def _states(connection: Connection, keys: Sequence[BatchKey]) -> dict[BatchKey, str]:
    """States of those batches that had a ticket here."""
    columns = (batches.c.session_id, batches.c.batch_id)
    statement = select(*columns, batches.c.state).where(tuple_(*columns).in_(keys), batches.c.size > 0)
    return {(row.session_id, row.batch_id): row.state for row in connection.execute(statement)}


def _units_paid(connection: Connection, keys: Sequence[BatchKey]) -> set[tuple[str, int, UnitKey]]:
    """Units that were charged from a receipt before, or at worst for a batch that died evaluated."""
    receipted: Select[Any] = (
        select(receipts.c.session_id, receipts.c.batch_id, *_UNIT)
        .join(charges, charges.c.entry == receipts.c.id)
        .join(unit_table, unit_table.c.id == charges.c.unit)
        .where(tuple_(receipts.c.session_id, receipts.c.batch_id).in_(keys))
    )
    evaluated: Select[Any] = select(batches.c.session_id, batches.c.batch_id, *_UNIT).select_from(
        evaluations.join(batches).join(unit_table)
    )
    evaluated = evaluated.where(
        evaluations.c.charged_unix_ms.is_not(None), tuple_(batches.c.session_id, batches.c.batch_id).in_(keys)
    )
    return {
        (row.session_id, row.batch_id, units.key_of(row))
        for statement in (receipted, evaluated)
        for row in connection.execute(statement)
    }


def _batch(item: Owed) -> BatchKey:
    return item.session_id, item.batch_id


def _charge(tx: Transaction, forgotten: Sequence[Owed]) -> None:
    if not forgotten:
        return
    rows = units.require(tx.connection, [item.unit for item in forgotten])
    total = dict.fromkeys(rows, 0)
    for item in forgotten:
        total[item.unit] = add(total[item.unit], item.worst_case)
    units.charge_all(
        tx, [UnitCharge(rows[key], 0, amount, amount) for key, amount in total.items()], overdraw=True
    )
    after = units.find(tx.connection, rows)
    history.add_events(tx, "reconciled", after.values())
    keys = sorted({_batch(item) for item in forgotten})
    made = dict(zip(keys, entries.add_all(tx, "receipt", len(keys)), strict=True))
    named = [{"id": made[key], "session_id": key[0], "batch_id": key[1]} for key in keys]
    tx.connection.execute(insert(receipts), named)
    charged = [
        {
            "entry": made[_batch(item)],
            "unit": rows[item.unit].id,
            "reserved": 0,
            "worst_case": item.worst_case,
            "spent": after[item.unit].spent,
        }
        for item in forgotten
    ]
    tx.connection.execute(insert(charges), charged)


_HASHES = select(audit.c.sequence, audit.c.hash).where(
    audit.c.sequence.in_(bindparam("sequences", expanding=True))
)


def check(tx: Transaction, kept: Sequence[tuple[str, common_pb2.AuditHead]]) -> None:
    """Check whether the ledger still has the rows of the heads that parties kept.

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
            _note_loss(tx, site, head)


def _note_loss(tx: Transaction, site: str, kept: common_pb2.AuditHead) -> None:
    reconciled = select(party_table.c.reconciled_epoch).where(party_table.c.site == site).scalar_subquery()
    behind = tx.connection.execute(select(reconciled < meta.c.epoch)).scalar_one()
    if behind:
        tx.record("lost_head_seen", site=site, kept=_name(kept))
    else:
        ended = endings.end_all(tx)
        began = endings.begin_epoch(tx)
        tx.record("rollback_found", site=site, kept=_name(kept), epoch=began, ended=ended)


def _is_known_lost(tx: Transaction, kept: common_pb2.AuditHead) -> bool:
    row = audit.c.payload.contains(f'"kept":"{_name(kept)}"', autoescape=True)
    return tx.connection.execute(select(audit.c.sequence).where(row).limit(1)).first() is not None


def _name(head: common_pb2.AuditHead) -> str:
    return f"{head.sequence}:{head.hash.hex()}"
