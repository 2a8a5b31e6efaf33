"""Releases: answers and the final charge in one transaction, once for every batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import bindparam, insert, select, update

from common.errors import ErrorCode, OstrakaError
from guardian.ledger import batches, sessions, units
from guardian.ledger.audit import sha256
from guardian.ledger.schema import batches as batch_table
from guardian.ledger.schema import charges as charge_table
from guardian.ledger.schema import units as unit_table
from guardian.ledger.transaction import Transaction
from guardian.ledger.units import UnitCharge
from guardian.ledger.values import Charge, StoredSession, UnitKey, add


def release(
    tx: Transaction,
    session: StoredSession,
    batch_id: int,
    request_digest: bytes,
    answers: bytes,
    answered: int,
    charges: Sequence[Charge],
) -> bytes | None:
    """Store a batch's answers and charges, or return the stored ones. See `Ledger.release`.

    None where a data-dependent budget has no room for what any answers could cost: no answer is stored, and
    every budget that was too small is used up. The stop depends on the votes, so a unit may cause one stop
    and no more: otherwise a querying party could shift its sums and ask again until one fits, which tells
    the votes for nothing.

    A unit that was frozen or withdrawn since the ticket is charged: its votes are in.
    """
    found = batches.find(tx.connection, session.session_id, batch_id)
    before = batches.answers_of(found, batch_id, request_digest)
    if before is not None:
        return before
    batch = _require_ticketed(session, found, batch_id)
    held = _held(tx, batch.id)
    costs = _costs(held, charges)
    rows = units.require(tx.connection, costs)
    _check_enforced(rows, held)
    short = _short(tx, rows, costs)
    if short:
        for row in short:
            units.exhaust(tx, row)
        return None
    _charge(tx, batch, rows, held, costs)
    tx.connection.execute(
        update(batch_table)
        .where(batch_table.c.id == batch.id)
        .values(
            state="released",
            request_digest=request_digest,
            answers=answers,
            answered=answered,
            released_unix_ms=tx.now_ms,
        )
    )
    tx.record(
        "batch_released",
        session=session.session_id,
        batch=batch_id,
        request_sha256=request_digest.hex(),
        answers_sha256=sha256(answers),
        answered=answered,
        charged=[[*key, add(0, costs[key].worst_case)] for key in rows],
    )
    return answers


def _require_ticketed(
    session: StoredSession, row: batches.BatchRow | None, batch_id: int
) -> batches.BatchRow:
    sessions.require_open(session)
    if row is None:
        raise OstrakaError(
            ErrorCode.TICKET_INVALID, f"Batch {batch_id} has no ticket; ask for one with OpenBatch."
        )
    if row.state == "dead":
        raise batches.dead(batch_id)
    return row


def _held(tx: Transaction, batch: int) -> dict[UnitKey, int]:
    statement = (
        select(unit_table, charge_table.c.reserved.label("held"))
        .join(charge_table, charge_table.c.unit == unit_table.c.id)
        .where(charge_table.c.batch == batch)
    )
    return {units.key_of(row): row.held for row in tx.connection.execute(statement)}


def _costs(held: Mapping[UnitKey, int], charges: Sequence[Charge]) -> dict[UnitKey, Charge]:
    costs = {charge.unit: charge for charge in charges}
    if not charges or len(costs) != len(charges):
        raise ValueError("charges: must name one unit at least, and none twice")
    for key, charge in costs.items():
        if key in held and charge.worst_case > held[key]:
            raise ValueError(f"charges: {key} is charged more than was reserved")
    return {key: costs.get(key, Charge(key, 0, 0)) for key in {**held, **costs}}


def _check_enforced(rows: Mapping[UnitKey, units.UnitRow], held: Mapping[UnitKey, int]) -> None:
    for key, row in rows.items():
        if row.enforce == "worst_case" and key not in held:
            raise ValueError(f"charges: nothing was reserved for {key}")


def _short(
    tx: Transaction, rows: Mapping[UnitKey, units.UnitRow], costs: Mapping[UnitKey, Charge]
) -> list[units.UnitRow]:
    """The units whose data-dependent budget has no room for the costliest answers."""
    return [
        row
        for key, row in rows.items()
        if row.enforce == "data_dependent" and _needed(tx, row, costs[key]) > row.budget
    ]


def _needed(tx: Transaction, row: units.UnitRow, cost: Charge) -> int:
    spent = units.data_dependent_total(tx.cipher, row)
    return add(spent, max(cost.data_dependent, cost.at_most))


def _charge(
    tx: Transaction,
    batch: batches.BatchRow,
    rows: Mapping[UnitKey, units.UnitRow],
    held: Mapping[UnitKey, int],
    costs: Mapping[UnitKey, Charge],
) -> None:
    units.charge_all(
        tx,
        [
            UnitCharge(row, held.get(key, 0), costs[key].worst_case, add(0, costs[key].data_dependent))
            for key, row in rows.items()
        ],
    )
    ticketed = [_charge_row(tx, batch, row, costs[key]) for key, row in rows.items() if key in held]
    if ticketed:
        this = (charge_table.c.batch == bindparam("of_batch")) & (charge_table.c.unit == bindparam("of_unit"))
        tx.connection.execute(update(charge_table).where(this), ticketed)
    added = [_charge_row(tx, batch, row, costs[key]) for key, row in rows.items() if key not in held]
    if added:
        new = insert(charge_table).values(batch=bindparam("of_batch"), unit=bindparam("of_unit"), reserved=0)
        tx.connection.execute(new, added)


def _charge_row(tx: Transaction, batch: batches.BatchRow, row: units.UnitRow, cost: Charge) -> dict[str, Any]:
    sealed = batches.sealed_row(batch.session_id, batch.batch_id, cost.unit)
    return {
        "of_batch": batch.id,
        "of_unit": row.id,
        "worst_case": add(0, cost.worst_case),
        "data_dependent": tx.cipher.seal(add(0, cost.data_dependent), *sealed),
    }
