"""Stored tables of a ledger in the form of a replayed audit log, completely or in part."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import fields
from itertools import groupby
from typing import Any, TypeVar

from sqlalchemy import Connection, Row, Select, exists, func, or_, select, tuple_

from ostraka.common.privacy.filters import order_or_name
from ostraka.guardian.ledger.log.accounts import after, event_after
from ostraka.guardian.ledger.log.audit import sha256
from ostraka.guardian.ledger.log.replayed_ledger import digest, digest_of_votes
from ostraka.guardian.ledger.log.rows import (
    Account,
    Batch,
    BatchName,
    ChargeAmounts,
    Evaluation,
    Head,
    Manifests,
    Party,
    Policy,
    PublicationCharge,
    PublishedEpsilon,
    ReceiptCharge,
    Session,
    UnitName,
    UnitTotal,
)
from ostraka.guardian.ledger.store import kept_answers
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

_ROWS_AT_ONCE = 1000
"""Rows that are read together: more take more memory, fewer take more database calls."""
_KEYS_AT_ONCE = 500
"""Batches or sessions that one statement names, with at most two parameters each; SQLite's limit is 32,766
parameters, PostgreSQL's 65,535."""
UNIT = (units.c.party, units.c.group_name.label("group"), units.c.adjacency)
_HALF = 2**31
"""Splits an amount below 2**62 into two halves below 2**31; 2**32 of these add up within 64 bits."""
_BATCH = (batches.c.session_id.label("session"), batches.c.batch_id.label("batch"))

R = TypeVar("R")


def _row(make: type[R], stored: Row[*tuple[Any, ...]], **others: Any) -> R:
    """Make a row from the columns with its fields' names, except for fields that are given."""
    columns = stored._mapping
    names = [each.name for each in fields(make)]  # type: ignore[arg-type]
    return make(**{name: others[name] if name in others else columns[name] for name in names})


def head(connection: Connection) -> Head:
    """Return the row of `meta`."""
    stored = connection.execute(select(meta)).one()
    return _row(Head, stored, ledger_id=stored.ledger_id.hex())


def accounts(connection: Connection) -> dict[UnitName, Account]:
    """Return every unit, with the digest of its events."""
    events: dict[int, str] = {}
    for row in stream(connection, [select(unit_events).order_by(unit_events.c.id)]):
        event = (row.time_unix_ms, row.kind, row.epsilon, row.spent, row.reason, row.entry, row.votes)
        events[row.unit] = event_after(events.get(row.unit, ""), *event)
    every = select(units, units.c.group_name.label("group"), units.c.renyi_order.label("order"))
    return {
        unit_of(stored): _row(
            Account, stored, events=events.get(stored.id, ""), order=order_or_name(stored.order)
        )
        for stored in connection.execute(every)
    }


def standings(connection: Connection) -> dict[str, Party]:
    """Return every party by its site."""
    return {stored.site: _row(Party, stored) for stored in connection.execute(select(parties))}


def policy_versions(connection: Connection) -> dict[int, Policy]:
    """Return every policy by its version."""
    return {
        stored.version: _row(Policy, stored, toml_sha256=sha256(stored.toml.encode()))
        for stored in connection.execute(select(policies))
    }


def receipt_charges(connection: Connection) -> dict[tuple[str | int, ...], ReceiptCharge]:
    """Return charges from receipts, by session, batch and unit."""
    names = (receipts.c.session_id.label("session"), receipts.c.batch_id.label("batch"), *UNIT)
    statement = (
        select(*names, charges.c.worst_case, entries.c.time_unix_ms)
        .select_from(receipts)
        .join(entries, entries.c.id == receipts.c.id)
        .join(charges, charges.c.entry == receipts.c.id)
        .join(units, units.c.id == charges.c.unit)
    )
    return {
        (stored.session, stored.batch, *unit_of(stored)): _row(ReceiptCharge, stored)
        for stored in connection.execute(statement)
    }


def publication_rows(connection: Connection) -> dict[str, PublishedEpsilon]:
    """Return every publication by its state."""
    statement = select(publications, entries.c.time_unix_ms).join(entries, entries.c.id == publications.c.id)
    return {
        stored.state: _row(PublishedEpsilon, stored, statement_sha256=sha256(stored.statement))
        for stored in connection.execute(statement)
    }


