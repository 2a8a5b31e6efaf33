"""Budgets of units: set once, lowered, reserved from, charged."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, Row, insert, select, tuple_, update

from common.errors import ErrorCode, OstrakaError
from common.privacy import budget_amount, budget_rdp
from guardian.ledger.cipher import Cipher
from guardian.ledger.schema import units
from guardian.ledger.transaction import Transaction
from guardian.ledger.values import AMOUNT_MAX, Budget, UnitKey, add

UnitRow = Row[Any]
_KEY = (units.c.party, units.c.group_name, units.c.adjacency)


def set_budget(
    tx: Transaction, key: UnitKey, epsilon: float, delta: float, order: float, enforce: str
) -> Budget:
    """Set a unit's budget, or lower it. See `Ledger.set_budget`."""
    amount = min(budget_amount(budget_rdp(epsilon, delta, order)), AMOUNT_MAX)
    row = find(tx.connection, [key]).get(key)
    if row is None:
        _insert(tx, key, epsilon, delta, order, enforce, amount)
    else:
        if (row.delta, row.renyi_order, row.enforce) != (delta, order, enforce):
            raise _already_set(key, row)
        if epsilon > row.epsilon:
            raise _raise_refused(key, row)
        if epsilon == row.epsilon:
            return budget(row)
        _lower(tx, row, epsilon, amount)
    tx.record(
        "budget_set", unit=key, epsilon=epsilon, delta=delta, order=order, enforce=enforce, budget=amount
    )
    return budget(find(tx.connection, [key])[key])


def find(connection: Connection, keys: Iterable[UnitKey]) -> dict[UnitKey, UnitRow]:
    """Lock and return the rows of those `keys` that exist, in unit order."""
    statement = select(units).where(tuple_(*_KEY).in_(list(keys))).order_by(*_KEY).with_for_update()
    return {key_of(row): row for row in connection.execute(statement)}


def require(connection: Connection, keys: Iterable[UnitKey]) -> dict[UnitKey, UnitRow]:
    """As `find`, but raise `budget.missing` for the first of `keys` that has no budget."""
    wanted = sorted(set(keys))
    found = find(connection, wanted)
    for key in wanted:
        if key not in found:
            raise OstrakaError(
                ErrorCode.BUDGET_MISSING,
                f"No budget is set for {key}; set one with `ostraka guardian budget set`.",
            )
    return found


def all_budgets(connection: Connection, party: str | None = None) -> list[Budget]:
    """Every unit's budget, or one party's, in unit order."""
    statement = select(units).order_by(*_KEY)
    if party is not None:
        statement = statement.where(units.c.party == party)
    return [budget(row) for row in connection.execute(statement)]


def reserve(tx: Transaction, row: UnitRow, amount: int) -> None:
    """Hold `amount` back from a unit; the caller has checked that it fits."""
    _store(tx, row, spent=row.spent, reserved=row.reserved + amount)


def give_back(tx: Transaction, row: UnitRow, reserved: int) -> None:
    """Return a reservation uncharged."""
    _store(tx, row, spent=row.spent, reserved=row.reserved - reserved)


def charge(tx: Transaction, row: UnitRow, *, reserved: int, worst_case: int, data_dependent: int) -> None:
    """Charge a unit and return what was reserved for it."""
    total = add(data_dependent_total(tx.cipher, row), data_dependent)
    spent = add(row.spent, worst_case)
    sealed = tx.cipher.seal(total, *_sealed_row(key_of(row), spent))
    _store(tx, row, spent=spent, reserved=row.reserved - reserved, data_dependent=sealed)


def exhaust(tx: Transaction, row: UnitRow) -> None:
    """Use up what is left of a unit's data-dependent budget."""
    total = max(row.budget, data_dependent_total(tx.cipher, row))
    sealed = tx.cipher.seal(total, *_sealed_row(key_of(row), row.spent))
    _store(tx, row, spent=row.spent, reserved=row.reserved, data_dependent=sealed)


def data_dependent_total(cipher: Cipher, row: UnitRow) -> int:
    """A unit's data-dependent total; never to leave the guardian."""
    return cipher.unseal(row.data_dependent, *_sealed_row(key_of(row), row.spent))


def budget(row: UnitRow) -> Budget:
    """The public part of a unit's row."""
    return Budget(
        key=key_of(row),
        epsilon=row.epsilon,
        delta=row.delta,
        order=row.renyi_order,
        enforce=row.enforce,
        budget=row.budget,
        spent=row.spent,
        reserved=row.reserved,
    )


def key_of(row: UnitRow) -> UnitKey:
    """The key of a unit's row."""
    return UnitKey(row.party, row.group_name, row.adjacency)


def _insert(
    tx: Transaction, key: UnitKey, epsilon: float, delta: float, order: float, enforce: str, amount: int
) -> None:
    tx.connection.execute(
        insert(units).values(
            party=key.party,
            group_name=key.group,
            adjacency=key.adjacency,
            epsilon=epsilon,
            delta=delta,
            renyi_order=order,
            enforce=enforce,
            budget=amount,
            spent=0,
            reserved=0,
            overdrawn_to=0,
            data_dependent=tx.cipher.seal(0, *_sealed_row(key, 0)),
        )
    )


def _lower(tx: Transaction, row: UnitRow, epsilon: float, amount: int) -> None:
    committed = row.spent + row.reserved
    tx.connection.execute(
        update(units)
        .where(units.c.id == row.id)
        .values(epsilon=epsilon, budget=amount, overdrawn_to=committed if committed > amount else 0)
    )


def _store(tx: Transaction, row: UnitRow, *, spent: int, reserved: int, **values: bytes) -> None:
    overdrawn_to = min(row.overdrawn_to, spent + reserved)
    tx.connection.execute(
        update(units)
        .where(units.c.id == row.id)
        .values(spent=spent, reserved=reserved, overdrawn_to=overdrawn_to, **values)
    )


def _sealed_row(key: UnitKey, spent: int) -> tuple[str | int, ...]:
    return ("unit", *key, spent)


def _already_set(key: UnitKey, row: UnitRow) -> OstrakaError:
    return OstrakaError(
        ErrorCode.BUDGET_ALREADY_SET,
        f"The budget of {key} was set with delta {row.delta}, order {row.renyi_order} and enforce"
        f" {row.enforce}, which stay as they are; give the same ones to lower its epsilon.",
    )


def _raise_refused(key: UnitKey, row: UnitRow) -> OstrakaError:
    return OstrakaError(
        ErrorCode.BUDGET_RAISE_REFUSED,
        f"The budget of {key} is epsilon {row.epsilon} and cannot be raised; it can only be lowered.",
    )
