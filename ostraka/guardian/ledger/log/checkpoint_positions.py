"""Reads states of format 1, whose lists identify values by position.

Checkpoints and archives in this format are signed and on disk, so the order here is fixed for ever, whatever
the names and places of the fields of today's rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

FORMAT = 1
"""The format of states that this module reads, the only format before names."""
Rows = Iterable[Sequence[Any]]

_HEAD = ("ledger_id", "fence", "epoch")
_UNIT = ("party", "group", "adjacency")
_BATCH = ("session", "batch")
_AMOUNTS = (
    "epsilon",
    "delta",
    "order",
    "enforce",
    "budget",
    "level",
    "period_started_unix_ms",
    "spent",
    "reserved",
    "overdrawn_to",
    "state",
    "agreements",
    "spent_before",
    "broken_unix_ms",
    "events",
)
_PARTY = ("site", "state", "reconciled_epoch", "since_unix_ms")
_MANIFESTS = ("site", "digest")
_POLICY = ("version", "toml_sha256", "reason", "applied_unix_ms")
_RECEIPT = (*_BATCH, *_UNIT, "worst_case", "time_unix_ms")
_PUBLICATION = ("state", "votes", "statement_sha256", "beta", "sigma", "time_unix_ms")
_PUBLICATION_CHARGE = ("state", *_UNIT, "worst_case", "votes")
_SESSION = (
    "session",
    "querier",
    "plan_digest",
    "plan",
    "grant",
    "queries",
    "opened_unix_ms",
    "asked",
    "state",
)
_OPEN_BATCH = (
    *_BATCH,
    "size",
    "ticket",
    "opened_unix_ms",
    "state",
    "request_digest",
    "answers_sha256",
    "answered",
    "released_unix_ms",
    "check_digest",
    "checked_unix_ms",
)
_EVALUATION = (*_BATCH, *_UNIT, "worst_case", "time_unix_ms", "charged_unix_ms")
_TOTAL = (*_UNIT, "charges", "worst_case")
_OPEN_CHARGE = (*_BATCH, *_UNIT, "reserved", "checked", "spent")


def name_fields(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return a state of format 1 as a state of format 2, whose tables name their columns.

    Raises LookupError, TypeError or ValueError if it is not such a state.
    """
    return {
        "head": _table(_HEAD, [state["head"]]),
        "units": _table((*_UNIT, *_AMOUNTS), state["units"]),
        "parties": _table(_PARTY, state["parties"]),
        "manifests": _table(_MANIFESTS, state["manifests"]),
        "policies": _table(_POLICY, state["policies"]),
        "receipts": _table(_RECEIPT, state["reconciled"]),
        "publications": _table(_PUBLICATION, [row[:-1] for row in state["published"]]),
        "publication_charges": _table(_PUBLICATION_CHARGE, _publication_charges(state["published"])),
        "sessions": _table(_SESSION, state["sessions"]),
        "batches": _table(_OPEN_BATCH, state["batches"]),
        "charges": _table(_OPEN_CHARGE, _open_charges(state)),
        "evaluations": _table(
            _EVALUATION,
            [[session, batch, *row] for session, batch, of_batch in state["evaluated"] for row in of_batch],
        ),
        "totals": _table(_TOTAL, state["totals"]),
        "settled": _table(("table", "rows"), state["settled"].items()),
    }


def _table(columns: Sequence[str], rows: Rows) -> dict[str, Any]:
    return {"columns": list(columns), "rows": list(rows)}


def _publication_charges(published: Rows) -> Rows:
    """Yield charges; the charges of the oldest publications lack the number of votes that they apply to."""
    for state, *_, charged in published:
        for party, group, adjacency, amount, *votes in charged:
            yield [state, party, group, adjacency, amount, votes[0] if votes else None]


def _open_charges(state: Mapping[str, Any]) -> Rows:
    """Join the three lists of amounts of batches under way."""
    names = ("held", "checked", "after")
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for name in names:
        for session, batch, of_batch in state[name]:
            for party, group, adjacency, amount in of_batch:
                found.setdefault((session, batch, party, group, adjacency), {})[name] = amount
    return [[*key, *(amounts.get(name) for name in names)] for key, amounts in found.items()]
