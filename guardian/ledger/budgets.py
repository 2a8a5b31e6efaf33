"""Budgets of units: set once, lowered, raised by agreement, renewed, frozen, withdrawn."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Any

from sqlalchemy import insert

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.privacy import budget_amount, budget_rdp
from ostraka.guardian.ledger import carry_over, history, units
from ostraka.guardian.ledger.audit import sha256
from ostraka.guardian.ledger.schema import units as unit_table
from ostraka.guardian.ledger.transaction import Transaction
from ostraka.guardian.ledger.units import UnitRow
from ostraka.guardian.ledger.values import AMOUNT_MAX, Budget, UnitKey, add


def set_budget(
    tx: Transaction,
    key: UnitKey,
    epsilon: float,
    delta: float,
    order: float,
    enforce: str,
    level: str | None,
    reason: str,
) -> Budget:
    """Set a unit's budget, or lower it. See `Administration.set_budget`."""
    amount = _amount(epsilon, delta, order)
    row = units.find(tx.connection, [key]).get(key)
    if row is None:
        carry_over.check_order(tx.connection, key, order)
        _insert(tx, key, epsilon, delta, order, enforce, amount, level)
    else:
        if (row.delta, row.renyi_order, row.enforce) != (delta, order, enforce):
            raise _already_set(key, row)
        if epsilon > row.epsilon:
            raise _raise_refused(key, row)
        if epsilon == row.epsilon and level in (None, row.level):
            return units.budget(row)
        _store_epsilon(tx, row, epsilon, amount, level=level)
    tx.record(
        "budget_set",
        unit=key,
        epsilon=epsilon,
        delta=delta,
        order=order,
        enforce=enforce,
        budget=amount,
        level=level,
        reason=reason,
    )
    if row is not None:
        return _happened(tx, key, "set" if epsilon == row.epsilon else "lowered", reason)
    _happened(tx, key, "set", reason)
    carry_over.inherit(tx, key.party, [key])
    return units.budget(units.find(tx.connection, [key])[key])


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
    """Raise a unit's budget. See `Administration.raise_budget`."""
    row = units.require(tx.connection, [key])[key]
    _check_number(key, row, number)
    if epsilon_before != row.epsilon:
        raise _invalid(key, f"raises epsilon {epsilon_before}, and the budget has epsilon {row.epsilon}")
    if epsilon <= row.epsilon:
        raise _invalid(key, f"names epsilon {epsilon}, which is no more than the budget has")
    amount = _amount(epsilon, row.delta, row.renyi_order)
    broken = tx.now_ms if row.broken_unix_ms is None else row.broken_unix_ms
    _store_epsilon(tx, row, epsilon, amount, level=None, agreements=number + 1, broken_unix_ms=broken)
    tx.record(
        "budget_raised",
        unit=key,
        epsilon_before=epsilon_before,
        epsilon=epsilon,
        budget=amount,
        **_evidence(number, agreement, reason),
    )
    return _happened(tx, key, "raised", reason)


def consent_again(tx: Transaction, key: UnitKey, *, number: int, agreement: bytes, reason: str) -> Budget:
    """Let a withdrawn unit take part again. See `Administration.consent_again`."""
    row = units.require(tx.connection, [key])[key]
    _check_number(key, row, number)
    if row.state != "withdrawn":
        raise _invalid(key, "consents again, and its consent was not withdrawn")
    units.store(tx, [{"unit": row.id, "state": "active", "agreements": number + 1}])
    tx.record("unit_consented", unit=key, **_evidence(number, agreement, reason))
    return _happened(tx, key, "consented", reason)


def freeze(tx: Transaction, key: UnitKey, *, frozen: bool, reason: str) -> Budget:
    """Keep a unit from taking part, or let it again. See `Administration.freeze`."""
    row = units.require(tx.connection, [key])[key]
    if row.state == "withdrawn":
        raise _withdrawn(key)
    return _set_state(tx, row, "frozen" if frozen else "active", "frozen" if frozen else "thawed", reason)


def withdraw(tx: Transaction, key: UnitKey, *, reason: str) -> Budget:
    """End a unit's participation. See `Administration.withdraw`."""
    row = units.require(tx.connection, [key])[key]
    return _set_state(tx, row, "withdrawn", "withdrawn", reason)


def renew(tx: Transaction, keys: Iterable[UnitKey], period_ms: int) -> None:
    """Start a new period for units whose period is over. See `Administration.renew`."""
    over = [
        row
        for row in units.require(tx.connection, keys).values()
        if tx.now_ms - row.period_started_unix_ms >= period_ms
    ]
    if not over:
        return
    units.store(tx, [_renewed(tx, row) for row in over])
    renewed = [units.key_of(row) for row in over]
    tx.record("budgets_renewed", units=renewed)
    history.add_events(tx, "renewed", units.find(tx.connection, renewed).values())


def _renewed(tx: Transaction, row: UnitRow) -> dict[str, Any]:
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


def _insert(
    tx: Transaction,
    key: UnitKey,
    epsilon: float,
    delta: float,
    order: float,
    enforce: str,
    amount: int,
    level: str | None,
) -> None:
    tx.connection.execute(
        insert(unit_table).values(
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
            data_dependent=units.seal(tx.cipher, key, 0, 0, 0),
            state="active",
            level=level,
            agreements=0,
            spent_before=0,
            period_started_unix_ms=tx.now_ms,
        )
    )


def _store_epsilon(tx: Transaction, row: UnitRow, epsilon: float, amount: int, **values: Any) -> None:
    overdrawn_to = units.overdrawn(row.spent + row.reserved, amount)
    change = {"unit": row.id, "epsilon": epsilon, "budget": amount, "overdrawn_to": overdrawn_to}
    units.store(tx, [{**change, **values}])


def _set_state(tx: Transaction, row: UnitRow, state: str, kind: str, reason: str) -> Budget:
    if row.state == state:
        return units.budget(row)
    units.store(tx, [{"unit": row.id, "state": state}])
    tx.record(f"unit_{kind}", unit=units.key_of(row), reason=reason)
    return _happened(tx, units.key_of(row), kind, reason)


def _happened(tx: Transaction, key: UnitKey, kind: str, reason: str = "") -> Budget:
    row = units.find(tx.connection, [key])[key]
    history.add_events(tx, kind, [row], reason)
    return units.budget(row)


def _amount(epsilon: float, delta: float, order: float) -> int:
    return min(budget_amount(budget_rdp(epsilon, delta, order)), AMOUNT_MAX)


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


def _withdrawn(key: UnitKey) -> OstrakaError:
    return OstrakaError(
        ErrorCode.AGREEMENT_INVALID,
        f"The consent of {key} was withdrawn; only its party can sign that it consents again, with"
        " `ostraka party sign-consent`.",
    )


def _already_set(key: UnitKey, row: UnitRow) -> OstrakaError:
    return OstrakaError(
        ErrorCode.BUDGET_ALREADY_SET,
        f"The budget of {key} was set with delta {row.delta}, order {row.renyi_order} and enforce"
        f" {row.enforce}, which stay as they are; give the same ones to lower its epsilon.",
    )


def _raise_refused(key: UnitKey, row: UnitRow) -> OstrakaError:
    return OstrakaError(
        ErrorCode.BUDGET_RAISE_REFUSED,
        f"The budget of {key} is epsilon {row.epsilon}, and an administrator alone can only lower it; to"
        " raise it, let the party sign with `ostraka party sign-raise`, then run `ostraka guardian budget"
        " grant`.",
    )
