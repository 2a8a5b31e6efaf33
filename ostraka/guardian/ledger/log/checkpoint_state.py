"""State of a ledger at one row of its audit log, as a checkpoint stores it: what later rows may change.

It contains balances, standings and policies completely, digests of units' events and of manifests, and the
sessions and batches that have not ended. For the rest it contains the number of rows, and the number and sum
of every unit's charges.

It is a JSON object of tables. Each names its columns once and has a list of values for each row. Values are
read by the names of the columns: their order means nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any, Generic, TypeVar

from pydantic import TypeAdapter

from ostraka.guardian.ledger.log import checkpoint_positions
from ostraka.guardian.ledger.log.accounts import Accounts
from ostraka.guardian.ledger.log.replayed_ledger import ReplayedLedger
from ostraka.guardian.ledger.log.rows import (
    Account,
    Batch,
    Evaluation,
    Head,
    Manifests,
    Party,
    Policy,
    PublicationCharge,
    PublishedEpsilon,
    ReceiptCharge,
    Session,
    UnitTotal,
)

FORMAT = 2
"""Increased when another version could misread a state. States of format 1 had no names: the position
identified a value."""
READABLE = (checkpoint_positions.FORMAT, FORMAT)
"""Formats of states that this version reads."""
R = TypeVar("R")


@dataclass(frozen=True)
class OpenCharge:
    """What a batch under way reserved from a unit and has charged, and the unit's spending then."""

    session: str
    batch: int
    party: str
    group: str
    adjacency: str
    reserved: int | None
    checked: int | None
    spent: int | None


@dataclass(frozen=True)
class RowCount:
    """The number of rows of a table that are left out, because nothing changes them any more."""

    table: str
    rows: int


class _Table(Generic[R]):
    """Writes and reads a table of rows of one type, and knows its key columns."""

    def __init__(self, row: type[R], *key: str) -> None:
        # Columns and rows are sorted: the same state gives the same text, which is signed and compared.
        self._columns = sorted(each.name for each in fields(row))  # type: ignore[arg-type]
        self._values = attrgetter(*self._columns)
        self._rows = TypeAdapter(list[row])  # type: ignore[valid-type]
        self._key = attrgetter(*key)

    def encode(self, rows: Iterable[R]) -> dict[str, Any]:
        """Return the rows as a table."""
        return {"columns": self._columns, "rows": sorted(map(self._values, rows), key=json.dumps)}

    def decode(self, table: Mapping[str, Any]) -> dict[Any, R]:
        """Return the rows of a table, by the values of their key.

        Raises ValueError unless it has each column once, no other column, and values of the right types.
        """
        columns = table["columns"]
        if sorted(columns) != self._columns or table.keys() != {"columns", "rows"}:
            raise ValueError(f"columns: {columns}")
        named = [dict(zip(columns, row, strict=True)) for row in table["rows"]]
        # As JSON: for Python values, pydantic's strict mode accepts no dict for a dataclass.
        rows = self._rows.validate_json(json.dumps(named), strict=True)
        return {self._key(row): row for row in rows}


_UNIT = ("party", "group", "adjacency")
_BATCH = ("session", "batch")
_TABLES: Mapping[str, _Table[Any]] = {
    "head": _Table(Head, "ledger_id"),
    "units": _Table(Account, *_UNIT),
    "parties": _Table(Party, "site"),
    "manifests": _Table(Manifests, "site"),
    "policies": _Table(Policy, "version"),
    "receipts": _Table(ReceiptCharge, *_BATCH, *_UNIT),
    "publications": _Table(PublishedEpsilon, "state"),
    "publication_charges": _Table(PublicationCharge, "state", *_UNIT),
    "sessions": _Table(Session, "session"),
    "batches": _Table(Batch, *_BATCH),
    "charges": _Table(OpenCharge, *_BATCH, *_UNIT),
    "evaluations": _Table(Evaluation, *_BATCH, *_UNIT),
    "totals": _Table(UnitTotal, *_UNIT),
    "settled": _Table(RowCount, "table"),
}


