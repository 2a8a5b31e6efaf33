"""Releases: answers and the final charge in one transaction, once for every batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Row, select, update

from common.errors import ErrorCode, OstrakaError
from guardian.ledger import batches, sessions, units
from guardian.ledger.audit import sha256
from guardian.ledger.schema import batches as batch_table
from guardian.ledger.schema import charges as charge_table
from guardian.ledger.schema import units as unit_table
from guardian.ledger.transaction import Transaction
from guardian.ledger.values import Charge, UnitKey, add


def stored_answers(tx: Transaction, session_id: str, batch_id: int, request_digest: bytes) -> bytes | None:
    """The answers of this request if it was released before; None if it may be released now."""
    session = sessions.find_session(tx.connection, session_id)
    row = batches.find(tx.connection, session_id, batch_id)
    if row is not None and row.state == "released":
        if row.request_digest != request_digest:
            raise batches.altered(batch_id)
        return bytes(row.answers)
    sessions.require_open(session)
    if row is None:
        raise OstrakaError(
            ErrorCode.TICKET_INVALID, f"Batch {batch_id} has no ticket; ask for one with OpenBatch."
        )
    if row.state == "dead":
        raise batches.dead(batch_id)
    return None


def release(
    tx: Transaction,
    session_id: str,
    batch_id: int,
    request_digest: bytes,
    answers: bytes,
    answered: int,
    charges: Sequence[Charge],
) -> bool:
    """Store answers and charges of a ticketed batch; False if a data-dependent budget has no room."""
    scheduled = _scheduled(tx, session_id, batch_id)
    costs = _costs(scheduled, charges)
    if _overspends(tx, scheduled, costs):
        return False
    charged = [_charge(tx, session_id, batch_id, row, costs[key]) for key, row in scheduled.items()]
    this = (batch_table.c.session_id == session_id) & (batch_table.c.batch_id == batch_id)
    tx.connection.execute(
        update(batch_table)
        .where(this)
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
    return True


def _scheduled(tx: Transaction, session_id: str, batch_id: int) -> dict[UnitKey, Row[Any]]:
    statement = (
        select(unit_table, charge_table.c.reserved.label("held"), charge_table.c.batch)
        .join(charge_table, charge_table.c.unit == unit_table.c.id)
        .join(batch_table, batch_table.c.id == charge_table.c.batch)
        .where((batch_table.c.session_id == session_id) & (batch_table.c.batch_id == batch_id))
        .order_by(unit_table.c.party, unit_table.c.group_name, unit_table.c.adjacency)
        .with_for_update(of=unit_table)
    )
    return {units.key_of(row): row for row in tx.connection.execute(statement).all()}


def _costs(scheduled: Mapping[UnitKey, Row[Any]], charges: Sequence[Charge]) -> dict[UnitKey, Charge]:
    costs = {charge.unit: charge for charge in charges}
    if len(costs) != len(charges):
        raise ValueError("charges: a unit is named twice")
    for key, charge in costs.items():
        if key not in scheduled:
            raise ValueError(f"charges: {key} is not in the batch's ticket")
        if scheduled[key].enforce == "worst_case" and charge.worst_case > scheduled[key].held:
            raise ValueError(f"charges: {key} is charged more than was reserved")
    return {key: costs.get(key, Charge(key, 0, 0)) for key in scheduled}


def _overspends(
    tx: Transaction, scheduled: Mapping[UnitKey, Row[Any]], costs: Mapping[UnitKey, Charge]
) -> bool:
    return any(
        add(units.data_dependent_total(tx.cipher, row), costs[key].data_dependent) > row.budget
        for key, row in scheduled.items()
        if row.enforce == "data_dependent"
    )


def _charge(tx: Transaction, session_id: str, batch_id: int, row: Row[Any], cost: Charge) -> list[str | int]:
    units.charge(tx, row, reserved=row.held, worst_case=cost.worst_case, data_dependent=cost.data_dependent)
    worst_case = add(0, cost.worst_case)
    sealed = tx.cipher.seal(add(0, cost.data_dependent), *batches.sealed_row(session_id, batch_id, cost.unit))
    tx.connection.execute(
        update(charge_table)
        .where((charge_table.c.batch == row.batch) & (charge_table.c.unit == row.id))
        .values(worst_case=worst_case, data_dependent=sealed)
    )
    return [*cost.unit, worst_case]
