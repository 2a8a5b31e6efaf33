"""Lines of an archive: JSON objects with everything that a ledger keeps of what is over, but for answers.

Answers, and amounts that depend on votes, stay in the ledger. The audit log vouches for everything here.
"""

from __future__ import annotations

import base64
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict
from itertools import groupby
from typing import Any

from sqlalchemy import Connection, select

from ostraka.guardian.ledger.log.accounts import Key
from ostraka.guardian.ledger.log.audit import sha256
from ostraka.guardian.ledger.log.replay import (
    BatchKey,
    Charges,
    Evaluation,
    ReplayedBatch,
    ReplayedSession,
)
from ostraka.guardian.ledger.log.stored_tables import UNIT, evaluated, in_parts, of_batches, stream, unit_of
from ostraka.guardian.ledger.store.schema import batches, charges, sessions, units
from ostraka.guardian.ledger.store.values import StoredAuditRow

Line = Mapping[str, Any]


def of_audit(row: Any) -> Line:
    """Return the line of a row of the audit log."""
    return {
        "kind": "audit",
        "sequence": row.sequence,
        "time_unix_ms": row.time_unix_ms,
        "payload": row.payload,
        "previous": row.previous.hex(),
        "hash": row.hash.hex(),
        "signed": text(row.signed),
    }


def audit_row(line: Line) -> StoredAuditRow:
    """Return the row of the audit log that a line has."""
    return StoredAuditRow(
        sequence=line["sequence"],
        time_unix_ms=line["time_unix_ms"],
        payload=line["payload"],
        previous=bytes.fromhex(line["previous"]),
        hash=bytes.fromhex(line["hash"]),
        signed=content(line["signed"]),
    )


def of_sessions(connection: Connection, ids: Collection[str]) -> Iterator[Line]:
    """Yield the lines of sessions that are over."""
    for part in in_parts(sorted(ids)):
        for row in connection.execute(select(sessions).where(sessions.c.session_id.in_(part))):
            yield {
                "kind": "session",
                "session": row.session_id,
                "querier": row.querier,
                "state": row.state,
                "queries": row.queries,
                "asked": row.asked,
                "opened_unix_ms": row.opened_unix_ms,
                "plan": text(row.plan),
                "plan_digest": row.plan_digest.hex(),
                "grant": text(row.grant_bytes),
            }


def session(line: Line) -> tuple[str, ReplayedSession]:
    """Return the session that a line has, as the audit log tells it."""
    return line["session"], ReplayedSession(
        querier=line["querier"],
        plan_digest=line["plan_digest"],
        plan=sha256(content(line["plan"])),
        grant=sha256(content(line["grant"])),
        queries=line["queries"],
        opened_unix_ms=line["opened_unix_ms"],
        asked=line["asked"],
        state=line["state"],
    )


def of_settled(connection: Connection, keys: Collection[BatchKey]) -> Iterator[Line]:
    """Yield the lines of batches that are over, with what they cost."""
    for part in in_parts(sorted(keys)):
        charged, owed = _charges(connection, part), evaluated(connection, part)
        for row in stream(connection, of_batches(select(batches), part)):
            key = (row.session_id, row.batch_id)
            yield {
                "kind": "batch",
                "session": row.session_id,
                "batch": row.batch_id,
                "size": row.size,
                "state": row.state,
                "answered": row.answered,
                "opened_unix_ms": row.opened_unix_ms,
                "checked_unix_ms": row.checked_unix_ms,
                "released_unix_ms": row.released_unix_ms,
                "ticket": text(row.ticket),
                "check_digest": row.check_digest and row.check_digest.hex(),
                "request_digest": row.request_digest and row.request_digest.hex(),
                "answers_sha256": None if row.answers is None else sha256(row.answers),
                "charges": [
                    _of_unit(unit, reserved=reserved, checked=checked, worst_case=worst_case, spent=spent)
                    for unit, (reserved, checked, worst_case, spent) in sorted(charged.get(key, {}).items())
                ],
                "evaluated": [
                    _of_unit(unit, **asdict(cost)) for unit, cost in sorted(owed.get(key, {}).items())
                ],
            }


def settled(line: Line) -> tuple[BatchKey, ReplayedBatch, Charges, dict[Key, Evaluation]]:
    """Return the batch that a line has, what it charged and what was evaluated, as the audit log tells it."""
    batch = ReplayedBatch(
        size=line["size"],
        ticket=sha256(content(line["ticket"])),
        opened_unix_ms=line["opened_unix_ms"],
        state=line["state"],
        request=line["request_digest"],
        answers=line["answers_sha256"],
        answered=line["answered"],
        released_unix_ms=line["released_unix_ms"],
        check=line["check_digest"],
        checked_unix_ms=line["checked_unix_ms"],
    )
    charged: Charges = {
        _unit(cost): (cost["reserved"], cost["checked"], cost["worst_case"], cost["spent"])
        for cost in line["charges"]
    }
    owed = {
        _unit(cost): Evaluation(cost["worst_case"], cost["time_unix_ms"], cost["charged_unix_ms"])
        for cost in line["evaluated"]
    }
    return (line["session"], line["batch"]), batch, charged, owed


def text(found: bytes) -> str:
    """Return bytes as a line has them."""
    return base64.b64encode(found).decode()


def content(found: str) -> bytes:
    """Return the bytes that a line has; raises ValueError for none."""
    return base64.b64decode(found, validate=True)


def _of_unit(unit: Key, **values: int | None) -> Line:
    party, group, adjacency = unit
    return {"party": party, "group": group, "adjacency": adjacency, **values}


def _unit(line: Line) -> Key:
    return line["party"], line["group"], line["adjacency"]


def _charges(connection: Connection, keys: Iterable[BatchKey]) -> dict[BatchKey, Charges]:
    """Return what each unit was charged: reserved, for the check, in all, and what it had spent then."""
    statement = (
        select(charges, batches.c.session_id, batches.c.batch_id, *UNIT)
        .join(batches, batches.c.id == charges.c.entry)
        .join(units, units.c.id == charges.c.unit)
        .order_by(charges.c.entry)
    )
    rows = stream(connection, of_batches(statement, list(keys)))
    return {
        batch: {unit_of(row): (row.reserved, row.checked or 0, row.worst_case, row.spent) for row in of_batch}
        for batch, of_batch in groupby(rows, key=lambda row: (row.session_id, row.batch_id))
    }
