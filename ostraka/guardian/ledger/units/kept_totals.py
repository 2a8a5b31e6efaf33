"""Stored, sealed totals of votes, from which an epsilon is published by smooth sensitivity."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, ScalarSelect, Select, case, func, select

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.guardian.accounting.smooth_noise import DISTANCES, VoteTotal
from ostraka.guardian.ledger.reader import View
from ostraka.guardian.ledger.store.schema import (
    batches,
    charges,
    entries,
    publications,
    unit_events,
)
from ostraka.guardian.ledger.store.schema import units as unit_table
from ostraka.guardian.ledger.store.values import Budget, UnitKey
from ostraka.guardian.ledger.units import carry_over, history, repricing, units
from ostraka.guardian.ledger.units.repricing import Raises

_BATCHES_AT_ONCE = 5000
"""Batches that one statement names; SQLite's limit is 32,766 parameters."""


@dataclass(frozen=True)
class UnitTotal:
    """A unit's spending if its stored batches cost what theorem6 says, and the data for publishing it.

    Attributes:
        budget: the unit's.
        state: identifies this total and the earlier publications; equal for units that share both.
        votes: identifies the total alone.
        worst: the worst-case spending, in amounts, without publications.
        published: the cost of earlier publications of other totals, in amounts.
        batches: number of stored batches.
        payers: units with votes in these batches, including the unit, and units that took over their
            spending.
        influence: by party of the payers, the number of votes of one person that the total's changes are for;
            None if unknown.
        spent: the total, in amounts; confidential, as are `changes`.
        changes: by one record of any unit, in amounts by distance, as `VoteTotal.changes`.
    """

    budget: Budget
    state: str
    votes: str
    worst: int
    published: int
    batches: int
    payers: tuple[Budget, ...]
    influence: Mapping[str, int | None]
    spent: int = field(repr=False)
    changes: tuple[int, ...] = field(repr=False)


def seal_context(session_id: str, batch_id: int, key: UnitKey) -> tuple[str | int, ...]:
    """Return the context to which the encrypted total of a batch and unit is bound."""
    return ("votes", session_id, batch_id, *key)


def total_of(view: View, key: UnitKey) -> UnitTotal:
    """Return what can be published about a unit.

    Raises:
        OstrakaError: `budget.missing`, `budget.nothing_kept`, `ledger.tampered` if the key does not open a
            total.
        ValueError: the ledger was opened without its cipher.
    """
    row = units.require(view.connection, [key], lock=False)[key]
    kept = _sum_kept(view, row, repricing.all_raises(view.connection))
    if not kept.rows:
        was_kept = kept.overtaken or _has_earlier(view.connection, row)
        raise _all_overtaken(key) if was_kept else _nothing(key)
    name = _name(view, row, kept)
    shares = _shares(view.connection, kept.rows)
    return UnitTotal(
        budget=units.budget(row),
        state=name.state,
        votes=name.votes,
        worst=name.worst,
        published=name.published,
        batches=len(kept.rows),
        payers=_payers(view, shares),
        influence=_influence(shares),
        spent=max(0, name.worst - kept.saved),
        changes=tuple(kept.changes),
    )


def alike(view: View, total: UnitTotal) -> set[UnitKey]:
    """Return the payers of a total that share it: the same batches at the same cost, whatever the votes.

    Raises as `total_of`.
    """
    raised = repricing.all_raises(view.connection)
    budget = total.budget
    found = units.find(view.connection, [payer.key for payer in total.payers], lock=False)
    return {
        key
        for key, row in found.items()
        if (row.renyi_order, row.delta, row.spent) == (budget.order, budget.delta, budget.spent)
        and _name(view, row, _sum_kept(view, row, raised)).state == total.state
    }


class _Name(NamedTuple):
    """The identifiers of a total, and of the total with earlier publications; and the amounts of both."""

    votes: str
    state: str
    worst: int
    published: int


