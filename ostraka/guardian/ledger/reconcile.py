"""Reconciliation after a loss of history: heads that parties kept reveal it, and their receipts repair it.

A receipt says that a party voted on a batch, not whether the batch was released. So a receipt is charged if
its batch may have been released in a lost history, and otherwise not:

- the ledger does not know the batch, or knows it as one that never had a ticket;
- the batch had a ticket and no answers when the backup was made, and died when it was restored;
- the batch is dead, and a kept head revealed the loss: nobody can say where the lost history began.

The ledger's own releases are charged already. A batch that died before the backup cost only its check and the
parties' evaluations, which are charged already too. A batch that was checked before the backup and whose
receipt is charged pays for its check twice: too much is better than too little.
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
"""Receipts whose batches one statement names, with two parameters each; SQLite's limit is 32,766."""
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
    """Charge, at their worst case, the batches in a party's receipts that a restored ledger lost.

    They also count as data-dependent costs, and may exceed a budget that is too small. The party is then
    reconciled. Repeated receipts are charged once.

    Args:
        tx: behind the fence.
        site: the party.
        owed: the contents of all its receipts, not a part of them; their signatures are verified.
        groups: the groups of its manifest. If a group outside them is charged, its records may now be in
            these groups, whose units take over its spending.
        entered: the groups that its manifest gained since the loss (`manifests_before_loss`). If anything is
            charged, their units take over the spending of the party's other units.
        votes_raised_to: number of votes of one person in a query, if the party raised it and the ledger may
            have lost that: all is costed again.

    Returns:
        The number of charges: one for each batch and unit.

    Raises:
        OstrakaError: `party.unknown`, `budget.missing` if a unit that owes has none.
        ValueError: a unit of another party, or an amount that is negative or not an integer.
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
    """Return the manifests that a party registered before the loss it must reconcile, in order.

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
    """The batches that may have been released in histories lost since a party last reconciled."""

    def __init__(self, connection: Connection, reconciled_epoch: int) -> None:
        endings = [row for _, row in _endings(connection) if row["epoch"] > reconciled_epoch]
        self._undeclared = any(row["kind"] == "rollback_found" for row in endings)
        self._dead = {
            (session, batch) for row in endings for session, batch_ids in row["ended"] for batch in batch_ids
        }

    def may_have_released(self, batch: BatchKey, state: str) -> bool:
        """Whether a batch with this state here (empty: never had a ticket) may have been released."""
        return not state or (state == "dead" and (self._undeclared or batch in self._dead))


def _endings(connection: Connection) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the ends of epochs, in Unix milliseconds, with their log entries."""
    kinds = ("restored", "rollback_found")
    named = [audit.c.payload.contains(f'"kind":"{kind}"', autoescape=True) for kind in kinds]
    for time_unix_ms, text in connection.execute(
        select(audit.c.time_unix_ms, audit.c.payload).where(or_(*named))
    ):
        row = json.loads(text)
        if row["kind"] in kinds:
            yield time_unix_ms, row


def _largest(site: str, owed: Sequence[Owed]) -> list[Owed]:
    """One item for each batch and unit, the largest, in order."""
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
    """States of the batches among these that had a ticket here."""
    columns = (batches.c.session_id, batches.c.batch_id)
    statement = select(*columns, batches.c.state).where(tuple_(*columns).in_(keys), batches.c.size > 0)
    return {(row.session_id, row.batch_id): row.state for row in connection.execute(statement)}


def _units_paid(connection: Connection, keys: Sequence[BatchKey]) -> set[tuple[str, int, UnitKey]]:
    """Units that were charged from a receipt before, or the worst case of a batch that died evaluated."""
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

    A missing row means that a backup was put back without `restore`. It is treated like a restore: a new
    epoch begins, unless the party must reconcile anyway. Each lost head counts once: a head that is sent
    again after its party reconciled (because the reply was lost) starts no further epoch.
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
