"""The charges of one batch, written together with their effect on its units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import bindparam, insert, select, update

from ostraka.guardian.ledger.sessions import batches
from ostraka.guardian.ledger.store.amounts import add, check_amount
from ostraka.guardian.ledger.store.schema import charges as charge_table
from ostraka.guardian.ledger.store.schema import units as unit_table
from ostraka.guardian.ledger.store.session_values import StoredSession
from ostraka.guardian.ledger.store.values import Charge, UnitKey
from ostraka.guardian.ledger.transaction import Transaction
from ostraka.guardian.ledger.units import kept_totals, units
from ostraka.guardian.ledger.units.units import UnitCharge


class Held(NamedTuple):
    """What a batch's ticket reserved from a unit, and what its check has already charged of it."""

    reserved: int
    checked: int
    data_dependent: int


def reservations_of(tx: Transaction, batch: batches.BatchRow) -> dict[UnitKey, Held]:
    """Return a batch's reservation and charge, for each unit that its ticket reserved from."""
    statement = (
        select(unit_table, charge_table.c.reserved.label("held"), charge_table.c.checked)
        .add_columns(charge_table.c.data_dependent.label("sealed"))
        .join(charge_table, charge_table.c.unit == unit_table.c.id)
        .where(charge_table.c.entry == batch.id)
    )
    return {units.key_of(row): _reservation_of(tx, batch, row) for row in tx.connection.execute(statement)}


def costs_of(held: Mapping[UnitKey, Held], charges: Sequence[Charge]) -> dict[UnitKey, Charge]:
    """Return what each unit pays for a batch in total, including units that `charges` leaves out.

    Raises ValueError for empty charges, a repeated unit, or amounts outside the reservation.
    """
    costs = {charge.unit: charge for charge in charges}
    if not charges or len(costs) != len(charges):
        raise ValueError("charges: must name one unit at least, and none twice")
    costs = {key: costs.get(key, Charge(key, 0, 0)) for key in {**held, **costs}}
    for key, found in held.items():
        if costs[key].worst_case > found.reserved:
            raise ValueError(f"charges: {key} is charged more than was reserved")
        if costs[key].worst_case < found.checked:
            raise ValueError(f"charges: {key} is charged less than its check was")
    return costs


def check_enforced(rows: Mapping[UnitKey, units.UnitRow], held: Mapping[UnitKey, Held]) -> None:
    """Raise ValueError for a unit whose worst cost should have been reserved and was not."""
    for key, row in rows.items():
        if row.enforce == "worst_case" and key not in held:
            raise ValueError(f"charges: nothing was reserved for {key}")


def charge(
    tx: Transaction,
    batch: batches.BatchRow,
    rows: Mapping[UnitKey, units.UnitRow],
    held: Mapping[UnitKey, Held],
    costs: Mapping[UnitKey, Charge],
) -> None:
    """Charge `costs`, minus earlier charges, and release the rest of the reservations."""
    nothing = Held(0, 0, 0)
    rests = {key: _rest(row, held.get(key, nothing), costs[key]) for key, row in rows.items()}
    units.charge_all(tx, rests.values())
    _store(tx, [_row(tx, batch, rest, costs[key]) for key, rest in rests.items() if key in held])
    _add(tx, [_row(tx, batch, rest, costs[key]) for key, rest in rests.items() if key not in held])