def _name(view: View, row: units.UnitRow, kept: _Kept) -> _Name:
    worst = row.spent - _publication_costs(view, row, publications.c.id.is_not(None))
    votes = kept.digest(row, worst)
    published = _publication_costs(view, row, publications.c.votes != votes)
    state = hashlib.sha256(f"{votes} {published}".encode()).hexdigest()
    return _Name(votes, state, worst, published)


def _sum_kept(view: View, row: units.UnitRow, raised: Mapping[str, Raises]) -> _Kept:
    key = units.key_of(row)
    found = view.connection.execute(_batches_kept(row)).all()
    kept = _Kept(row.renyi_order, _overtaken(view.connection, [one.id for one in found], raised))
    for one in found:
        if one.id not in kept.overtaken:
            bound = seal_context(one.session_id, one.batch_id, key)
            plain = view.require_cipher().unseal_bytes(one.vote_total, *bound)
            kept.add(one, VoteTotal.from_bytes(plain))
    return kept


class _Kept:
    """Adds up the totals of a unit with one order; totals at another order count with their worst case."""

    def __init__(self, order: float, overtaken: set[int]) -> None:
        self._order = order
        self.overtaken = overtaken
        self.rows: list[int] = []
        self.saved = 0
        self.changes = [0] * DISTANCES
        self._kinds: list[tuple[str, int, str]] = []

    def add(self, row: units.UnitRow, total: VoteTotal) -> None:
        """Add a batch's total, unless it says no more than the worst case."""
        if total.order != self._order or not any(total.kind):
            return
        self.rows.append(row.id)
        self.saved += row.worst_case - min(total.spent, row.worst_case)
        self.changes = [sum(pair) for pair in zip(self.changes, total.changes, strict=True)]
        self._kinds.append((row.session_id, row.batch_id, total.kind.hex()))

    def digest(self, row: units.UnitRow, worst: int) -> str:
        """Return the total's identifier; it does not depend on votes."""
        terms = [row.renyi_order, row.delta, worst, self._kinds]
        return hashlib.sha256(json.dumps(terms).encode()).hexdigest()


def _batches_kept(row: units.UnitRow) -> Select[Any]:
    """Select a unit's released batches with stored totals that came after its last restatement.

    Earlier totals say nothing about the unit's spending since, nor do totals of batches then under way: those
    batches count with their worst case.
    """
    return (
        select(batches.c.id, batches.c.session_id, batches.c.batch_id)
        .add_columns(charges.c.worst_case, charges.c.vote_total)
        .join(charges, charges.c.entry == batches.c.id)
        .where(charges.c.unit == row.id, charges.c.vote_total.is_not(None))
        .where(batches.c.state == "released", batches.c.id > _last_restatement(row))
        .order_by(batches.c.id)
    )


def _has_earlier(connection: Connection, row: units.UnitRow) -> bool:
    """Whether totals of a unit were stored before its last restatement."""
    kept = select(charges.c.entry).where(charges.c.unit == row.id, charges.c.vote_total.is_not(None))
    return (
        connection.execute(kept.where(charges.c.entry <= _last_restatement(row)).limit(1)).first() is not None
    )


def _last_restatement(row: units.UnitRow) -> ScalarSelect[Any]:
    """Select the entry of a unit's last restatement; 0: none."""
    last = select(func.coalesce(func.max(unit_events.c.entry), 0)).where(
        unit_events.c.unit == row.id, unit_events.c.kind.in_(history.RESTATED)
    )
    return last.scalar_subquery()


def _overtaken(connection: Connection, rows: Sequence[int], raised: Mapping[str, Raises]) -> set[int]:
    """Return the batches with a party that has since declared more votes of one person than they assume.

    They are excluded whoever publishes: one record's effect on their totals was computed for all voters.
    """
    later = sorted(party for party, each in raised.items() if rows and each.last >= rows[0])
    if not later:
        return set()
    statement = (
        select(charges.c.entry, unit_table.c.party, charges.c.votes)
        .join(unit_table, unit_table.c.id == charges.c.unit)
        .where(unit_table.c.party.in_(later))
    )
    return {
        row.entry
        for part in _parts(rows)
        for row in connection.execute(statement.where(charges.c.entry.in_(part)))
        if raised[row.party].since(row.entry, row.votes or 0) > (row.votes or 0)
    }


