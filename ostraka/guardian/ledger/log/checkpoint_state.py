"""State of a ledger at one row of its audit log, as a checkpoint keeps it: what later rows may still change.

Balances, standings and policies are in it whole; of what happened to units and of manifests what stands for
all of it; of sessions and batches those that are not over. Of the rest it has how many rows there are, and
how many charges every unit has and what they add up to.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import astuple
from typing import Any

from ostraka.guardian.ledger.log.accounts import Account, Accounts, Key
from ostraka.guardian.ledger.log.replay import BatchKey, Books, Evaluation, ReplayedBatch, ReplayedSession

FORMAT = 1
"""Raised where another version could read another meaning out of a state."""
_UNIT = 3
_BATCH = 2


def encode(books: Books) -> str:
    """Return the state of books that were not finished; the same rows give the same text."""
    accounts = books.accounts
    under_way = {key: batch for key, batch in books.batches.items() if batch.state == "ticketed"}
    open_now = {key: session for key, session in books.sessions.items() if session.state == "open"}
    owed = {key: of_batch for key, of_batch in books.evaluated.items() if key in under_way}
    counts = books.counts()
    kept = {
        "sessions": len(open_now),
        "batches": len(under_way),
        "evaluations": sum(map(len, owed.values())),
    }
    state = {
        "head": books.head,
        "units": sorted([*key, *astuple(account)] for key, account in accounts.units.items()),
        "manifests": _rows(books.manifests),
        "parties": _rows(accounts.parties),
        "policies": _rows(accounts.policies),
        "reconciled": _rows(accounts.reconciled),
        "published": [
            [key, *told, _paid(charged)] for key, (*told, charged) in sorted(accounts.published.items())
        ],
        "sessions": [[key, *astuple(session)] for key, session in sorted(open_now.items())],
        "batches": [[*key, *astuple(batch)] for key, batch in sorted(under_way.items())],
        "held": _by_batch(books.held),
        "checked": _by_batch(books.checked),
        "after": _by_batch({key: books.after[key] for key in under_way if key in books.after}),
        "evaluated": _by_batch(
            {key: {unit: astuple(each) for unit, each in of_batch.items()} for key, of_batch in owed.items()}
        ),
        "totals": _rows(books.totals),
        "settled": {name: counts[name] - kept.get(name, 0) for name in counts if name != "open"},
    }
    return json.dumps(state, sort_keys=True, separators=(",", ":"))


def decode(text: str) -> Books:
    """Return the books to go on with after the row that a state is of.

    Raises LookupError, TypeError or ValueError for what is no state.
    """
    state = json.loads(text)
    ledger_id, fence, epoch = state["head"]
    return Books(
        head=(ledger_id, fence, epoch),
        accounts=Accounts(
            units={key: Account(*values) for key, values in _keyed(state["units"], _UNIT)},
            parties={site: (found, epoch, since) for site, found, epoch, since in state["parties"]},
            policies={version: (digest, why, at) for version, digest, why, at in state["policies"]},
            reconciled={
                key: (amount, at) for key, (amount, at) in _keyed(state["reconciled"], _BATCH + _UNIT)
            },
            published={
                key: (votes, digest, beta, sigma, at, _charged(charged))
                for key, votes, digest, beta, sigma, at, charged in state["published"]
            },
        ),
        manifests=dict(state["manifests"]),
        sessions={key: ReplayedSession(*values) for key, *values in state["sessions"]},
        batches={key: ReplayedBatch(*values) for key, values in _keyed(state["batches"], _BATCH)},
        held=_of_batches(state["held"]),
        checked=_of_batches(state["checked"]),
        after=_of_batches(state["after"]),
        evaluated={
            key: {unit: Evaluation(*values) for unit, values in _keyed(rows, _UNIT)}
            for key, (rows,) in _keyed(state["evaluated"], _BATCH)
        },
        totals={key: (count, total) for key, (count, total) in _keyed(state["totals"], _UNIT)},
        settled=dict(state["settled"]),
    )


def _rows(found: Mapping[Any, Any]) -> list[list[Any]]:
    """One row for each key, in order, with what it has."""
    return [[*_listed(key), *_listed(value)] for key, value in sorted(found.items())]


def _listed(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def _by_batch(found: Mapping[BatchKey, Mapping[Key, Any]]) -> list[list[Any]]:
    return [[*key, _rows(of_batch)] for key, of_batch in sorted(found.items())]


def _keyed(rows: list[list[Any]], length: int) -> list[tuple[Any, list[Any]]]:
    """Rows whose first `length` values are their key."""
    return [(tuple(row[:length]), row[length:]) for row in rows]


def _amounts(rows: list[list[Any]]) -> dict[Key, int]:
    return {key: amount for key, (amount,) in _keyed(rows, _UNIT)}


def _paid(charged: Mapping[Key, tuple[int, int | None]]) -> list[list[Any]]:
    """Write charges with the votes that they hold for; without, as older versions do, where nobody knows."""
    return _rows(
        {unit: amount if votes is None else (amount, votes) for unit, (amount, votes) in charged.items()}
    )


def _charged(rows: list[list[Any]]) -> dict[Key, tuple[int, int | None]]:
    """Read what `_paid` wrote."""
    return {key: (amount, votes[0] if votes else None) for key, (amount, *votes) in _keyed(rows, _UNIT)}


def _of_batches(rows: list[list[Any]]) -> dict[BatchKey, dict[Key, int]]:
    return {key: _amounts(amounts) for key, (amounts,) in _keyed(rows, _BATCH)}