def publication_charges(connection: Connection) -> dict[tuple[str, ...], PublicationCharge]:
    """Return the costs of publications, by state and unit."""
    statement = (
        select(publications.c.state, charges.c.worst_case, charges.c.votes, *UNIT)
        .select_from(charges)
        .join(publications, publications.c.id == charges.c.entry)
        .join(units, units.c.id == charges.c.unit)
    )
    return {
        (stored.state, *unit_of(stored)): _row(PublicationCharge, stored)
        for stored in connection.execute(statement)
    }


def entries_without_cause(connection: Connection) -> dict[int, str]:
    """Return every entry, by its id, that has no row of its kind at its time."""
    of_kind = {
        "batch": exists().where(
            batches.c.id == entries.c.id, batches.c.opened_unix_ms == entries.c.time_unix_ms
        ),
        "publication": exists().where(publications.c.id == entries.c.id),
        "receipt": exists().where(receipts.c.id == entries.c.id),
    }
    founded = or_(*(found & (entries.c.kind == kind) for kind, found in of_kind.items()))
    return {row.id: row.kind for row in connection.execute(select(entries).where(~founded))}


def manifest_digests(connection: Connection) -> dict[str, Manifests]:
    """Return the digest of every party's manifests.

    They are grouped by site: two parties that register at once may be numbered and logged in either order.
    """
    found: dict[str, str] = {}
    for row in stream(connection, [select(manifests).order_by(manifests.c.id)]):
        digest_of_row = sha256(row.manifest)
        found[row.site] = after(found.get(row.site, ""), digest_of_row, row.registered_unix_ms)
    return {site: Manifests(site, digest_of_all) for site, digest_of_all in found.items()}


def session_rows(connection: Connection, ids: Collection[str] | None = None) -> dict[str, Session]:
    """Return all sessions, or those with these `ids`."""
    whole = select(sessions)
    parts = (
        [whole] if ids is None else [whole.where(sessions.c.session_id.in_(part)) for part in in_parts(ids)]
    )
    return {stored.session_id: session_of(stored) for stored in stream(connection, parts)}


def session_of(stored: Row[Any]) -> Session:
    """Return a session in the form of the audit log."""
    return _row(
        Session,
        stored,
        session=stored.session_id,
        plan_digest=stored.plan_digest.hex(),
        plan=sha256(stored.plan),
        grant=sha256(stored.grant_bytes),
    )


def batch_rows(connection: Connection, keys: Collection[BatchName] | None = None) -> dict[BatchName, Batch]:
    """Return all batches, or those with these `keys`."""
    rows = stream(connection, of_batches(select(batches), keys))
    return {(stored.session_id, stored.batch_id): batch_of(stored) for stored in rows}


def batch_of(stored: Row[Any]) -> Batch:
    """Return a batch in the form of the audit log."""
    return _row(
        Batch,
        stored,
        session=stored.session_id,
        batch=stored.batch_id,
        ticket=sha256(stored.ticket),
        request_digest=stored.request_digest and stored.request_digest.hex(),
        answers_sha256=None if stored.answers is None else kept_answers.digest_of(stored.answers),
        check_digest=stored.check_digest and stored.check_digest.hex(),
    )


def charge_amounts(
    connection: Connection, keys: Collection[BatchName] | None = None
) -> Iterator[tuple[BatchName, dict[UnitName, ChargeAmounts]]]:
    """Yield what all batches, or those with these `keys`, reserved from units and charged them."""
    names = {row.id: unit_of(row) for row in connection.execute(select(units.c.id, *UNIT))}
    columns = (charges.c.unit, charges.c.reserved, charges.c.checked, charges.c.worst_case, charges.c.spent)
    statement = (
        select(*columns, *_BATCH)
        .select_from(charges)
        .join(batches, batches.c.id == charges.c.entry)
        .order_by(charges.c.entry)
    )
    for batch, of_batch in groupby(stream(connection, of_batches(statement, keys)), key=_batch_name):
        yield (
            batch,
            {
                names[row.unit]: ChargeAmounts(row.reserved, row.checked or 0, row.worst_case, row.spent)
                for row in of_batch
            },
        )


