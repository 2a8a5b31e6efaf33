"""Integrity of a ledger: its tables against its audit log."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

from sqlalchemy import Connection, Row, select

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.guardian.ledger.log import audit, stored_tables
from ostraka.guardian.ledger.log.replayed_ledger import ReplayedLedger
from ostraka.guardian.ledger.store.schema import audit as audit_table
from ostraka.guardian.ledger.store.values import StoredAuditRow

AuditRow = Row[Any]
Link = TypeVar("Link", AuditRow, StoredAuditRow)
_ROWS_AT_ONCE = 1000
"""Rows that the driver fetches together: more take more memory, fewer take more database calls."""


def chain(
    connection: Connection, first: int = 1, previous: bytes = audit.GENESIS, last: int | None = None
) -> Iterator[AuditRow]:
    """Yield audit rows in order, from the `first` to the `last` or all, each after `check_chain` took it."""
    statement = select(audit_table).where(audit_table.c.sequence >= first).order_by(audit_table.c.sequence)
    if last is not None:
        statement = statement.where(audit_table.c.sequence <= last)
    with connection.execute(statement, execution_options={"yield_per": _ROWS_AT_ONCE}) as rows:
        yield from check_chain(rows, first, previous)


def check_chain(rows: Iterable[Link], first: int = 1, previous: bytes = audit.GENESIS) -> Iterator[Link]:
    """Yield the rows of a log from the `first` one on, each after its place and hash are checked.

    Args:
        rows: in order.
        first: the number of the first row.
        previous: the hash of the row before it.

    Raises:
        OstrakaError: `ledger.tampered` naming the first row that is missing, moved or altered.
    """
    expected = first
    for row in rows:
        if row.sequence != expected:
            raise TamperedError(f"audit row {expected} is missing")
        if row.previous != previous:
            raise TamperedError(f"audit row {expected} does not follow the row before it")
        if row.hash != audit.row_hash(row.sequence, row.time_unix_ms, row.previous, row.payload):
            raise TamperedError(f"audit row {expected} was altered")
        yield row
        expected += 1
        previous = row.hash
    if expected == 1:
        raise TamperedError("audit row 1 is missing")


def replay(replayed: ReplayedLedger, rows: Iterable[Any]) -> None:
    """Add audit `rows` to a replay of the log before them.

    Raises:
        OstrakaError: `ledger.tampered` naming the first row that no version of Ostraka writes there.
    """
    for row in rows:
        try:
            replayed.apply(json.loads(row.payload), row.time_unix_ms)
        except (LookupError, TypeError, ValueError):
            raise TamperedError(f"audit row {row.sequence} is none that Ostraka writes") from None


def check_tables(connection: Connection, rows: Iterable[AuditRow]) -> None:
    """Compare every table with the replay of all audit `rows`.

    Raises:
        OstrakaError: `ledger.tampered` naming the first row that differs.
    """
    replayed = ReplayedLedger()
    replay(replayed, rows)
    compare(connection, replayed)


def compare(connection: Connection, replayed: ReplayedLedger) -> None:
    """Compare tables with the replayed log: every row, or the rows that a replay from a checkpoint has.

    A replay that began with a checkpoint lacks the sessions, batches, charges and evaluations that had ended
    by then. It has their number and the sum of every unit's charges instead.

    Raises:
        OstrakaError: `ledger.tampered` naming the first row that differs.
    """
    replayed.finish()
    whole = replayed.settled is None
    batches = None if whole else {*replayed.batches, *replayed.charges, *replayed.evaluated}
    _compare("row of meta", {"1": replayed.head}, {"1": stored_tables.head(connection)})
    accounts = replayed.accounts
    _compare("unit", accounts.units, stored_tables.accounts(connection))
    _compare("party", accounts.parties, stored_tables.standings(connection))
    _compare("policy", accounts.policies, stored_tables.policy_versions(connection))
    _compare("reconciled charge", accounts.reconciled, stored_tables.receipt_charges(connection))
    _compare("publication", accounts.publications, stored_tables.publication_rows(connection))
    publication_charges = stored_tables.publication_charges(connection)
    _compare("charge of publication", accounts.publication_charges, publication_charges)
    _compare("manifest", replayed.manifests, stored_tables.manifest_digests(connection))
    sessions = stored_tables.session_rows(connection, None if whole else replayed.sessions)
    _compare("session", replayed.sessions, sessions)
    _compare("batch", replayed.batches, stored_tables.batch_rows(connection, batches))
    _compare("sum of charges of batch", replayed.charges, stored_tables.charge_digests(connection, batches))
    _compare("votes of batch", replayed.votes, stored_tables.votes(connection, replayed.votes))
    _compare("evaluation of batch", replayed.evaluated, stored_tables.evaluation_rows(connection, batches))
    _compare("entry", {}, stored_tables.entries_without_cause(connection))
    if not whole:
        _compare("sum of charges of unit", replayed.totals, stored_tables.totals(connection))
        _compare("number of rows:", replayed.counts(), stored_tables.counts(connection))


class TamperedError(OstrakaError):
    """A ledger, or an archive of one, that contradicts itself.

    Attributes:
        what: the contradiction.
    """

    def __init__(self, what: str) -> None:
        self.what = what
        super().__init__(
            ErrorCode.LEDGER_TAMPERED,
            f"The ledger was changed by other means than Ostraka: {what}; stop serving from it and"
            " restore a backup.",
        )


def _compare(what: str, logged: Mapping[Any, Any], stored: Mapping[Any, Any]) -> None:
    for key in [*logged, *stored]:
        if logged.get(key) != stored.get(key):
            name = "/".join(map(str, key)) if isinstance(key, tuple) else str(key)
            raise TamperedError(f"{what} {name} is not what the audit log says")
