"""Budgets of units: set once, lower, renew, freeze, withdraw; raise by an agreement of the party."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from sqlalchemy import insert

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.privacy import budget_amount, budget_rdp
from ostraka.common.privacy.filters import filter_text, order_or_name
from ostraka.guardian.ledger.log.audit import sha256
from ostraka.guardian.ledger.store.amounts import AMOUNT_MAX, add, overdrawn
from ostraka.guardian.ledger.store.schema import units as unit_table
from ostraka.guardian.ledger.store.values import Budget, BudgetTerms, UnitKey
from ostraka.guardian.ledger.transaction import Transaction
from ostraka.guardian.ledger.units import carry_over, entries, history, units
from ostraka.guardian.ledger.units.units import UnitRow

_ADD = insert(unit_table).returning(unit_table)


def set_budget(tx: Transaction, key: UnitKey, terms: BudgetTerms, *, reason: str = "") -> Budget:
    """Set a unit's budget once, or lower its epsilon; below the spent amount nothing is left.

    Without a level the unit's level stays as long as epsilon stays. The administrator's `reason` may be
    empty. A new unit takes over the spending of the party's other units (`carry_over`).

    Raises:
        OstrakaError: `budget.raise_refused` for a larger epsilon, `budget.already_set` for another delta,
            order or enforce, `message.invalid` for a new unit's order or filter at which other units'
            spending is unknown.
        ValueError: a number out of range.
    """
    amount = amount_of(terms.epsilon, terms.delta, terms.order)
    known = units.of_party(tx.connection, key.party)
    row = known.get(key)
    if row is None:
        carry_over.check_order(tx.connection, key, terms.order, known)
        made = _insert(tx, key, terms, amount)
    else:
        if (row.delta, row.renyi_order, row.enforce) != (terms.delta, terms.order, terms.enforce):
            raise _already_set(key, row)
        if terms.epsilon > row.epsilon:
            raise _raise_refused(key, row)
        if terms.epsilon == row.epsilon and terms.level in (None, row.level):
            return units.budget(row)
        store_epsilon(tx, row, terms.epsilon, amount, level=terms.level)
    told = asdict(terms) | {"order": order_or_name(terms.order)}
    tx.record("budget_set", unit=key, budget=amount, reason=reason, **told)
    if row is not None:
        return add_event(tx, key, "set" if terms.epsilon == row.epsilon else "lowered", reason)
    history.add_events(tx, "set", [made], reason)
    carry_over.inherit(tx, key.party, [key])
    return units.budget(units.find(tx.connection, [key])[key])


def freeze(tx: Transaction, key: UnitKey, *, frozen: bool, reason: str) -> Budget:
    """Exclude a unit from further batches, or admit it again.

    Raises:
        OstrakaError: `agreement.invalid` for a withdrawn unit, `budget.missing`.
    """
    row = units.require(tx.connection, [key])[key]
    if row.state == "withdrawn":
        raise _unit_withdrawn(key)
    return _set_state(tx, row, "frozen" if frozen else "active", "frozen" if frozen else "thawed", reason)


def withdraw(tx: Transaction, key: UnitKey, *, reason: str) -> Budget:
    """End a unit's participation from the next batch on; only its party can consent again.

    Raises:
        OstrakaError: `budget.missing`.
    """
    row = units.require(tx.connection, [key])[key]
    return _set_state(tx, row, "withdrawn", "withdrawn", reason)


def renew(tx: Transaction, keys: Iterable[UnitKey], period_ms: int) -> None:
    """Start a new period for the units whose last one began `period_ms` or longer ago.

    Their spending moves to earlier periods and the new one starts at 0; reservations stay and are charged to
    it. The guarantee no longer covers the unit's lifetime.

    Raises:
        OstrakaError: `budget.missing`.
    """
    over = [
        row
        for row in units.require(tx.connection, keys).values()
        if tx.now_ms - row.period_started_unix_ms >= period_ms
    ]
    if not over:
        return
    units.store(tx, [_renewal_of(tx, row) for row in over])
    renewed = [units.key_of(row) for row in over]
    before = entries.last(tx.connection)
    tx.record("budgets_renewed", units=renewed, entry=before)
    history.add_events(tx, "renewed", units.find(tx.connection, renewed).values(), entry=before)


def _renewal_of(tx: Transaction, row: UnitRow) -> dict[str, Any]:
    before = add(row.spent_before, row.spent)
    return {
        "unit": row.id,
        "spent": 0,
        "spent_before": before,
        "overdrawn_to": min(row.overdrawn_to, row.reserved),
        "data_dependent": units.seal(tx.cipher, units.key_of(row), 0, before, 0),
        "period_started_unix_ms": tx.now_ms,
        "broken_unix_ms": tx.now_ms if row.broken_unix_ms is None else row.broken_unix_ms,
    }


def _insert(tx: Transaction, key: UnitKey, terms: BudgetTerms, amount: int) -> UnitRow:
    values = {
        "party": key.party,
        "group_name": key.group,
        "adjacency": key.adjacency,
        "epsilon": terms.epsilon,
        "delta": terms.delta,
        "renyi_order": terms.order,
        "enforce": terms.enforce,
        "budget": amount,
        "spent": 0,
        "reserved": 0,
        "overdrawn_to": 0,
        "data_dependent": units.seal(tx.cipher, key, 0, 0, 0),
        "state": "active",
        "level": terms.level,
        "agreements": 0,
        "spent_before": 0,
        "period_started_unix_ms": tx.now_ms,
    }
    return tx.connection.execute(_ADD, values).one()


def store_epsilon(tx: Transaction, row: UnitRow, epsilon: float, amount: int, **values: Any) -> None:
    """Store another epsilon, with its amount and other new values."""
    overdrawn_to = overdrawn(row.spent + row.reserved, amount)
    change = {"unit": row.id, "epsilon": epsilon, "budget": amount, "overdrawn_to": overdrawn_to}
    units.store(tx, [{**change, **values}])


def _set_state(tx: Transaction, row: UnitRow, state: str, kind: str, reason: str) -> Budget:
    if row.state == state:
        return units.budget(row)
    units.store(tx, [{"unit": row.id, "state": state}])
    tx.record(f"unit_{kind}", unit=units.key_of(row), reason=reason)
    return add_event(tx, units.key_of(row), kind, reason)


def add_event(tx: Transaction, key: UnitKey, kind: str, reason: str = "") -> Budget:
    """Record an event of a unit, and return its budget afterwards."""
    row = units.find(tx.connection, [key])[key]
    history.add_events(tx, kind, [row], reason)
    return units.budget(row)


def amount_of(epsilon: float, delta: float, order: float) -> int:
    """Return the amount that a budget allows."""
    return min(budget_amount(budget_rdp(epsilon, delta, order)), AMOUNT_MAX)


def _unit_withdrawn(key: UnitKey) -> OstrakaError:
    return OstrakaError(
        ErrorCode.AGREEMENT_INVALID,
        f"The consent of {key} was withdrawn; only its party can sign that it consents again, with"
        " `ostraka party sign-consent`.",
    )


def _already_set(key: UnitKey, row: UnitRow) -> OstrakaError:
    return OstrakaError(
        ErrorCode.BUDGET_ALREADY_SET,
        f"The budget of {key} was set with delta {row.delta}, filter {filter_text(row.renyi_order)} and"
        f" enforce {row.enforce}, which stay as they are; give the same ones to lower its epsilon.",
    )


def _raise_refused(key: UnitKey, row: UnitRow) -> OstrakaError:
    return OstrakaError(
        ErrorCode.BUDGET_RAISE_REFUSED,
        f"The budget of {key} is epsilon {row.epsilon}, and an administrator alone can only lower it; to"
        " raise it, let the party sign with `ostraka party sign-raise`, then run `ostraka guardian budget"
        " grant`.",
    )


def raise_budget(
    tx: Transaction,
    key: UnitKey,
    *,
    epsilon_before: float,
    epsilon: float,
    number: int,
    agreement: bytes,
    reason: str,
) -> Budget:
    """Raise a unit's budget from `epsilon_before` to `epsilon`, which breaks its lifetime guarantee.

    Args:
        tx: behind the fence.
        key: the unit.
        epsilon_before: the present epsilon according to the party's agreement.
        epsilon: the larger new epsilon.
        number: number of earlier agreements on this unit.
        agreement: the party's Signed Agreement, serialized, its signature verified; stored in the audit log
            as a whole, so that an auditor can check it.
        reason: the administrator's.

    Raises:
        OstrakaError: `agreement.invalid` if `number` or `epsilon_before` differs from the ledger's or
            `epsilon` is no larger, `budget.missing`, `message.invalid` without a reason.
    """
    row = units.require(tx.connection, [key])[key]
    _check_number(key, row, number)
    if epsilon_before != row.epsilon:
        raise _invalid(key, f"raises epsilon {epsilon_before}, and the budget has epsilon {row.epsilon}")
    if epsilon <= row.epsilon:
        raise _invalid(key, f"names epsilon {epsilon}, which is no more than the budget has")
    amount = amount_of(epsilon, row.delta, row.renyi_order)
    broken = tx.now_ms if row.broken_unix_ms is None else row.broken_unix_ms
    store_epsilon(tx, row, epsilon, amount, level=None, agreements=number + 1, broken_unix_ms=broken)
    tx.record(
        "budget_raised",
        unit=key,
        epsilon_before=epsilon_before,
        epsilon=epsilon,
        budget=amount,
        **_evidence(number, agreement, reason),
    )
    return add_event(tx, key, "raised", reason)


def consent_again(tx: Transaction, key: UnitKey, *, number: int, agreement: bytes, reason: str) -> Budget:
    """Admit a withdrawn unit again, by the party's agreement; arguments as in `raise_budget`.

    Raises:
        OstrakaError: `agreement.invalid` if `number` differs from the ledger's or nothing was withdrawn,
            `budget.missing`, `message.invalid` without a reason.
    """
    row = units.require(tx.connection, [key])[key]
    _check_number(key, row, number)
    if row.state != "withdrawn":
        raise _invalid(key, "consents again, and its consent was not withdrawn")
    units.store(tx, [{"unit": row.id, "state": "active", "agreements": number + 1}])
    tx.record("unit_consented", unit=key, **_evidence(number, agreement, reason))
    return add_event(tx, key, "consented", reason)


def _evidence(number: int, agreement: bytes, reason: str) -> dict[str, Any]:
    """Return what an auditor needs to check the party's signature."""
    if not reason.strip():
        raise OstrakaError(ErrorCode.MESSAGE_INVALID, "An agreement is used for a reason; give one.")
    return {
        "number": number,
        "agreement": base64.b64encode(agreement).decode(),
        "agreement_sha256": sha256(agreement),
        "reason": reason,
    }


def _check_number(key: UnitKey, row: UnitRow, number: int) -> None:
    if number != row.agreements:
        raise _invalid(key, f"bears number {number}, and the next one on this unit is {row.agreements}")


def _invalid(key: UnitKey, problem: str) -> OstrakaError:
    return OstrakaError(
        ErrorCode.AGREEMENT_INVALID,
        f"The agreement on {key} {problem}; let the party sign a new one with `ostraka party sign-raise` or"
        " `ostraka party sign-consent`.",
    )
