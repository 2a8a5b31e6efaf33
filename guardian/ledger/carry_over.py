"""Spending carried over when records move between units.

The ledger knows groups, not records. A party that trains its teachers again may give a group another name,
split it or join it with others, and its records have spent what they have spent. So a unit that is made, or
whose group enters the party's manifest, takes over the largest spending of the party's other units, with
what is reserved. Renyi divergence grows with its order: what was spent at an order holds at every smaller
one. At a larger one the party's batches are costed again (`ostraka.guardian.ledger.repricing`;
docs/budgets.md).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from sqlalchemy import Connection

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.guardian.ledger import history, units
from ostraka.guardian.ledger.amounts import add
from ostraka.guardian.ledger.label_charges import labels_alone
from ostraka.guardian.ledger.repricing import spent_at
from ostraka.guardian.ledger.transaction import Transaction
from ostraka.guardian.ledger.units import UnitRow
from ostraka.guardian.ledger.values import UnitKey

_Units = Mapping[UnitKey, UnitRow]


class _Heir(NamedTuple):
    """A unit's row, and the amounts that it has from now on."""

    row: UnitRow
    spent: int
    spent_before: int
    data_dependent: int
    breaks: bool

    @property
    def gained(self) -> bool:
        """Whether its worst-case amounts change, which depend on no vote."""
        return (self.spent, self.spent_before) != (self.row.spent, self.row.spent_before)


def check_order(connection: Connection, key: UnitKey, order: float, known: _Units) -> None:
    """Raise `message.invalid` for an order at which what a new unit takes over cannot be told.

    `known` are its party's units.
    """
    used = [budget for budget in map(units.budget, _sources(key, known)) if budget.used]
    most = min((budget.order for budget in used), default=order)
    if order > most and spent_at(connection, key.party, key.adjacency, order) is None:
        raise OstrakaError(
            ErrorCode.MESSAGE_INVALID,
            f"Records of {key.party} have spent at order {most:g}, and what that is at order {order:g} nobody"
            f" knows; give {key} an order of at most {most:g}.",
        )


def inherit(tx: Transaction, party: str, keys: Collection[UnitKey]) -> None:
    """Let those of `keys` that are units of `party` take over what its other units have spent.

    A unit counts as broken from then on if one of these did or promised less.
    """
    for adjacency in ("record", "label"):
        heirs = {key for key in keys if key.adjacency == adjacency}
        if heirs:
            known = units.of_party(tx.connection, party)
            found = [(row, _sources(key, known)) for key, row in known.items() if key in heirs]
            _take_over(tx, [_heir(tx, row, sources) for row, sources in found if sources])


def _sources(key: UnitKey, known: _Units) -> list[UnitRow]:
    """Units that a unit's records may have been charged to. A label's unit has the record's own for that."""
    others = {other: row for other, row in known.items() if other != key}
    own = key._replace(adjacency="record")
    if key.adjacency == "record":
        return [row for other, row in others.items() if other.adjacency == "record"]
    if own in others:
        return [row for other, row in others.items() if other == own or other.adjacency == "label"]
    return list(others.values())


def _heir(tx: Transaction, row: UnitRow, sources: Collection[UnitRow]) -> _Heir:
    """Return the heir of all its sources; if their spending at its order is unknown, it has nothing left."""
    here: int | None = 0
    if any(units.budget(source).used and source.renyi_order < row.renyi_order for source in sources):
        here = spent_at(tx.connection, row.party, row.adjacency, row.renyi_order)
    total = units.data_dependent_total(tx.cipher, row)
    heir = _Heir(row, row.spent, row.spent_before, total, breaks=here is None)
    known = max(row.spent, row.budget) if here is None else here
    for source in sources:
        if source.adjacency == row.adjacency:
            heir = _after(tx, heir, source, known)
    alone = _alone(tx, heir)
    for source in sources:
        if source.adjacency != row.adjacency:
            heir = _after(tx, heir, source, known, alone)
    return heir


def _alone(tx: Transaction, heir: _Heir) -> int:
    """Return what labels were charged and records were not; the heir has all that other labels spent."""
    row = heir.row
    if row.adjacency == "record" or not heir.spent:
        return 0
    found = labels_alone(tx.connection, row.party, row.renyi_order)
    return heir.spent if found is None else min(heir.spent, found)


def _after(tx: Transaction, heir: _Heir, source: UnitRow, here: int, alone: int = 0) -> _Heir:
    """Return the heir of one more source; for smaller orders, `here` is what all have spent at the heir's.

    To a source of records comes what labels `alone` were charged.
    """
    row, budget = heir.row, units.budget(source)
    spent = add(add(source.spent, source.reserved), alone)
    total = add(units.data_dependent_total(tx.cipher, source), alone)
    if source.renyi_order < row.renyi_order:
        spent = here
        total = max(here, row.budget) if units.is_exhausted(tx.cipher, source) else here
    less = budget.used and (budget.broken_unix_ms is not None or budget.epsilon < row.epsilon)
    return _Heir(
        row,
        max(heir.spent, spent),
        max(heir.spent_before, source.spent_before),
        max(heir.data_dependent, total),
        heir.breaks or less,
    )


def _take_over(tx: Transaction, heirs: Collection[_Heir]) -> None:
    """Store what changed. Data-dependent totals leave no trace in the log."""
    units.store(tx, [_values(tx, heir) for heir in heirs])
    gained = [heir for heir in heirs if heir.gained]
    if not gained:
        return
    keys = [units.key_of(heir.row) for heir in gained]
    tx.record(
        "spending_inherited",
        units=[
            [*key, heir.spent, heir.spent_before, heir.breaks] for key, heir in zip(keys, gained, strict=True)
        ],
    )
    history.add_events(tx, "inherited", units.find(tx.connection, keys).values())


def _values(tx: Transaction, heir: _Heir) -> dict[str, object]:
    row = heir.row
    breaks = heir.gained and heir.breaks and row.broken_unix_ms is None
    beyond = units.overdrawn(heir.spent + row.reserved, row.budget) if heir.gained else 0
    return {
        "unit": row.id,
        "spent": heir.spent,
        "spent_before": heir.spent_before,
        "overdrawn_to": max(row.overdrawn_to, beyond),
        "data_dependent": units.seal(
            tx.cipher, units.key_of(row), heir.data_dependent, heir.spent_before, heir.spent
        ),
        "broken_unix_ms": tx.now_ms if breaks else row.broken_unix_ms,
    }
