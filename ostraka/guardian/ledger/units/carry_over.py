"""Spending that is carried over when records move between units.

The ledger knows groups, not records. A party that trains its teachers again may rename, split or join groups,
but its records keep their spending. So a new unit, or one whose group enters the party's manifest, takes over
the largest spending of the party's other units, including reservations. Renyi divergence grows with its
order: spending at an order is an upper bound at every smaller order. For a larger order, or another filter,
the party's batches are costed again (`ostraka.guardian.ledger.units.repricing`; docs/budgets.md).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from sqlalchemy import Connection, bindparam, case, func, select

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.privacy.filters import filter_text, holds_at
from ostraka.guardian.ledger.store.amounts import add, overdrawn
from ostraka.guardian.ledger.store.schema import batches, charges, unit_events
from ostraka.guardian.ledger.store.schema import units as unit_table
from ostraka.guardian.ledger.store.values import UnitKey
from ostraka.guardian.ledger.transaction import Transaction
from ostraka.guardian.ledger.units import entries, history, units
from ostraka.guardian.ledger.units.repricing import Raises, spent_at, under_way_at
from ostraka.guardian.ledger.units.units import UnitRow

_Units = Mapping[UnitKey, UnitRow]
_TOOK_OVER = (
    select(unit_table.c.party, unit_table.c.group_name, unit_table.c.adjacency)
    .add_columns(func.max(unit_events.c.entry).label("last"))
    .join(unit_events, unit_events.c.unit == unit_table.c.id)
    .where(unit_table.c.party.in_(bindparam("parties", expanding=True)))
    .where(unit_events.c.kind == "inherited", unit_events.c.entry >= bindparam("entry"))
    .group_by(unit_table.c.party, unit_table.c.group_name, unit_table.c.adjacency)
)
"""Units of parties that took over spending, and the last entry before their last takeover."""


class _Heir(NamedTuple):
    """A unit's row, and its new amounts.

    `takes` is whether there is anything to take over, even if only the cost of a batch under way; `less`
    whether another unit had a smaller epsilon, and `broken` whether its records' spending is unknown.
    """

    row: UnitRow
    spent: int
    spent_before: int
    data_dependent: int
    less: bool
    broken: bool
    takes: bool

    @property
    def gained(self) -> bool:
        """Whether its worst-case amounts change, which do not depend on votes."""
        return (self.spent, self.spent_before) != (self.row.spent, self.row.spent_before)

    @property
    def breaks(self) -> bool:
        """Whether its guarantee no longer covers its records' lifetime."""
        return self.broken or (self.less and self.gained)


def check_order(connection: Connection, key: UnitKey, order: float, known: _Units) -> None:
    """Raise `message.invalid` for an order at which a new unit's inherited spending is unknown.

    `known` are its party's units.
    """
    sources = sources_of(key, known)
    under_way = _under_way(connection, key, order, sources)
    used = [source.renyi_order for source in sources if _has_spent(source, under_way)]
    others = {charged for charged in used if not holds_at(charged, order)}
    if others and spent_at(connection, key.party, key.adjacency, order) is None:
        least = filter_text(min(others))
        raise OstrakaError(
            ErrorCode.MESSAGE_INVALID,
            f"Records of {key.party} have spent under the filter {least}, and what that is under"
            f" {filter_text(order)} nobody knows; give {key} the filter {least}.",
        )


def inherit(tx: Transaction, party: str, keys: Collection[UnitKey]) -> None:
    """Make the units of `party` among `keys` take over the spending of its other units.

    A unit counts as broken from then on if another unit was broken or had a smaller epsilon.
    """
    for adjacency in ("record", "label"):
        heirs = {key for key in keys if key.adjacency == adjacency}
        if heirs:
            known = units.of_party(tx.connection, party)
            found = [(row, sources_of(key, known)) for key, row in known.items() if key in heirs]
            _take_over(tx, [_heir(tx, row, sources) for row, sources in found if sources])


def sources_of(key: UnitKey, known: _Units) -> list[UnitRow]:
    """Units that a unit's records may have been charged to, for a label's unit also the record's unit."""
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
    under_way = _under_way(tx.connection, units.key_of(row), row.renyi_order, sources)
    paid = [source for source in sources if _has_spent(source, under_way)]
    if not all(_holds(source, row) for source in paid):
        here = spent_at(tx.connection, row.party, row.adjacency, row.renyi_order)
    total = units.data_dependent_total(tx.cipher, row)
    unknown = here is None or under_way is None
    heir = _Heir(row, row.spent, row.spent_before, total, less=False, broken=unknown, takes=bool(paid))
    everything = max(row.spent, row.budget)
    known = everything if here is None else here
    held = everything if under_way is None else under_way
    for source in sources:
        if source.adjacency == row.adjacency:
            heir = _after(tx, heir, source, known, held)
    alone = _alone(tx, heir)
    for source in sources:
        if source.adjacency != row.adjacency:
            heir = _after(tx, heir, source, known, held, alone)
    return heir


def _holds(source: UnitRow, row: UnitRow) -> bool:
    """Whether a source's amounts are upper bounds at the order of an heir's row."""
    return holds_at(source.renyi_order, row.renyi_order)


def _has_spent(source: UnitRow, under_way: int | None) -> bool:
    """Whether a source was ever charged, or will be by batches under way that reserve nothing."""
    return units.budget(source).used or (source.enforce == "data_dependent" and under_way != 0)


