"""Amounts of units: reserve, release, charge. `budgets` sets the budget's terms."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, bindparam, select, update

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.guardian.ledger.store.amounts import add, overdrawn
from ostraka.guardian.ledger.store.cipher import Cipher
from ostraka.guardian.ledger.store.schema import charges, units
from ostraka.guardian.ledger.store.values import Budget, UnitKey
from ostraka.guardian.ledger.transaction import Transaction

UnitRow = Row[Any]
_KEY = (units.c.party, units.c.group_name, units.c.adjacency)

_OF_PARTY = select(units).where(units.c.party == bindparam("sought")).order_by(*_KEY)
_LOCKED_OF_PARTY = _OF_PARTY.with_for_update()
_PARTIES = select(units.c.party).where(units.c.party.in_(bindparam("sites", expanding=True))).distinct()


class UnitCharge(NamedTuple):
    """The charge to a unit's row, and the part of its reservation to release."""

    row: UnitRow
    reserved: int
    worst_case: int
    data_dependent: int


def find(connection: Connection, keys: Iterable[UnitKey], *, lock: bool = True) -> dict[UnitKey, UnitRow]:
    """Return the rows of the existing `keys`, in unit order, locked for a change unless only read.

    All units of the parties are read (and locked): a list of thousands of keys takes far longer to parse.
    """
    wanted = set(keys)
    statement = select(units).where(units.c.party.in_({key.party for key in wanted})).order_by(*_KEY)
    rows = connection.execute(statement.with_for_update() if lock else statement)
    found = {key: row for row in rows if (key := key_of(row)) in wanted}
    return {key: found[key] for key in sorted(found)}


def of_party(connection: Connection, party: str, *, lock: bool = True) -> dict[UnitKey, UnitRow]:
    """Return the rows of a party's units, in unit order, locked for a change unless only read."""
    statement = _LOCKED_OF_PARTY if lock else _OF_PARTY
    return {key_of(row): row for row in connection.execute(statement, {"sought": party})}


def require(connection: Connection, keys: Iterable[UnitKey], *, lock: bool = True) -> dict[UnitKey, UnitRow]:
    """As `find`, but raise `budget.missing` for the first of `keys` without a budget."""
    wanted = sorted(set(keys))
    found = find(connection, wanted, lock=lock)
    for key in wanted:
        if key not in found:
            raise OstrakaError(
                ErrorCode.BUDGET_MISSING,
                f"No budget is set for {key}; set one with `ostraka guardian budget set`.",
            )
    return found


def parties_of(connection: Connection, sites: Collection[str]) -> set[str]:
    """Return which of these parties have units."""
    return set(connection.scalars(_PARTIES, {"sites": list(sites)}))


def reserve(tx: Transaction, batch: int) -> None:
    """Reserve the amounts in a batch's charge rows; the caller has checked that they fit."""
    of_batch = (charges.c.entry == batch) & (charges.c.unit == units.c.id)
    tx.connection.execute(
        update(units).where(of_batch).values(reserved=units.c.reserved + charges.c.reserved)
    )


def give_back_all(tx: Transaction, amounts: Iterable[tuple[UnitRow, int]]) -> None:
    """Release the reservations of many units without a charge, in one round trip."""
    store(tx, [_amounts(row, row.spent, row.reserved - amount) for row, amount in amounts])


def charge_all(tx: Transaction, charges: Iterable[UnitCharge], *, overdraw: bool = False) -> None:
    """Charge many units and release their reservations, in one round trip.

    All units of a batch are charged together, even by 0: see `store_totals`. With `overdraw` spending may
    exceed the budget, of which nothing is left then.
    """
    store(tx, [_row_after(tx.cipher, charge, overdraw) for charge in charges])


def exhaust(tx: Transaction, rows: Iterable[UnitRow], short: Collection[UnitKey]) -> None:
    """Use up the rest of the data-dependent budgets of the units of a batch that are `short`."""
    store_totals(tx, [(row, _overdraft_after(tx.cipher, row, key_of(row) in short)) for row in rows])


def store_totals(tx: Transaction, totals: Iterable[tuple[UnitRow, int]]) -> None:
    """Write data-dependent totals of all units of a batch, even unchanged ones.

    Each is encrypted anew, so that two copies of the table do not show whose total changed.
    """
    sealed = (
        (row, seal(tx.cipher, key_of(row), total, row.spent_before, row.spent)) for row, total in totals
    )
    store(tx, [{"unit": row.id, "data_dependent": blob} for row, blob in sealed])


def store(tx: Transaction, changes: Sequence[dict[str, Any]]) -> None:
    """Store new values of units; every change names its `unit` by row id and the same columns."""
    if changes:
        tx.connection.execute(update(units).where(units.c.id == bindparam("unit")), changes)


def data_dependent_total(cipher: Cipher, row: UnitRow) -> int:
    """Return a unit's data-dependent total, which must never leave the guardian."""
    return cipher.unseal(row.data_dependent, *_seal_context(key_of(row), row.spent_before, row.spent))


def is_exhausted(cipher: Cipher, row: UnitRow) -> bool:
    """Whether a data-dependent budget is used up; False for a worst-case budget."""
    return bool(row.enforce == "data_dependent" and data_dependent_total(cipher, row) >= row.budget)


def seal(cipher: Cipher, key: UnitKey, total: int, spent_before: int, spent: int) -> bytes:
    """Encrypt a unit's data-dependent total, bound to the worst-case spending in its row."""
    return cipher.seal(total, *_seal_context(key, spent_before, spent))


def budget(row: UnitRow) -> Budget:
    """Return the public part of a unit's row."""
    return Budget(
        key=key_of(row),
        epsilon=row.epsilon,
        delta=row.delta,
        order=row.renyi_order,
        enforce=row.enforce,
        budget=row.budget,
        spent=row.spent,
        reserved=row.reserved,
        state=row.state,
        level=row.level,
        agreements=row.agreements,
        spent_before=row.spent_before,
        broken_unix_ms=row.broken_unix_ms,
    )


def key_of(row: UnitRow) -> UnitKey:
    """Return the key of a unit's row."""
    return UnitKey(row.party, row.group_name, row.adjacency)


def _amounts(row: UnitRow, spent: int, reserved: int) -> dict[str, Any]:
    overdrawn_to = min(row.overdrawn_to, spent + reserved)
    return {"unit": row.id, "spent": spent, "reserved": reserved, "overdrawn_to": overdrawn_to}


def _row_after(cipher: Cipher, charge: UnitCharge, overdraw: bool) -> dict[str, Any]:
    row = charge.row
    total = add(data_dependent_total(cipher, row), charge.data_dependent)
    spent = add(row.spent, charge.worst_case)
    values = _amounts(row, spent, row.reserved - charge.reserved)
    values["data_dependent"] = seal(cipher, key_of(row), total, row.spent_before, spent)
    if overdraw:
        beyond = overdrawn(spent + values["reserved"], row.budget)
        values["overdrawn_to"] = max(values["overdrawn_to"], beyond)
    return values


def _overdraft_after(cipher: Cipher, row: UnitRow, short: bool) -> int:
    total = data_dependent_total(cipher, row)
    return max(row.budget, total) if short else total


def _seal_context(key: UnitKey, spent_before: int, spent: int) -> tuple[str | int, ...]:
    return ("unit", *key, add(spent_before, spent))