def store_figures(
    tx: Transaction,
    session: StoredSession,
    batch_id: int,
    figures: Mapping[UnitKey, int],
    totals: Mapping[UnitKey, bytes] | None = None,
) -> None:
    """Replace a released batch's recorded data-dependent costs, which were the worst case until then.

    Only its charges in confidential reports change. Balances, filters and the audit log do not, and neither
    do running totals of units with worst-case budgets. Repeating the call changes nothing.

    Args:
        tx: a transaction in which this replica holds the session.
        session: the batch's session, open or not.
        batch_id: a released batch.
        figures: amounts for units that the batch was charged to, each at most the reservation.
        totals: totals of some of these units, stored for a later publication; all have one length.

    Raises:
        OstrakaError: `batch.dead` for a batch without answers.
        ValueError: an invalid amount or one above the reservation, or a unit that was not charged.
    """
    batch = batches.find(tx.connection, session.session_id, batch_id)
    if batch is None or batch.state != "released":
        raise batches.dead(batch_id)
    rows = {
        units.key_of(row): row
        for row in tx.connection.execute(
            select(unit_table, charge_table.c.reserved.label("held"))
            .join(charge_table, charge_table.c.unit == unit_table.c.id)
            .where(charge_table.c.entry == batch.id)
        )
    }
    for key, figure in figures.items():
        check_amount("figures", figure)
        if key not in rows or figure > rows[key].held:
            raise ValueError(f"figures: {key} was charged nothing, or less was reserved for it")
    _store(tx, [_seal_figures(tx, batch, rows[key], key, figure) for key, figure in figures.items()])
    _store(tx, [_total(tx, batch, rows[key], total) for key, total in (totals or {}).items()])


def charge_checks(
    tx: Transaction,
    batch: batches.BatchRow,
    rows: Mapping[UnitKey, units.UnitRow],
    costs: Mapping[UnitKey, Charge],
) -> None:
    """Charge a check's `costs` from the reservations, and keep the rest reserved."""
    each = [
        (_rest(row, Held(costs[key].worst_case, 0, 0), costs[key]), costs[key]) for key, row in rows.items()
    ]
    units.charge_all(tx, [rest for rest, _ in each])
    _store(tx, [_row(tx, batch, rest, cost) | {"checked": cost.worst_case} for rest, cost in each])


def _reservation_of(tx: Transaction, batch: batches.BatchRow, row: units.UnitRow) -> Held:
    if row.checked is None:
        return Held(row.held, 0, 0)
    sealed = batches.seal_context(batch.session_id, batch.batch_id, units.key_of(row))
    return Held(row.held, row.checked, tx.cipher.unseal(row.sealed, *sealed))


def _rest(row: units.UnitRow, held: Held, cost: Charge) -> UnitCharge:
    """Return the part of `cost` still to charge, and the part of `held` to release."""
    return UnitCharge(
        row,
        reserved=held.reserved - held.checked,
        worst_case=add(0, cost.worst_case) - held.checked,
        data_dependent=add(0, cost.data_dependent) - held.data_dependent,
    )


def _store(tx: Transaction, changes: Sequence[dict[str, Any]]) -> None:
    """Change rows that a ticket made."""
    if changes:
        this = (charge_table.c.entry == bindparam("of_batch")) & (charge_table.c.unit == bindparam("of_unit"))
        tx.connection.execute(update(charge_table).where(this), changes)


def _add(tx: Transaction, added: Sequence[dict[str, Any]]) -> None:
    """Add rows of units that reserved nothing."""
    if added:
        new = insert(charge_table).values(entry=bindparam("of_batch"), unit=bindparam("of_unit"), reserved=0)
        tx.connection.execute(new, added)


def _row(tx: Transaction, batch: batches.BatchRow, rest: UnitCharge, cost: Charge) -> dict[str, Any]:
    sealed = _seal_figures(tx, batch, rest.row, cost.unit, cost.data_dependent)
    spent = add(rest.row.spent, rest.worst_case)
    return sealed | {"worst_case": add(0, cost.worst_case), "spent": spent}


def _seal_figures(
    tx: Transaction, batch: batches.BatchRow, row: units.UnitRow, key: UnitKey, amount: int
) -> dict[str, Any]:
    """Return the values to store for a unit's data-dependent charge."""
    bound = batches.seal_context(batch.session_id, batch.batch_id, key)
    sealed = tx.cipher.seal(add(0, amount), *bound)
    return {"of_batch": batch.id, "of_unit": row.id, "data_dependent": sealed}


def _total(tx: Transaction, batch: batches.BatchRow, row: units.UnitRow, total: bytes) -> dict[str, Any]:
    """Return the values to store for a unit's votes in a batch."""
    bound = kept_totals.seal_context(batch.session_id, batch.batch_id, units.key_of(row))
    return {"of_batch": batch.id, "of_unit": row.id, "vote_total": tx.cipher.seal_bytes(total, *bound)}
