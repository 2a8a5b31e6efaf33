"""State of a ledger at one row of its audit log, as a checkpoint keeps it: what later rows may still change.

Balances, standings and policies are in it whole; of what happened to units and of manifests what stands for
all of it; of sessions and batches those that are not over. Of the rest it has how many rows there are, and
how many charges every unit has and what they add up to.

It is a JSON object of tables. Each names its columns once and has a list of values for each row, which are
read by the names of the columns: their order means nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from operator import itemgetter
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
"""Raised where another version could read another meaning out of a state. States of format 1 named nothing:
what a value was, its position said."""
READABLE = (checkpoint_positions.FORMAT, FORMAT)
"""Formats of states that this version reads."""
R = TypeVar("R")
Table = Mapping[str, Any]


@dataclass(frozen=True)
class OpenCharge:
    """What a batch that is under way reserved of a unit, charged it already, and what that had spent then."""

    session: str
    batch: int
    party: str
    group: str
    adjacency: str
    reserved: int | None
    checked: int | None
    spent: int | None


class _Codec(Generic[R]):
    """Writes and reads a table of rows of one type."""

    def __init__(self, row: type[R]) -> None:
        # Columns and rows are sorted: the same state gives the same text, which is signed and compared.
        self._columns = sorted(each.name for each in fields(row))  # type: ignore[arg-type]
        self._values = itemgetter(*self._columns)
        self._rows = TypeAdapter(list[row])  # type: ignore[valid-type]

    def encode(self, rows: Iterable[R]) -> Table:
        """Return the rows as a table."""
        values = [list(self._values(vars(row))) for row in rows]
        return {"columns": self._columns, "rows": sorted(values, key=json.dumps)}

    def decode(self, table: Table) -> list[R]:
        """Return the rows of a table.

        Raises ValueError unless it has each column once, no other one, and values of their types.
        """
        columns = table["columns"]
        if sorted(columns) != self._columns or table.keys() != {"columns", "rows"}:
            raise ValueError(f"columns: {columns}")
        named = [dict(zip(columns, row, strict=True)) for row in table["rows"]]
        # As JSON: of Python's values, pydantic's strict mode takes no dict for a dataclass.
        return self._rows.validate_json(json.dumps(named), strict=True)


_UNITS = _Codec(Account)
_PARTIES = _Codec(Party)
_MANIFESTS = _Codec(Manifests)
_POLICIES = _Codec(Policy)
_RECEIPTS = _Codec(ReceiptCharge)
_PUBLICATIONS = _Codec(PublishedEpsilon)
_PUBLICATION_CHARGES = _Codec(PublicationCharge)
_SESSIONS = _Codec(Session)
_BATCHES = _Codec(Batch)
_CHARGES = _Codec(OpenCharge)
_EVALUATIONS = _Codec(Evaluation)
_TOTALS = _Codec(UnitTotal)
_HEAD = TypeAdapter(Head)
_COUNTS = TypeAdapter(dict[str, int])
_TABLES = frozenset(
    {
        "batches",
        "charges",
        "evaluations",
        "head",
        "manifests",
        "parties",
        "policies",
        "publication_charges",
        "publications",
        "receipts",
        "sessions",
        "settled",
        "totals",
        "units",
    }
)


def encode(replayed: ReplayedLedger) -> str:
    """Return the state of a replay that was not finished; the same rows give the same text."""
    accounts = replayed.accounts
    under_way = {key: batch for key, batch in replayed.batches.items() if batch.state == "ticketed"}
    open_now = [session for session in replayed.sessions.values() if session.state == "open"]
    owed = [each for key in under_way for each in replayed.evaluated.get(key, {}).values()]
    counts = replayed.counts()
    here = {"sessions": len(open_now), "batches": len(under_way), "evaluations": len(owed)}
    state = {
        "head": asdict(replayed.head),
        "units": _UNITS.encode(accounts.units.values()),
        "parties": _PARTIES.encode(accounts.parties.values()),
        "manifests": _MANIFESTS.encode(replayed.manifests.values()),
        "policies": _POLICIES.encode(accounts.policies.values()),
        "receipts": _RECEIPTS.encode(accounts.reconciled.values()),
        "publications": _PUBLICATIONS.encode(accounts.publications.values()),
        "publication_charges": _PUBLICATION_CHARGES.encode(accounts.publication_charges.values()),
        "sessions": _SESSIONS.encode(open_now),
        "batches": _BATCHES.encode(under_way.values()),
        "charges": _CHARGES.encode(_open_charges(replayed)),
        "evaluations": _EVALUATIONS.encode(owed),
        "totals": _TOTALS.encode(replayed.totals.values()),
        "settled": {name: counts[name] - here[name] for name in here},
    }
    return json.dumps(state, sort_keys=True, separators=(",", ":"))


def decode(text: str, version: int = FORMAT) -> ReplayedLedger:
    """Return the replay to go on with after the row that a state of format `version` is of.

    Raises LookupError, TypeError or ValueError for what is no state, or has a table or column that this
    version does not know, or lacks one.
    """
    state = json.loads(text)
    if version == checkpoint_positions.FORMAT:
        state = checkpoint_positions.name_fields(state)
    if state.keys() != _TABLES:
        raise ValueError(f"tables: {sorted(state)}")
    if state["head"].keys() != {each.name for each in fields(Head)}:
        raise ValueError(f"head: {sorted(state['head'])}")
    charged = _PUBLICATION_CHARGES.decode(state["publication_charges"])
    receipts = _RECEIPTS.decode(state["receipts"])
    replayed = ReplayedLedger(
        head=_HEAD.validate_json(json.dumps(state["head"]), strict=True),
        accounts=Accounts(
            units={(row.party, row.group, row.adjacency): row for row in _UNITS.decode(state["units"])},
            parties={row.site: row for row in _PARTIES.decode(state["parties"])},
            policies={row.version: row for row in _POLICIES.decode(state["policies"])},
            reconciled={
                (row.session, row.batch, row.party, row.group, row.adjacency): row for row in receipts
            },
            publications={row.state: row for row in _PUBLICATIONS.decode(state["publications"])},
            publication_charges={(row.state, row.party, row.group, row.adjacency): row for row in charged},
        ),
        manifests={row.site: row for row in _MANIFESTS.decode(state["manifests"])},
        sessions={row.session: row for row in _SESSIONS.decode(state["sessions"])},
        batches={(row.session, row.batch): row for row in _BATCHES.decode(state["batches"])},
        totals={(row.party, row.group, row.adjacency): row for row in _TOTALS.decode(state["totals"])},
        settled=_COUNTS.validate_python(state["settled"], strict=True),
    )
    # A ticket may reserve nothing of anybody: no charge names its batch then, which is held all the same.
    replayed.held = {key: {} for key in replayed.batches}
    for charge in _CHARGES.decode(state["charges"]):
        _take(replayed, charge)
    for row in _EVALUATIONS.decode(state["evaluations"]):
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
