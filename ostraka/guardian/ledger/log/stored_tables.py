"""Tables of a ledger in the form that its audit log is replayed into, whole or in part."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from sqlalchemy import Connection, Row, Select, exists, func, or_, select, tuple_

from ostraka.guardian.ledger.log.accounts import Account, Key, Published, after, event_after
from ostraka.guardian.ledger.log.audit import sha256
from ostraka.guardian.ledger.log.replay import (
    BatchKey,
    Evaluation,
    ReplayedBatch,
    ReplayedSession,
    digest,
    digest_of_votes,
)
from ostraka.guardian.ledger.store.schema import (
    batches,
    charges,
    entries,
    evaluations,
    manifests,
    meta,
    parties,
    policies,
    publications,
    receipts,
    sessions,
    unit_events,
    units,
)

_AT_ONCE = 1000
_KEYS_AT_ONCE = 500
UNIT = (units.c.party, units.c.group_name, units.c.adjacency)
_HALF = 2**31


def head(connection: Connection) -> tuple[str, int, int]:
    """Return the ledger's id, fence and epoch."""
    row = connection.execute(select(meta)).one()
    return row.ledger_id.hex(), row.fence, row.epoch


def accounts(connection: Connection) -> dict[Key, Account]:
    """Return every unit, with what stands for its events."""
    events: dict[int, str] = {}
    for row in stream(connection, [select(unit_events).order_by(unit_events.c.id)]):
        told = (row.time_unix_ms, row.kind, row.epsilon, row.spent, row.reason, row.entry, row.votes)
        events[row.unit] = event_after(events.get(row.unit, ""), *told)
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
            events=events.get(row.id, ""),
        )
        for row in connection.execute(select(units))
    }


def standings(connection: Connection) -> dict[str, tuple[str, int, int]]:
    """Return every party's state, epoch of its reconciliation, and since when."""
    rows = connection.execute(select(parties))
    return {row.site: (row.state, row.reconciled_epoch, row.since_unix_ms) for row in rows}


def policy_versions(connection: Connection) -> dict[int, tuple[str, str, int]]:
    """Return every policy's digest, reason and time."""
    return {
        row.version: (sha256(row.toml.encode()), row.reason, row.applied_unix_ms)
        for row in connection.execute(select(policies))
    }


def forgotten(connection: Connection) -> dict[tuple[Any, ...], tuple[int, int]]:
    """Return what was charged from receipts, by session, batch and unit, and when."""
    statement = (
        select(receipts, charges.c.worst_case, entries.c.time_unix_ms, *UNIT)
        .join(entries, entries.c.id == receipts.c.id)
        .join(charges, charges.c.entry == receipts.c.id)
        .join(units, units.c.id == charges.c.unit)
    )
    rows = connection.execute(statement)
    return {(row.session_id, row.batch_id, *unit_of(row)): (row.worst_case, row.time_unix_ms) for row in rows}


def published(connection: Connection) -> dict[str, Published]:
    """Return every publication by its state, with what it cost."""
    statement = (
        select(charges.c.entry, charges.c.worst_case, charges.c.votes, *UNIT)
        .join(publications, publications.c.id == charges.c.entry)
        .join(units, units.c.id == charges.c.unit)
    )
    charged: dict[int, dict[Key, tuple[int, int | None]]] = {}
    for row in connection.execute(statement):
        charged.setdefault(row.entry, {})[unit_of(row)] = (row.worst_case, row.votes)
    return {
        row.state: (
            row.votes,
            sha256(row.statement),
            row.beta,
            row.sigma,
            row.time_unix_ms,
            charged.get(row.id, {}),
        )
        for row in connection.execute(
            select(publications, entries.c.time_unix_ms).join(entries, entries.c.id == publications.c.id)
        )
    }


def unfounded(connection: Connection) -> dict[int, str]:
    """Return every entry, by its id, that nothing of its kind stands for at its time."""
    of_kind = {
        "batch": exists().where(
            batches.c.id == entries.c.id, batches.c.opened_unix_ms == entries.c.time_unix_ms
        ),
        "publication": exists().where(publications.c.id == entries.c.id),
        "receipt": exists().where(receipts.c.id == entries.c.id),
    }
    founded = or_(*(found & (entries.c.kind == kind) for kind, found in of_kind.items()))
    return {row.id: row.kind for row in connection.execute(select(entries).where(~founded))}


def declared(connection: Connection) -> dict[str, str]:
    """Return what stands for every party's manifests.

    By site alone: two parties that register at once are numbered and logged in either order.
    """
    found: dict[str, str] = {}
    for row in stream(connection, [select(manifests).order_by(manifests.c.id)]):
        told = (sha256(row.manifest), row.registered_unix_ms)
        found[row.site] = after(found.get(row.site, ""), *told)
    return found


def opened(connection: Connection, ids: Collection[str] | None = None) -> dict[str, ReplayedSession]:
    """Return all sessions, or those with these `ids`."""
    whole = select(sessions)
    parts = (
        [whole] if ids is None else [whole.where(sessions.c.session_id.in_(part)) for part in in_parts(ids)]
    )
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
        for row in stream(connection, parts)
    }


