"""Recosting of past spending after a party learned that one person has more votes in a query.

Charges were computed from the votes that the party's manifest declared then. A larger number corrects a
mistake: what was released before cost such a person more, so that units take over what all their batches cost
at worst with that many votes. Where nobody knows what that is, or it is beyond the budget, the unit no longer
holds what it promised, and says so.
"""

from __future__ import annotations

from sqlalchemy import select

from ostraka.guardian.ledger import history, units
from ostraka.guardian.ledger.repricing import spent_at
from ostraka.guardian.ledger.schema import units as unit_table
from ostraka.guardian.ledger.transaction import Transaction
from ostraka.guardian.ledger.units import UnitRow


def recost(tx: Transaction, party: str, votes: int) -> None:
    """Cost what the used units of `party` have spent again, for `votes` of one person in a query."""
    statement = select(unit_table).where(unit_table.c.party == party).order_by(unit_table.c.id)
    rows = [
        row
        for row in tx.connection.execute(statement.with_for_update()).all()
        if units.budget(row).used and units.budget(row).spent + row.spent_before
    ]
    if not rows:
        return
    changes = [_change(tx, row, votes) for row in rows]
    units.store(tx, changes)
    tx.record(
        "votes_raised",
        site=party,
        votes=votes,
        units=[
            [*units.key_of(row), change["spent"], change["broken_unix_ms"] is not None]
            for row, change in zip(rows, changes, strict=True)
        ],
    )
    found = units.find(tx.connection, map(units.key_of, rows))
    history.add_events(tx, "recosted", found.values(), reason(votes))


def reason(votes: int) -> str:
    """Return what a unit's history says of the recosting."""
    return f"{votes} votes a person"


def _change(tx: Transaction, row: UnitRow, votes: int) -> dict[str, object]:
    """Return a unit's values. A data-dependent cost cannot be computed again: its votes are gone."""
    here = spent_at(tx.connection, row.party, row.adjacency, row.renyi_order, votes)
    spent = max(row.spent, here or 0)
    known = here is not None and not row.spent_before and row.enforce == "worst_case"
    broken = row.broken_unix_ms
    if broken is None and not (known and spent + row.reserved <= row.budget):
        broken = tx.now_ms
    total = units.data_dependent_total(tx.cipher, row)
    if row.enforce == "worst_case":
        total = max(total, spent)
    return {
        "unit": row.id,
        "spent": spent,
        "overdrawn_to": max(row.overdrawn_to, units.overdrawn(spent + row.reserved, row.budget)),
        "data_dependent": units.seal(tx.cipher, units.key_of(row), total, row.spent_before, spent),
        "broken_unix_ms": broken,
    }