def _under_way(connection: Connection, key: UnitKey, order: float, sources: Iterable[UnitRow]) -> int | None:
    """Return the largest cost of batches under way to units that reserve nothing; None: unknown."""
    if all(source.enforce == "worst_case" for source in sources):
        return 0
    return under_way_at(connection, key.party, key.adjacency, order)


def _alone(tx: Transaction, heir: _Heir) -> int:
    """Return what only labels were charged, not records; the heir already has all other labels' spending."""
    row = heir.row
    if row.adjacency == "record" or not heir.spent:
        return 0
    found = labels_alone(tx.connection, row.party, row.renyi_order)
    return heir.spent if found is None else min(heir.spent, found)


def _after(tx: Transaction, heir: _Heir, source: UnitRow, here: int, under_way: int, alone: int = 0) -> _Heir:
    """Return the heir of one more source; if its amounts are no bound, `here` is the spending of all.

    Add the charges of labels `alone` to a source of records, and the cost of batches `under_way` to a source
    that reserves nothing.
    """
    row = heir.row
    budget = units.budget(source)
    held = source.reserved if source.enforce == "worst_case" else under_way
    spent = add(add(source.spent, held), alone)
    total = add(units.data_dependent_total(tx.cipher, source), alone)
    if source.enforce == "data_dependent":
        total = add(total, under_way)
    if not _holds(source, row):
        spent = here
        total = max(here, row.budget) if units.is_exhausted(tx.cipher, source) else here
    return heir._replace(
        spent=max(heir.spent, spent),
        spent_before=max(heir.spent_before, source.spent_before),
        data_dependent=max(heir.data_dependent, total),
        less=heir.less or (budget.used and budget.epsilon < row.epsilon),
        broken=heir.broken or (budget.used and budget.broken_unix_ms is not None),
    )


def _take_over(tx: Transaction, heirs: Collection[_Heir]) -> None:
    """Store what changed. Data-dependent totals leave no trace in the log.

    A unit that has already spent as much is an heir all the same: it pays for publications of earlier votes.
    """
    units.store(tx, [_values(tx, heir) for heir in heirs])
    taking = [heir for heir in heirs if heir.takes]
    if not taking:
        return
    keys = [units.key_of(heir.row) for heir in taking]
    before = entries.last(tx.connection)
    tx.record(
        "spending_inherited",
        entry=before,
        units=[
            [*key, heir.spent, heir.spent_before, heir.breaks] for key, heir in zip(keys, taking, strict=True)
        ],
    )
    history.add_events(tx, "inherited", units.find(tx.connection, keys).values(), entry=before)


def heirs_of(connection: Connection, paid: Mapping[UnitKey, int]) -> set[UnitKey]:
    """Return the units that took over spending from the units in `paid`, after these paid for an entry.

    Args:
        connection: of the ledger.
        paid: by unit, the first entry that it paid for.
    """
    wanted = {"parties": sorted({key.party for key in paid}), "entry": min(paid.values(), default=0)}
    took: dict[str, dict[UnitKey, int]] = defaultdict(dict)
    for row in connection.execute(_TOOK_OVER, wanted):
        took[row.party][units.key_of(row)] = row.last
    found: set[UnitKey] = set()
    for party, last in took.items():
        known = units.of_party(connection, party, lock=False)
        first = {key: entry for key, entry in paid.items() if key.party == party}
        while heirs := {
            key: min(entries)
            for key in last.keys() - first.keys()
            if (entries := _first_entries(first, sources_of(key, known), last[key]))
        }:
            first |= heirs
        found |= first.keys() - paid.keys()
    return found


def _first_entries(first: Mapping[UnitKey, int], sources: Iterable[UnitRow], last: int) -> list[int]:
    """Return the first entries that `sources` had paid for when their spending was taken over."""
    return [first[key] for key in map(units.key_of, sources) if first.get(key, last + 1) <= last]


def _values(tx: Transaction, heir: _Heir) -> dict[str, object]:
    row = heir.row
    breaks = heir.breaks and row.broken_unix_ms is None
    beyond = overdrawn(heir.spent + row.reserved, row.budget) if heir.gained else 0
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


def labels_alone(connection: Connection, party: str, order: float) -> int | None:
    """Return the most that any label of `party` has spent at `order` on entries its record did not pay for.

    Batches under way count with their reservations. Every entry counts by the group that it cost most,
    because records change groups. None means unknown: a label was charged at a smaller order or under another
    filter, or for fewer votes of one person than the party has declared since.
    """
    raises = Raises.of(connection, party)
    held = case((batches.c.state == "ticketed", charges.c.reserved), else_=0)
    amount = (charges.c.worst_case + held).label("amount")
    statement = (
        select(charges.c.entry, charges.c.votes, unit_table.c.adjacency, unit_table.c.renyi_order, amount)
        .join(unit_table, unit_table.c.id == charges.c.unit)
        .outerjoin(batches, batches.c.id == charges.c.entry)
        .where(unit_table.c.party == party)
    )
    by_entry: dict[int, list[Any]] = defaultdict(list)
    for row in connection.execute(statement):
        by_entry[row.entry].append(row)
    total = 0
    for paid in by_entry.values():
        if any(row.adjacency == "record" for row in paid):
            continue
        if any(
            row.amount and (not holds_at(row.renyi_order, order) or _overtaken(raises, row)) for row in paid
        ):
            return None
        total = add(total, max(int(row.amount) for row in paid))
    return total


def _overtaken(raises: Raises, row: Any) -> bool:
    """Whether the party has declared more votes of one person than a charge was computed for."""
    votes = row.votes or 1
    return raises.since(row.entry, votes) > votes