def charge_digests(connection: Connection, keys: Collection[BatchName] | None = None) -> dict[BatchName, str]:
    """Return the digests of the charges of all batches, or of those with these `keys`."""
    return {batch: digest(amounts) for batch, amounts in charge_amounts(connection, keys)}


def votes(connection: Connection, keys: Collection[BatchName]) -> dict[BatchName, str]:
    """Return the digests of how many votes one person of each party has in batches with these `keys`."""
    statement = (
        select(*_BATCH, units.c.party, charges.c.votes)
        .select_from(charges)
        .join(batches, batches.c.id == charges.c.entry)
        .join(units, units.c.id == charges.c.unit)
        .where(charges.c.votes.is_not(None))
        .order_by(charges.c.entry)
    )
    rows = stream(connection, of_batches(statement, keys))
    return {
        batch: digest_of_votes({row.party: row.votes for row in of_batch})
        for batch, of_batch in groupby(rows, key=_batch_name)
    }


def totals(connection: Connection) -> dict[UnitName, UnitTotal]:
    """Return the number and the sum of every unit's charges for batches.

    Amounts are added in halves: a few of the largest would exceed the database's integers.
    """
    halves = (func.sum(charges.c.worst_case // _HALF), func.sum(charges.c.worst_case % _HALF))
    names = {row.id: unit_of(row) for row in connection.execute(select(units.c.id, *UNIT))}
    of_batches = select(charges.c.unit, func.count(), *halves).join(batches, batches.c.id == charges.c.entry)
    statement = of_batches.group_by(charges.c.unit)
    return {
        names[unit]: UnitTotal(*names[unit], charges=count, worst_case=int(high) * _HALF + int(low))
        for unit, count, high, low in connection.execute(statement)
    }


def evaluation_rows(
    connection: Connection, keys: Collection[BatchName] | None = None
) -> dict[BatchName, dict[UnitName, Evaluation]]:
    """Return the evaluations of all batches, or of those with these `keys`."""
    statement = (
        select(evaluations.c.worst_case, evaluations.c.time_unix_ms, evaluations.c.charged_unix_ms)
        .add_columns(*_BATCH, *UNIT)
        .select_from(evaluations)
        .join(batches, batches.c.id == evaluations.c.batch)
        .join(units, units.c.id == evaluations.c.unit)
    )
    found: dict[BatchName, dict[UnitName, Evaluation]] = {}
    for stored in stream(connection, of_batches(statement, keys)):
        found.setdefault(_batch_name(stored), {})[unit_of(stored)] = _row(Evaluation, stored)
    return found


def counts(connection: Connection) -> dict[str, int]:
    """Return the number of rows of each table that grows with time; for sessions also of open ones."""
    found = {
        table.name: int(connection.execute(select(func.count()).select_from(table)).scalar_one())
        for table in (sessions, batches, evaluations)
    }
    is_open = select(func.count()).where(sessions.c.state == "open")
    return {**found, "open": int(connection.execute(is_open).scalar_one())}


def unit_of(row: Any) -> UnitName:
    """Return the unit named by a row with the columns `UNIT`."""
    return row.party, row.group, row.adjacency


def _batch_name(row: Row[Any]) -> BatchName:
    return row.session, row.batch


def of_batches(statement: Select[Any], keys: Collection[BatchName] | None) -> Sequence[Select[Any]]:
    """Return statements for the rows of batches with these `keys`, or for all rows."""
    if keys is None:
        return [statement]
    named = tuple_(batches.c.session_id, batches.c.batch_id)
    return [statement.where(named.in_(part)) for part in in_parts(keys)]


def in_parts(keys: Collection[Any]) -> Iterator[Sequence[Any]]:
    """Yield parts as large as one statement takes."""
    listed = list(keys)
    return (listed[start : start + _KEYS_AT_ONCE] for start in range(0, len(listed), _KEYS_AT_ONCE))


def stream(connection: Connection, statements: Iterable[Select[Any]]) -> Iterator[Row[Any]]:
    """Yield rows in parts: there may be more than fit into memory."""
    for statement in statements:
        with connection.execute(statement, execution_options={"yield_per": _ROWS_AT_ONCE}) as rows:
            yield from rows
