"""Changes that a unit's party signed an agreement on: a raised budget, consent after a withdrawal."""

from __future__ import annotations

import base64
from typing import Any

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.guardian.ledger.log.audit import sha256
from ostraka.guardian.ledger.store.values import Budget, UnitKey
from ostraka.guardian.ledger.transaction import Transaction
from ostraka.guardian.ledger.units import budgets, units
from ostraka.guardian.ledger.units.units import UnitRow


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
        epsilon_before: what the party's agreement says that epsilon is now.
        epsilon: larger.
        number: how many agreements on this unit came before.
        agreement: the party's Signed Agreement, serialized, its signature verified; kept in the audit log
            whole, so that an auditor can check it.
        reason: the administrator's.

    Raises:
        OstrakaError: `agreement.invalid` where `number` or an epsilon is off, `budget.missing`,
            `message.invalid` without a reason.
    """
    row = units.require(tx.connection, [key])[key]
    _check_number(key, row, number)
    if epsilon_before != row.epsilon:
        raise _invalid(key, f"raises epsilon {epsilon_before}, and the budget has epsilon {row.epsilon}")
    if epsilon <= row.epsilon:
        raise _invalid(key, f"names epsilon {epsilon}, which is no more than the budget has")
    amount = budgets.amount_of(epsilon, row.delta, row.renyi_order)
    broken = tx.now_ms if row.broken_unix_ms is None else row.broken_unix_ms
    budgets.store_epsilon(tx, row, epsilon, amount, level=None, agreements=number + 1, broken_unix_ms=broken)
    tx.record(
        "budget_raised",
        unit=key,
        epsilon_before=epsilon_before,
        epsilon=epsilon,
        budget=amount,
        **_evidence(number, agreement, reason),
    )
    return budgets.happened(tx, key, "raised", reason)


def consent_again(tx: Transaction, key: UnitKey, *, number: int, agreement: bytes, reason: str) -> Budget:
    """Let a withdrawn unit take part again, by the party's agreement; arguments as in `raise_budget`.

    Raises:
        OstrakaError: `agreement.invalid` where `number` is off or nothing was withdrawn,
            `budget.missing`, `message.invalid` without a reason.
    """
    row = units.require(tx.connection, [key])[key]
    _check_number(key, row, number)
    if row.state != "withdrawn":
        raise _invalid(key, "consents again, and its consent was not withdrawn")
    units.store(tx, [{"unit": row.id, "state": "active", "agreements": number + 1}])
    tx.record("unit_consented", unit=key, **_evidence(number, agreement, reason))
    return budgets.happened(tx, key, "consented", reason)


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