def asked(connection: Connection, keys: Collection[BatchKey] | None = None) -> dict[BatchKey, ReplayedBatch]:
    """Return all batches, or those with these `keys`."""
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
        for row in stream(connection, of_batches(select(batches), keys))
    }


def charged(connection: Connection, keys: Collection[BatchKey] | None = None) -> dict[BatchKey, str]:
    """Return the digests of what all batches, or those with these `keys`, were charged."""
    names = {row.id: unit_of(row) for row in connection.execute(select(units.c.id, *UNIT))}
    columns = (charges.c.unit, charges.c.reserved, charges.c.checked, charges.c.worst_case, charges.c.spent)
    statement = (
        select(*columns, batches.c.session_id, batches.c.batch_id)
        .join(batches, batches.c.id == charges.c.entry)
        .order_by(charges.c.entry)
    )
    rows = stream(connection, of_batches(statement, keys))
    return {
        batch: digest(
            {names[row.unit]: (row.reserved, row.checked or 0, row.worst_case, row.spent) for row in of_batch}
        )
        for batch, of_batch in groupby(rows, key=lambda row: (row.session_id, row.batch_id))
    }


def votes(connection: Connection, keys: Collection[BatchKey]) -> dict[BatchKey, str]:
    """Return the digests of how many votes one person of each party has in batches with these `keys`."""
    statement = (
        select(batches.c.session_id, batches.c.batch_id, units.c.party, charges.c.votes)
        .join(batches, batches.c.id == charges.c.entry)
        .join(units, units.c.id == charges.c.unit)
        .where(charges.c.votes.is_not(None))
        .order_by(charges.c.entry)
    )
    rows = stream(connection, of_batches(statement, keys))
    return {
        batch: digest_of_votes({row.party: row.votes for row in of_batch})
        for batch, of_batch in groupby(rows, key=lambda row: (row.session_id, row.batch_id))
    }


def totals(connection: Connection) -> dict[Key, tuple[int, int]]:
    """Return how many charges of batches every unit has, and what they add up to.

    Amounts are added in halves: a few of the largest would exceed the database's integers.
    """
    halves = (func.sum(charges.c.worst_case // _HALF), func.sum(charges.c.worst_case % _HALF))
    names = {row.id: unit_of(row) for row in connection.execute(select(units.c.id, *UNIT))}
    of_batches = select(charges.c.unit, func.count(), *halves).join(batches, batches.c.id == charges.c.entry)
    statement = of_batches.group_by(charges.c.unit)
    return {
        names[unit]: (count, int(high) * _HALF + int(low))
        for unit, count, high, low in connection.execute(statement)
    }


def evaluated(
    connection: Connection, keys: Collection[BatchKey] | None = None
) -> dict[BatchKey, dict[Key, Evaluation]]:
    """Return what was evaluated of all batches, or of those with these `keys`."""
    statement = (
        select(evaluations, batches.c.session_id, batches.c.batch_id, *UNIT)
        .join(batches, batches.c.id == evaluations.c.batch)
        .join(units, units.c.id == evaluations.c.unit)
    )
    found: dict[BatchKey, dict[Key, Evaluation]] = {}
    for row in stream(connection, of_batches(statement, keys)):
        of_batch = found.setdefault((row.session_id, row.batch_id), {})
        of_batch[unit_of(row)] = Evaluation(row.worst_case, row.time_unix_ms, row.charged_unix_ms)
    return found


def counts(connection: Connection) -> dict[str, int]:
    """Return how many rows the tables have that grow with time; of sessions also how many are open."""
    found = {
        table.name: int(connection.execute(select(func.count()).select_from(table)).scalar_one())
        for table in (sessions, batches, evaluations)
    }
    is_open = select(func.count()).where(sessions.c.state == "open")
    return {**found, "open": int(connection.execute(is_open).scalar_one())}


def unit_of(row: Any) -> Key:
    """Return the unit that a row with the columns `UNIT` names."""
    return row.party, row.group_name, row.adjacency


def of_batches(statement: Select[Any], keys: Collection[BatchKey] | None) -> Sequence[Select[Any]]:
    """Return statements for the rows of batches with these `keys`, or for all rows."""
    if keys is None:
        return [statement]
    named = tuple_(batches.c.session_id, batches.c.batch_id)
    return [statement.where(named.in_(part)) for part in in_parts(keys)]


def in_parts(keys: Collection[Any]) -> Iterator[Sequence[Any]]:
    """Yield as many at a time as a statement takes."""
    listed = list(keys)
    return (listed[start : start + _KEYS_AT_ONCE] for start in range(0, len(listed), _KEYS_AT_ONCE))


def stream(connection: Connection, statements: Iterable[Select[Any]]) -> Iterator[Row[Any]]:
    """Yield rows one part after the other: there may be more than memory holds."""
    for statement in statements:
        with connection.execute(statement, execution_options={"yield_per": _AT_ONCE}) as rows:
            yield from rows
