"""History of a unit: stored events and charges, in one order."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Select,
    func,
    insert,
    select,
    union_all,
)

from ostraka.guardian.ledger.reader import View
from ostraka.guardian.ledger.store.amounts import add
from ostraka.guardian.ledger.store.schema import batches, charges, evaluations, unit_events
from ostraka.guardian.ledger.store.values import UnitEvent, UnitKey
from ostraka.guardian.ledger.transaction import Transaction
from ostraka.guardian.ledger.units import units
from ostraka.guardian.ledger.units.units import UnitRow

RESTATED = ("inherited", "recosted", "renewed")
"""Events that change a unit's spending other than by a charge."""


def add_events(
    tx: Transaction,
    kind: str,
    rows: Iterable[UnitRow],
    reason: str = "",
    *,
    entry: int = 0,
    votes: int | None = None,
) -> None:
    """Store an event of units, whose `rows` have their values afterwards.

    Args:
        tx: a transaction in which the units are locked.
        kind: as `UnitEvent.kind`.
        rows: the units.
        reason: an administrator's, or the kind's own text.
        entry: for RESTATED kinds the last entry before.
        votes: the votes of one person that a recosting used.
    """
    values = [
        {
            "unit": row.id,
            "time_unix_ms": tx.now_ms,
            "kind": kind,
            "epsilon": row.epsilon,
            "spent": row.spent,
            "reason": reason,
            "entry": entry,
            "votes": votes,
        }
        for row in rows
    ]
    if values:
        tx.connection.execute(insert(unit_events), values)


def events_of(view: View, key: UnitKey) -> list[UnitEvent]:
    """Return a unit's events, including charges, oldest first.

    Raises:
        OstrakaError: `budget.missing`.
    """
    unit = units.require(view.connection, [key], lock=False)[key].id
    return list(_merge(_events(view.connection, unit), deque(_charges(view.connection, unit))))


def _events(connection: Connection, unit: int) -> list[UnitEvent]:
    rows = connection.execute(
        select(unit_events).where(unit_events.c.unit == unit).order_by(unit_events.c.id)
    )
    return [UnitEvent(row.time_unix_ms, row.kind, row.epsilon, row.spent, row.reason) for row in rows]


def _charges(connection: Connection, unit: int) -> list[UnitEvent]:
    """Charges; the `spent` of each is its own cost.

    A batch has one for its check, then one for the rest at its release, or at its death after its party had
    evaluated it.
    """
    checked = func.coalesce(charges.c.checked, 0)
    same = (evaluations.c.batch == charges.c.entry) & (evaluations.c.unit == charges.c.unit)
    died = _parts(unit, evaluations.c.charged_unix_ms, charges.c.worst_case - checked)
    parts = union_all(
        _parts(unit, batches.c.checked_unix_ms, checked),
        _parts(unit, batches.c.released_unix_ms, charges.c.worst_case - checked),
        died.join(evaluations, same).where(batches.c.state == "dead"),
    ).subquery()
    statement = select(parts).where(parts.c.amount > 0).order_by(parts.c.time, parts.c.row)
    return [
        UnitEvent(row.time, "charged", 0.0, row.amount, "", row.session_id, row.batch_id)
        for row in connection.execute(statement)
    ]


def _parts(unit: int, time: Column[int], amount: ColumnElement[int]) -> Select[Any]:
    return (
        select(batches.c.session_id, batches.c.batch_id, batches.c.id.label("row"))
        .add_columns(time.label("time"), amount.label("amount"))
        .join(charges, charges.c.entry == batches.c.id)
        .where(charges.c.unit == unit, time.is_not(None))
    )


def _merge(events: list[UnitEvent], charges: deque[UnitEvent]) -> Iterator[UnitEvent]:
    """Yield both by time; at equal times an event follows the charges that its `spent` includes."""
    epsilon = 0.0
    spent = 0
    for event in events:
        while charges and (
            charges[0].time_unix_ms < event.time_unix_ms
            or (charges[0].time_unix_ms == event.time_unix_ms and spent < event.spent)
        ):
            charge = charges.popleft()
            spent = add(spent, charge.spent)
            yield replace(charge, epsilon=epsilon, spent=spent)
        epsilon = event.epsilon
        spent = event.spent
        yield event
    for charge in charges:
        spent = add(spent, charge.spent)
        yield replace(charge, epsilon=epsilon, spent=spent)