def _publication_costs(view: View, row: units.UnitRow, which: ColumnElement[bool]) -> int:
    """Return the cost of a unit's publications in its budget's present period."""
    renewed = select(func.coalesce(func.max(unit_events.c.entry), 0)).where(
        unit_events.c.unit == row.id, unit_events.c.kind == "renewed"
    )
    statement = (
        select(func.coalesce(func.sum(charges.c.worst_case), 0))
        .select_from(charges)
        .join(publications, publications.c.id == charges.c.entry)
        .join(entries, entries.c.id == charges.c.entry)
        .where(charges.c.unit == row.id, which)
        .where(entries.c.time_unix_ms >= row.period_started_unix_ms, entries.c.id > renewed.scalar_subquery())
    )
    return int(view.connection.execute(statement).scalar_one())


class _Share(NamedTuple):
    """A unit's part of stored batches: the first batch, and the fewest votes of one person, if known."""

    first: int
    votes: int | None


def _shares(connection: Connection, rows: Sequence[int]) -> dict[UnitKey, _Share]:
    """Return the units that were charged for one of these batches."""
    known = case((func.count() == func.count(charges.c.votes), func.min(charges.c.votes)))
    key = (unit_table.c.party, unit_table.c.group_name, unit_table.c.adjacency)
    statement: Select[Any] = (
        select(*key, func.min(charges.c.entry).label("first"), known.label("votes"))
        .join(unit_table, unit_table.c.id == charges.c.unit)
        .where(charges.c.worst_case > 0)
        .group_by(*key)
    )
    found: dict[UnitKey, _Share] = {}
    for part in _parts(rows):
        for row in connection.execute(statement.where(charges.c.entry.in_(part))):
            unit = units.key_of(row)
            share = _Share(row.first, row.votes)
            found[unit] = _join(found[unit], share) if unit in found else share
    return found


def _join(one: _Share, other: _Share) -> _Share:
    both = None if one.votes is None or other.votes is None else min(one.votes, other.votes)
    return _Share(min(one.first, other.first), both)


def _payers(view: View, shares: Mapping[UnitKey, _Share]) -> tuple[Budget, ...]:
    """Return the budgets of units with such shares and of units that took over their spending, in order."""
    heirs = carry_over.heirs_of(view.connection, {key: share.first for key, share in shares.items()})
    found = units.find(view.connection, {*shares, *heirs}, lock=False)
    return tuple(map(units.budget, found.values()))


def _influence(shares: Mapping[UnitKey, _Share]) -> dict[str, int | None]:
    """Return the number of votes of one person that each party's shares are for."""
    found: dict[str, _Share] = {}
    for key, share in shares.items():
        found[key.party] = _join(found[key.party], share) if key.party in found else share
    return {party: share.votes for party, share in found.items()}


def _parts(rows: Sequence[int]) -> Iterator[Sequence[int]]:
    """Yield parts as large as one statement takes."""
    return (rows[start : start + _BATCHES_AT_ONCE] for start in range(0, len(rows), _BATCHES_AT_ONCE))


def _all_overtaken(key: UnitKey) -> OstrakaError:
    return OstrakaError(
        ErrorCode.BUDGET_NOTHING_KEPT,
        f"What was kept of the votes of {key} holds no more since spending was restated, as when a party that"
        " voted registers more votes of one person; ask again twenty minutes after later releases.",
    )


def _nothing(key: UnitKey) -> OstrakaError:
    return OstrakaError(
        ErrorCode.BUDGET_NOTHING_KEPT,
        f"Nothing was kept of what the votes of {key} cost; apply a policy with bound = 'theorem6', and ask"
        " again twenty minutes after releases of gnmax, confident, lnmax, binary, tau, l1 or powerset in"
        " sessions that open from then on.",
    )
