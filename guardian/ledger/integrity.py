"""Integrity of a ledger: its tables against its audit log."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any, TypeVar

from sqlalchemy import Connection, Row, Select, select

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.guardian.ledger import audit
from ostraka.guardian.ledger.accounts import Account, Event, Published
from ostraka.guardian.ledger.audit import sha256
from ostraka.guardian.ledger.replay import BatchKey, Books, Evaluation, ReplayedBatch, ReplayedSession, digest
from ostraka.guardian.ledger.schema import audit as audit_table
from ostraka.guardian.ledger.schema import (
    batches,
    charges,
    evaluations,
    manifests,
    meta,
    parties,
    policies,
    publication_charges,
    publications,
    reconciled,
    sessions,
    unit_events,
    units,
)
from ostraka.guardian.ledger.values import StoredAuditRow

AuditRow = Row[Any]
Link = TypeVar("Link", AuditRow, StoredAuditRow)
_AT_ONCE = 1000


def chain(connection: Connection) -> Iterator[AuditRow]:
    """Audit rows in order, each one after `chained` checked it."""
    return chained(_stream(connection, select(audit_table).order_by(audit_table.c.sequence)))


def chained(rows: Iterable[Link]) -> Iterator[Link]:
    """All rows of a log, each one after its place and hash are checked.

    Raises:
        OstrakaError: `ledger.tampered` naming the first row that is missing, moved or altered.
    """
    expected, previous = 1, audit.GENESIS
    for row in rows:
        if row.sequence != expected:
            raise tampered(f"audit row {expected} is missing")
        if row.previous != previous:
            raise tampered(f"audit row {expected} does not follow the row before it")
        if row.hash != audit.row_hash(row.sequence, row.time_unix_ms, row.previous, row.payload):
            raise tampered(f"audit row {expected} was altered")
        yield row
        expected, previous = expected + 1, row.hash
    if expected == 1:
        raise tampered("audit row 1 is missing")


def check_tables(connection: Connection, rows: Iterable[AuditRow]) -> None:
    """Compare every table with what the audit `rows` add up to.

    Raises:
        OstrakaError: `ledger.tampered` naming the first row that differs.
    """
    books = _replay(rows)
    _compare("row of meta", {"1": books.head}, {"1": _head(connection)})
    _compare("unit", books.accounts.units, _units(connection))
    _compare("party", books.accounts.parties, _parties(connection))
    _compare("policy", books.accounts.policies, _policies(connection))
    _compare("reconciled charge", books.accounts.reconciled, _reconciled(connection))
    _compare("publication", books.accounts.published, _publications(connection))
    _compare("manifest", books.manifests, _manifests(connection))
    _compare("session", books.sessions, _sessions(connection))
    _compare("batch", books.batches, _batches(connection))
    _compare("sum of charges of batch", books.charges, _charges(connection))
    _compare("evaluation of batch", books.evaluated, _evaluations(connection))


def tampered(what: str) -> OstrakaError:
    """Return the error for a ledger that contradicts itself."""
    return OstrakaError(
        ErrorCode.LEDGER_TAMPERED,
        f"The ledger was changed by other means than Ostraka: {what}; stop serving from it and"
        " restore a backup.",
    )


def _replay(rows: Iterable[AuditRow]) -> Books:
    books = Books()
    for row in rows:
        try:
            books.apply(json.loads(row.payload), row.time_unix_ms)
        except (LookupError, TypeError, ValueError):
            raise tampered(f"audit row {row.sequence} is none that Ostraka writes") from None
    books.finish()
    return books


def _compare(what: str, logged: Mapping[Any, Any], stored: Mapping[Any, Any]) -> None:
    for key in [*logged, *stored]:
        if logged.get(key) != stored.get(key):
            name = "/".join(map(str, key)) if isinstance(key, tuple) else str(key)
            raise tampered(f"{what} {name} is not what the audit log says")


def _head(connection: Connection) -> tuple[str, int, int]:
    row = connection.execute(select(meta)).one()
    return row.ledger_id.hex(), row.fence, row.epoch


def _units(connection: Connection) -> dict[tuple[str, ...], Account]:
    events: dict[int, list[Event]] = {}
    for row in connection.execute(select(unit_events).order_by(unit_events.c.id)):
        event = (row.time_unix_ms, row.kind, row.epsilon, row.spent, row.reason)
        events.setdefault(row.unit, []).append(event)
    return {
        (row.party, row.group_name, row.adjacency): Account(
            epsilon=row.epsilon,
            delta=row.delta,
            order=row.renyi_order,
            enforce=row.enforce,
            budget=row.budget,
            level=row.level,
            period_started_unix_ms=row.period_started_unix_ms,
            spent=row.spent,
            reserved=row.reserved,
            overdrawn_to=row.overdrawn_to,
            state=row.state,
            agreements=row.agreements,
            spent_before=row.spent_before,
            broken_unix_ms=row.broken_unix_ms,
            events=events.get(row.id, []),
        )
        for row in connection.execute(select(units))
    }


def _parties(connection: Connection) -> dict[str, tuple[str, int, int]]:
    rows = connection.execute(select(parties))
    return {row.site: (row.state, row.reconciled_epoch, row.since_unix_ms) for row in rows}


def _policies(connection: Connection) -> dict[int, tuple[str, str, int]]:
    return {
        row.version: (sha256(row.toml.encode()), row.reason, row.applied_unix_ms)
        for row in connection.execute(select(policies))
    }


def _reconciled(connection: Connection) -> dict[tuple[Any, ...], tuple[int, int]]:
    key = (units.c.party, units.c.group_name, units.c.adjacency)
    rows = connection.execute(select(reconciled, *key).join(units, units.c.id == reconciled.c.unit))
    return {
        (row.session_id, row.batch_id, row.party, row.group_name, row.adjacency): (
            row.worst_case,
            row.time_unix_ms,
        )
        for row in rows
    }


def _publications(connection: Connection) -> dict[str, Published]:
    key = (units.c.party, units.c.group_name, units.c.adjacency)
    statement = select(publication_charges, *key).join(units, units.c.id == publication_charges.c.unit)
    charged: dict[int, dict[tuple[str, ...], int]] = {}
    for row in connection.execute(statement):
        unit = (row.party, row.group_name, row.adjacency)
        charged.setdefault(row.publication, {})[unit] = row.worst_case
    return {
        row.state: (
            row.votes,
            sha256(row.statement),
            row.beta,
            row.sigma,
            row.time_unix_ms,
            charged.get(row.id, {}),
        )
        for row in connection.execute(select(publications))
    }


def _manifests(connection: Connection) -> dict[str, list[tuple[str, int]]]:
    """By site alone: two parties that register at once are numbered and logged in either order."""
    found: dict[str, list[tuple[str, int]]] = {}
    for row in connection.execute(select(manifests).order_by(manifests.c.id)):
        found.setdefault(row.site, []).append((sha256(row.manifest), row.registered_unix_ms))
    return found


def _sessions(connection: Connection) -> dict[str, ReplayedSession]:
    return {
        row.session_id: ReplayedSession(
            querier=row.querier,
            plan_digest=row.plan_digest.hex(),
            plan=sha256(row.plan),
            grant=sha256(row.grant_bytes),
            queries=row.queries,
            opened_unix_ms=row.opened_unix_ms,
            asked=row.asked,
            state=row.state,
        )
        for row in _stream(connection, select(sessions))
    }


def _batches(connection: Connection) -> dict[BatchKey, ReplayedBatch]:
    return {
        (row.session_id, row.batch_id): ReplayedBatch(
            size=row.size,
            ticket=sha256(row.ticket),
            opened_unix_ms=row.opened_unix_ms,
            state=row.state,
            request=row.request_digest and row.request_digest.hex(),
            answers=row.answers and sha256(row.answers),
            answered=row.answered,
            released_unix_ms=row.released_unix_ms,
            check=row.check_digest and row.check_digest.hex(),
            checked_unix_ms=row.checked_unix_ms,
        )
        for row in _stream(connection, select(batches))
    }


def _charges(connection: Connection) -> dict[BatchKey, str]:
    keys = {row.id: (row.party, row.group_name, row.adjacency) for row in connection.execute(select(units))}
    statement = (
        select(charges, batches.c.session_id, batches.c.batch_id)
        .join(batches, batches.c.id == charges.c.batch)
        .order_by(charges.c.batch)
    )
    return {
        batch: digest({keys[row.unit]: (row.reserved, row.checked or 0, row.worst_case) for row in rows})
        for batch, rows in groupby(
            _stream(connection, statement), key=lambda row: (row.session_id, row.batch_id)
        )
    }


def _evaluations(connection: Connection) -> dict[BatchKey, dict[tuple[str, ...], Evaluation]]:
    statement = (
        select(evaluations, batches.c.session_id, batches.c.batch_id)
        .add_columns(units.c.party, units.c.group_name, units.c.adjacency)
        .join(batches, batches.c.id == evaluations.c.batch)
        .join(units, units.c.id == evaluations.c.unit)
    )
    found: dict[BatchKey, dict[tuple[str, ...], Evaluation]] = {}
    for row in _stream(connection, statement):
        of_batch = found.setdefault((row.session_id, row.batch_id), {})
        key = (row.party, row.group_name, row.adjacency)
        of_batch[key] = Evaluation(row.worst_case, row.time_unix_ms, row.charged_unix_ms)
    return found


def _stream(connection: Connection, statement: Select[Any]) -> Iterator[Row[Any]]:
    """Rows one part after the other: there may be more than memory holds."""
    yield from connection.execute(statement, execution_options={"yield_per": _AT_ONCE})
