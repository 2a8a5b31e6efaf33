"""Totals of votes as they are kept, sealed, from which an epsilon is published by smooth sensitivity."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, Select, func, select

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.guardian.accounting.vote_total import DISTANCES, VoteTotal
from ostraka.guardian.ledger import units
from ostraka.guardian.ledger.schema import (
    batches,
    charges,
    publication_charges,
    publications,
    unit_events,
)
from ostraka.guardian.ledger.schema import units as unit_table
from ostraka.guardian.ledger.values import Budget, UnitKey
from ostraka.guardian.ledger.view import View

RESTATED = ("inherited", "recosted", "renewed")
"""Events that change what a unit has spent otherwise than by adding a charge. What was kept before them tells
nothing of what it has spent since: those batches count at worst."""
_AT_ONCE = 5000


@dataclass(frozen=True)
class UnitTotal:
    """What a unit has spent if its kept batches cost what theorem6 says, and what it is published with.

    Attributes:
        budget: the unit's.
        state: names this total and what was published before; equal for units that share both.
        votes: names the total alone.
        worst: what was spent in the worst case, in amounts, without publications.
        published: what earlier publications of other totals cost, in amounts.
        batches: how many are kept.
        payers: units with votes in these, the unit among them.
        spent: the total, in amounts; confidential, as `changes` are.
        changes: by one record of any unit, in amounts by distance, as `VoteTotal.changes`.
    """

    budget: Budget
    state: str
    votes: str
    worst: int
    published: int
    batches: int
    payers: tuple[Budget, ...]
    spent: int = field(repr=False)
    changes: tuple[int, ...] = field(repr=False)


def sealed_row(session_id: str, batch_id: int, key: UnitKey) -> tuple[str | int, ...]:
    """Return what the encrypted total of a batch and unit is bound to."""
    return ("votes", session_id, batch_id, *key)


def total_of(view: View, key: UnitKey) -> UnitTotal:
    """Return what can be published of a unit.

    Raises:
        OstrakaError: `budget.missing`, `budget.nothing_kept`, `ledger.tampered` where the key does not open a
            total.
        ValueError: the ledger was opened without its cipher.
    """
    row = units.require(view.connection, [key], lock=False)[key]
    budget, kept = units.budget(row), _Kept(row.renyi_order)
    for found in view.connection.execute(_kept_of(row)):
        bound = sealed_row(found.session_id, found.batch_id, key)
        total = VoteTotal.from_bytes(view.require_cipher().unseal_bytes(found.vote_total, *bound))
        kept.add(found, total)
    if not kept.rows:
        raise _nothing(key)
    worst = budget.spent - _published(view, row, publications.c.id.is_not(None))
    votes = kept.digest(budget, worst)
    published = _published(view, row, publications.c.votes != votes)
    return UnitTotal(
        budget=budget,
        state=hashlib.sha256(f"{votes} {published}".encode()).hexdigest(),
        votes=votes,
        worst=worst,
        published=published,
        batches=len(kept.rows),
        payers=_payers(view, kept.rows),
        spent=max(0, worst - kept.saved),
        changes=tuple(kept.changes),
    )


class _Kept:
    """Adds up the totals of a unit whose budget has one order; those at another count at worst."""

    def __init__(self, order: float) -> None:
        self._order = order
        self.rows: list[int] = []
        self.saved = 0
        self.changes = [0] * DISTANCES
        self._kinds: list[tuple[str, int, str]] = []

    def add(self, row: units.UnitRow, total: VoteTotal) -> None:
        """Add a batch's total, unless it says no more than the worst case does."""
        if total.order != self._order or not any(total.kind):
            return
        self.rows.append(row.id)
        self.saved += row.worst_case - min(total.spent, row.worst_case)
        self.changes = [sum(pair) for pair in zip(self.changes, total.changes, strict=True)]
        self._kinds.append((row.session_id, row.batch_id, total.kind.hex()))

    def digest(self, budget: Budget, worst: int) -> str:
        """Return what names the total; nothing that votes decide is in it."""
        terms = [budget.order, budget.delta, worst, self._kinds]
        return hashlib.sha256(json.dumps(terms).encode()).hexdigest()


def _kept_of(row: units.UnitRow) -> Select[Any]:
    """Select the released batches of a unit that are kept, since what it has spent was last restated."""
    restated = select(func.coalesce(func.max(unit_events.c.time_unix_ms), -1)).where(
        unit_events.c.unit == row.id, unit_events.c.kind.in_(RESTATED)
    )
    return (
        select(batches.c.id, batches.c.session_id, batches.c.batch_id)
        .add_columns(charges.c.worst_case, charges.c.vote_total)
        .join(charges, charges.c.batch == batches.c.id)
        .where(charges.c.unit == row.id, charges.c.vote_total.is_not(None))
        .where(batches.c.released_unix_ms > restated.scalar_subquery())
        .order_by(batches.c.id)
    )


def _published(view: View, row: units.UnitRow, which: ColumnElement[bool]) -> int:
    """Return what publications have cost a unit in the period that its budget is in."""
    statement = (
        select(func.coalesce(func.sum(publication_charges.c.worst_case), 0))
        .join(publications, publications.c.id == publication_charges.c.publication)
        .where(publication_charges.c.unit == row.id, which)
        .where(publications.c.time_unix_ms >= row.period_started_unix_ms)
    )
    return int(view.connection.execute(statement).scalar_one())


def _payers(view: View, rows: list[int]) -> tuple[Budget, ...]:
    """Return the budgets of all units that were charged for one of these batches, in unit order."""
    found: dict[UnitKey, Budget] = {}
    statement = select(unit_table).join(charges, charges.c.unit == unit_table.c.id).distinct()
    for start in range(0, len(rows), _AT_ONCE):
        part = statement.where(charges.c.batch.in_(rows[start : start + _AT_ONCE]), charges.c.worst_case > 0)
        found |= {units.key_of(row): units.budget(row) for row in view.connection.execute(part)}
    return tuple(found[key] for key in sorted(found))


def _nothing(key: UnitKey) -> OstrakaError:
    return OstrakaError(
        ErrorCode.BUDGET_NOTHING_KEPT,
        f"Nothing was kept of what the votes of {key} cost; apply a policy with bound = 'theorem6', and ask"
        " again twenty minutes after releases of gnmax or confident in sessions that open from then on.",
    )
