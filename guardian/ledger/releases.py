"""Releases: answers and the final charge in one transaction, once for every batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import insert, select, update

from common.errors import ErrorCode, OstrakaError
from guardian.ledger import batches, sessions, units
from guardian.ledger.audit import sha256
from guardian.ledger.schema import batches as batch_table
from guardian.ledger.schema import charges as charge_table
from guardian.ledger.schema import units as unit_table
from guardian.ledger.transaction import Transaction
from guardian.ledger.values import Charge, UnitKey, add


def release(
    tx: Transaction,
    session_id: str,
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
    """
    found = batches.find(tx.connection, session_id, batch_id)
    before = batches.answers_of(found, batch_id, request_digest)
    if before is not None:
        return before
    batch = _require_ticketed(tx, found, session_id, batch_id)
    held = _held(tx, batch.id)
    costs = _costs(held, charges)
    rows = units.require(tx.connection, costs)
    _check_enforced(rows, held)
    short = _short(tx, rows, costs)
    if short:
        for row in short:
            units.exhaust(tx, row)
        return None
    charged = [_charge(tx, batch, row, held.get(key), costs[key]) for key, row in rows.items()]
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
        session=session_id,
        batch=batch_id,
        request_sha256=request_digest.hex(),
        answers_sha256=sha256(answers),
        answered=answered,
        charged=charged,
    )
    return answers


def _require_ticketed(
    tx: Transaction, row: batches.BatchRow | None, session_id: str, batch_id: int
) -> batches.BatchRow:
    sessions.require_open(sessions.find_session(tx.connection, session_id))
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
    tx: Transaction, batch: batches.BatchRow, row: units.UnitRow, held: int | None, cost: Charge
) -> list[str | int]:
    data_dependent = add(0, cost.data_dependent)
    units.charge(tx, row, reserved=held or 0, worst_case=cost.worst_case, data_dependent=data_dependent)
    values = {
        "worst_case": add(0, cost.worst_case),
        "data_dependent": tx.cipher.seal(
            data_dependent, *batches.sealed_row(batch.session_id, batch.batch_id, cost.unit)
        ),
    }
    if held is None:
        tx.connection.execute(insert(charge_table).values(batch=batch.id, unit=row.id, reserved=0, **values))
    else:
        this = (charge_table.c.batch == batch.id) & (charge_table.c.unit == row.id)
        tx.connection.execute(update(charge_table).where(this).values(**values))
    return [*cost.unit, add(0, cost.worst_case)]
