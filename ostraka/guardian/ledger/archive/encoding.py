"""Lines of an archive: JSON objects with all that a ledger keeps of what has ended, except answers.

Answers, and amounts that depend on votes, stay in the ledger. The audit log confirms everything here.
"""

from __future__ import annotations

import base64
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection, select

from ostraka.guardian.ledger.log import stored_tables
from ostraka.guardian.ledger.log.audit import sha256
from ostraka.guardian.ledger.log.rows import (
    Batch,
    BatchName,
    ChargeAmounts,
    Evaluation,
    Session,
    UnitName,
)
from ostraka.guardian.ledger.log.stored_tables import in_parts, stream
from ostraka.guardian.ledger.store.schema import batches, sessions
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
    """Return the row of the audit log in a line."""
    return StoredAuditRow(
        sequence=line["sequence"],
        time_unix_ms=line["time_unix_ms"],
        payload=line["payload"],
        previous=bytes.fromhex(line["previous"]),
        hash=bytes.fromhex(line["hash"]),
        signed=content(line["signed"]),
    )


def of_sessions(connection: Connection, ids: Collection[str]) -> Iterator[Line]:
    """Yield the lines of sessions that have ended."""
    for part in in_parts(sorted(ids)):
        for row in connection.execute(select(sessions).where(sessions.c.session_id.in_(part))):
            contents = {"plan": text(row.plan), "grant": text(row.grant_bytes)}
            yield {"kind": "session", **asdict(stored_tables.session_of(row)), **contents}


def session(line: Line) -> Session:
    """Return the session in a line, in the form of the audit log."""
    digests = {name: sha256(content(line[name])) for name in ("plan", "grant")}
    return Session(**_without(line, "kind") | digests)


def of_batches(connection: Connection, keys: Collection[BatchName]) -> Iterator[Line]:
    """Yield the lines of batches that have ended, with their costs."""
    for part in in_parts(sorted(keys)):
        charges = dict(stored_tables.charge_amounts(connection, part))
        evaluations = stored_tables.evaluation_rows(connection, part)
        for row in stream(connection, stored_tables.of_batches(select(batches), part)):
            found = stored_tables.batch_of(row)
            key = (found.session, found.batch)
            yield {
                "kind": "batch",
                **asdict(found),
                "ticket": text(row.ticket),
                "charges": [
                    {**_unit(unit), **amounts._asdict()}
                    for unit, amounts in sorted(charges.get(key, {}).items())
                ],
                "evaluated": [
                    _without(asdict(cost), "session", "batch")
                    for _, cost in sorted(evaluations.get(key, {}).items())
                ],
            }


def batch(line: Line) -> tuple[Batch, dict[UnitName, ChargeAmounts], dict[UnitName, Evaluation]]:
    """Return the batch in a line, its charges and its evaluations, in the form of the audit log."""
    row = _without(line, "kind", "charges", "evaluated")
    found = Batch(**row | {"ticket": sha256(content(line["ticket"]))})
    charges = {
        _unit_name(cost): ChargeAmounts(**_without(cost, "party", "group", "adjacency"))
        for cost in line["charges"]
    }
    evaluations = {
        _unit_name(cost): Evaluation(found.session, found.batch, **cost) for cost in line["evaluated"]
    }
    return found, charges, evaluations


def text(found: bytes) -> str:
    """Return bytes in the form of a line."""
    return base64.b64encode(found).decode()


def content(found: str) -> bytes:
    """Return the bytes in a line; raises ValueError if there are none."""
    return base64.b64decode(found, validate=True)


def _without(line: Line, *names: str) -> dict[str, Any]:
    return {name: value for name, value in line.items() if name not in names}


def _unit(unit: UnitName) -> Line:
    party, group, adjacency = unit
    return {"party": party, "group": group, "adjacency": adjacency}


def _unit_name(line: Line) -> UnitName:
    return line["party"], line["group"], line["adjacency"]
