"""Recosting of past spending after a party learned that one person has more votes in a query.

Charges were computed from the votes that the party's manifest declared then. A larger number corrects a
mistake: what was released before cost such a person more, so that units take over what all their entries cost
at worst with that many votes. Where nobody knows what that is, or it is beyond the budget, the unit no longer
holds what it promised, and says so.
"""

from __future__ import annotations

from sqlalchemy import Connection, select

from ostraka.guardian.ledger.store.amounts import overdrawn
from ostraka.guardian.ledger.store.schema import batches
from ostraka.guardian.ledger.transaction import Transaction
from ostraka.guardian.ledger.units import entries, history, units
from ostraka.guardian.ledger.units.repricing import spending
from ostraka.guardian.ledger.units.units import UnitRow


def recost(tx: Transaction, party: str, votes: int) -> None:
    """Cost what the used units of `party` have spent again, for `votes` of one person in a query.

    A unit that only batches under way may still charge counts as used.
    """
    under_way = _is_under_way(tx.connection)
    rows = [
        row
        for row in units.of_party(tx.connection, party).values()
        if units.budget(row).used or (under_way and row.enforce == "data_dependent")
    ]
    if not rows:
        return
    before = entries.last(tx.connection)
    changes = [_change(tx, row, votes) for row in rows]
    units.store(tx, changes)
    tx.record(
        "votes_raised",
        site=party,
        votes=votes,
        entry=before,
        units=[
            [*units.key_of(row), change["spent"], change["broken_unix_ms"] is not None]
            for row, change in zip(rows, changes, strict=True)
        ],
    )
    found = units.find(tx.connection, map(units.key_of, rows))
    history.add_events(tx, "recosted", found.values(), reason(votes), entry=before, votes=votes)


def reason(votes: int) -> str:
    """Return what a unit's history says of the recosting."""
    return f"{votes} votes a person"


def _is_under_way(connection: Connection) -> bool:
    """Whether there is a batch that may still be released."""
    return (
        connection.execute(select(batches.c.id).where(batches.c.state == "ticketed").limit(1)).first()
        is not None
    )


def _change(tx: Transaction, row: UnitRow, votes: int) -> dict[str, object]:
    """Return a unit's values. A data-dependent cost cannot be computed again: its votes are gone."""
    here = spending(tx.connection, row.party, row.adjacency, row.renyi_order, votes)
    spent = max(row.spent, here.at_least)
    known = here.complete and not row.spent_before and row.enforce == "worst_case"
    broken = row.broken_unix_ms
    if broken is None and not (known and spent + row.reserved <= row.budget):
        broken = tx.now_ms
    total = units.data_dependent_total(tx.cipher, row)
    if row.enforce == "worst_case":
        total = max(total, spent)
    return {
        "unit": row.id,
        "spent": spent,
        "overdrawn_to": max(row.overdrawn_to, overdrawn(spent + row.reserved, row.budget)),
        "data_dependent": units.seal(tx.cipher, units.key_of(row), total, row.spent_before, spent),
        "broken_unix_ms": broken,
    }
