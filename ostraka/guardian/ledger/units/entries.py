"""Entries: everything that units are charged for, of every kind, in one order.

A kind of release adds its entries here, and stores who pays in the table of charges. It registers in
`repricing.RULES` what it costs at another Renyi order or with more votes per person. Everything else
(inheritance, listings, labels' own charges) is independent of the kind.
"""

from __future__ import annotations

from sqlalchemy import Connection, insert, select

from ostraka.guardian.ledger.store.schema import entries
from ostraka.guardian.ledger.transaction import Transaction

_LAST = select(entries.c.id).order_by(entries.c.id.desc()).limit(1)


def add(tx: Transaction, kind: str) -> int:
    """Store an entry and return its id. The caller has locked the units that it is charged to."""
    return add_all(tx, kind, 1)[0]


def add_all(tx: Transaction, kind: str, count: int) -> list[int]:
    """As `add`, for `count` entries at once."""
    rows = [{"kind": kind, "time_unix_ms": tx.now_ms}] * count
    new = insert(entries).returning(entries.c.id, sort_by_parameter_order=True)
    return [int(found) for found in tx.connection.execute(new, rows).scalars()]


def last(connection: Connection) -> int:
    """Return the id of the last entry, 0 for none."""
    return int(connection.execute(_LAST).scalar() or 0)