def encode(replayed: ReplayedLedger) -> str:
    """Return the state of a replay that was not finished; the same rows give the same text."""
    accounts = replayed.accounts
    under_way = {key: batch for key, batch in replayed.batches.items() if batch.state == "ticketed"}
    open_now = [session for session in replayed.sessions.values() if session.state == "open"]
    owed = [each for key in under_way for each in replayed.evaluated.get(key, {}).values()]
    counts = replayed.counts()
    here = {"sessions": len(open_now), "batches": len(under_way), "evaluations": len(owed)}
    rows: dict[str, Iterable[Any]] = {
        "head": [replayed.head],
        "units": accounts.units.values(),
        "parties": accounts.parties.values(),
        "manifests": replayed.manifests.values(),
        "policies": accounts.policies.values(),
        "receipts": accounts.reconciled.values(),
        "publications": accounts.publications.values(),
        "publication_charges": accounts.publication_charges.values(),
        "sessions": open_now,
        "batches": under_way.values(),
        "charges": _open_charges(replayed),
        "evaluations": owed,
        "totals": replayed.totals.values(),
        "settled": [RowCount(name, counts[name] - count) for name, count in here.items()],
    }
    state = {name: table.encode(rows[name]) for name, table in _TABLES.items()}
    return json.dumps(state, sort_keys=True, separators=(",", ":"))


def decode(text: str, version: int = FORMAT) -> ReplayedLedger:
    """Return the replay to continue with, after the row of a state of format `version`.

    Raises LookupError, TypeError or ValueError if it is not a state, has a table or column that this version
    does not know, or lacks one.
    """
    state = json.loads(text)
    if version == checkpoint_positions.FORMAT:
        state = checkpoint_positions.name_fields(state)
    if state.keys() != _TABLES.keys():
        raise ValueError(f"tables: {sorted(state)}")
    rows = {name: table.decode(state[name]) for name, table in _TABLES.items()}
    (head,) = rows["head"].values()
    replayed = ReplayedLedger(
        head=head,
        accounts=Accounts(
            units=rows["units"],
            parties=rows["parties"],
            policies=rows["policies"],
            reconciled=rows["receipts"],
            publications=rows["publications"],
            publication_charges=rows["publication_charges"],
        ),
        manifests=rows["manifests"],
        sessions=rows["sessions"],
        batches=rows["batches"],
        totals=rows["totals"],
        # A ticket may reserve nothing. Then no charge names its batch, but the batch is still held.
        held={key: {} for key in rows["batches"]},
        settled={name: count.rows for name, count in rows["settled"].items()},
    )
    for charge in rows["charges"].values():
        _take(replayed, charge)
    for row in rows["evaluations"].values():
        of_batch = replayed.evaluated.setdefault((row.session, row.batch), {})
        of_batch[row.party, row.group, row.adjacency] = row
    return replayed


def _open_charges(replayed: ReplayedLedger) -> Iterable[OpenCharge]:
    for key, held in replayed.held.items():
        checked = replayed.checked.get(key, {})
        after = replayed.after.get(key, {})
        for unit in {**held, **checked, **after}:
            yield OpenCharge(
                *key, *unit, reserved=held.get(unit), checked=checked.get(unit), spent=after.get(unit)
            )


def _take(replayed: ReplayedLedger, charge: OpenCharge) -> None:
    key = (charge.session, charge.batch)
    unit = (charge.party, charge.group, charge.adjacency)
    if charge.reserved is not None:
        replayed.held[key][unit] = charge.reserved
    if charge.checked is not None:
        replayed.checked.setdefault(key, {})[unit] = charge.checked
    if charge.spent is not None:
        replayed.after.setdefault(key, {})[unit] = charge.spent
