"""Read access to the balances of units."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import select

from ostraka.guardian.ledger.reader import View
from ostraka.guardian.ledger.store.schema import units as unit_table
from ostraka.guardian.ledger.store.values import Budget, UnitKey
from ostraka.guardian.ledger.units import units


def all_budgets(view: View, party: str | None = None) -> list[Budget]:
    """Every unit's budget with its worst-case spending, or one party's, in unit order."""
    statement = select(unit_table)
    if party is not None:
        statement = statement.where(unit_table.c.party == party)
    return sorted(map(units.budget, view.connection.execute(statement)), key=lambda found: found.key)


def budgets_of(view: View, keys: Iterable[UnitKey]) -> list[Budget]:
    """Return the budgets of `keys`, in unit order.

    Raises:
        OstrakaError: `budget.missing` naming the first unit without a budget.
    """
    return [units.budget(row) for row in units.require(view.connection, keys, lock=False).values()]


def find_budgets(view: View, keys: Iterable[UnitKey]) -> dict[UnitKey, Budget]:
    """Return the budgets of the `keys` that have one, in unit order."""
    return {key: units.budget(row) for key, row in units.find(view.connection, keys, lock=False).items()}


def units_without_budget(view: View, keys: Iterable[UnitKey]) -> set[UnitKey]:
    """Return the `keys` whose data-dependent budget is used up; confidential while the policy says so.

    Raises:
        ValueError: the ledger was opened without its cipher.
        OstrakaError: `ledger.tampered` if the key does not open an amount.
    """
    cipher = view.require_cipher()
    rows = units.find(view.connection, keys, lock=False)
    return {key for key, row in rows.items() if units.is_exhausted(cipher, row)}


def data_dependent_totals(view: View) -> dict[UnitKey, int]:
    """Every unit's data-dependent total, in amounts; confidential, it must never leave the guardian.

    Raises:
        ValueError: the ledger was opened without its cipher.
        OstrakaError: `ledger.tampered` if the key does not open an amount.
    """
    cipher = view.require_cipher()
    rows = view.connection.execute(select(unit_table).order_by(unit_table.c.id))
    return {units.key_of(row): units.data_dependent_total(cipher, row) for row in rows}
