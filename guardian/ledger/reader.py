"""Reading a ledger without the right to change it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from sqlalchemy import Connection, func, select

from ostraka.guardian.ledger import (
    audit,
    batches,
    history,
    integrity,
    limits,
    parties,
    policies,
    reconcile,
    revocations,
    sessions,
    units,
)
from ostraka.guardian.ledger.cipher import Cipher
from ostraka.guardian.ledger.schema import audit as audit_table
from ostraka.guardian.ledger.schema import batches as batch_table
from ostraka.guardian.ledger.schema import charges as charge_table
from ostraka.guardian.ledger.schema import evaluations as evaluation_table
from ostraka.guardian.ledger.schema import units as unit_table
from ostraka.guardian.ledger.storage import Storage, open_storage
from ostraka.guardian.ledger.values import (
    AppliedRevocations,
    Budget,
    RecordedCharge,
    SessionSummary,
    StoredAuditRow,
    StoredBatch,
    StoredManifest,
    StoredParty,
    StoredPolicy,
    StoredSession,
    UnitEvent,
    UnitKey,
)
from ostraka.protos.ostraka.v1 import common_pb2

_AUDIT_ROWS_AT_ONCE = 1000


class LedgerReader:
    """What may be read of a ledger, beside a guardian that serves from it or without one."""

    def __init__(self, storage: Storage, cipher: Cipher | None) -> None:
        """Use `LedgerReader.open_read_only` or `Ledger.open` instead."""
        self._storage = storage
        self._cipher = cipher

    @classmethod
    def open_read_only(cls, where: Path | str, *, cipher: Cipher | None = None) -> LedgerReader:
        """Open a file or a database's URL for reading; with its `cipher` data-dependent amounts, too.

        Raises:
            OstrakaError: `ledger.missing`, `ledger.newer`, `ledger.older`, `ledger.tampered` (not a
                ledger), `ledger.locked` or `ledger.unreachable`.
        """
        storage = open_storage(where, read_only=True)
        try:
            with storage.read() as connection:
                integrity.check_schema(connection, storage.name)
        except BaseException:
            storage.close()
            raise
        return LedgerReader(storage, cipher)

    def close(self) -> None:
        """Close the file; the ledger cannot be used any more."""
        self._storage.close()

    def __enter__(self) -> Self:
        """Return the ledger itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self.close()

    def budgets(self, party: str | None = None) -> list[Budget]:
        """Every unit's budget with what it spent in the worst case, or one party's, in unit order."""
        with self._read() as connection:
            return units.all_budgets(connection, party)

    def budgets_of(self, keys: Iterable[UnitKey]) -> list[Budget]:
        """Return the budgets of `keys`, in unit order.

        Raises:
            OstrakaError: `budget.missing` naming the first that has none.
        """
        with self._read() as connection:
            return [units.budget(row) for row in units.require(connection, keys, lock=False).values()]

    def find_budgets(self, keys: Iterable[UnitKey]) -> dict[UnitKey, Budget]:
        """Return the budgets of those `keys` that have one, in unit order."""
        with self._read() as connection:
            return {key: units.budget(row) for key, row in self._units(connection, keys).items()}

    def exhausted(self, keys: Iterable[UnitKey]) -> set[UnitKey]:
        """Those of `keys` whose budget is data-dependent and used up; confidential as long as policy says so.

        Raises:
            ValueError: the ledger was opened without its cipher.
            OstrakaError: `ledger.tampered` where the key does not open an amount.
        """
        cipher = self._require_cipher()
        with self._read() as connection:
            rows = self._units(connection, keys)
            return {key for key, row in rows.items() if units.is_exhausted(cipher, row)}

    def history(self, key: UnitKey) -> list[UnitEvent]:
        """Return what happened to a unit, including charges, oldest first.

        Raises:
            OstrakaError: `budget.missing`.
        """
        with self._read() as connection:
            row = units.require(connection, [key], lock=False)[key]
            return history.history(connection, row.id)

    def parties(self, site: str | None = None) -> list[StoredParty]:
        """Every party, or the one of this name if it is known, in order of their names."""
        with self._read() as connection:
            return parties.all_parties(connection, site)

    def policy(self) -> StoredPolicy | None:
        """Return the policy that was applied last, if one was."""
        with self._read() as connection:
            return policies.in_force(connection)

    def revocations_after(self, row: int = 0) -> AppliedRevocations:
        """Return the revocation lists that were applied in the audit log after `row`."""
        with self._read() as connection:
            return revocations.after(connection, row)

    def epoch(self) -> int:
        """How often the ledger was restored."""
        with self._read() as connection:
            return parties.epoch(connection)

    def manifests(self, sites: Sequence[str] | None = None) -> dict[str, StoredManifest]:
        """Return the latest manifest of each of `sites` (None: of all) that registered."""
        with self._read() as connection:
            return sessions.latest_manifests(connection, sites)

    def session(self, session_id: str) -> StoredSession:
        """Return a session as stored.

        Raises:
            OstrakaError: `session.unknown`.
        """
        with self._read() as connection:
            return sessions.find_session(connection, session_id)

    def find_session(self, querier: str, plan_digest: bytes) -> StoredSession | None:
        """Return the session that `querier` opened with this plan, if there is one."""
        with self._read() as connection:
            return sessions.find_by_plan(connection, querier, plan_digest)

    def sessions(self, querier: str | None = None, most: int | None = None) -> list[SessionSummary]:
        """Sessions in the order they were opened: all, or the latest `most` of one querying party.

        A batch counts as asked until it is dead.
        """
        with self._read() as connection:
            return sessions.summaries(connection, querier, most)

    def asked_in_day(self, querier: str, now_ms: int) -> int:
        """How many queries a querying party asked in the 24 hours before `now_ms`, as its limit counts."""
        with self._read() as connection:
            return limits.asked_in_day(connection, querier, now_ms)

    def batch(self, session_id: str, batch_id: int) -> StoredBatch | None:
        """Return a batch as stored, or None if its id was never used in the session."""
        with self._read() as connection:
            return batches.read(connection, session_id, batch_id)

    def answers(self, session_id: str, batch_id: int, request_digest: bytes) -> bytes | None:
        """Return the stored answers of this request, or None if the batch was not released.

        Raises:
            OstrakaError: `batch.altered` if it was released to another request.
        """
        with self._read() as connection:
            return batches.answers_of(
                batches.find(connection, session_id, batch_id), batch_id, request_digest
            )

    def head(self) -> common_pb2.AuditHead:
        """Return the audit log's latest row, signed."""
        with self._read() as connection:
            return audit.head(connection)

    def audit_rows(self, first: int = 1) -> Iterator[StoredAuditRow]:
        """Yield the audit log from row `first` on, read in parts: no transaction waits for the reader."""
        while rows := self._audit_rows(first):
            yield from rows
            first = rows[-1].sequence + 1

    def charges(
        self,
        session_id: str | None = None,
        *,
        party: str | None = None,
        from_ms: int = 0,
        to_ms: int | None = None,
    ) -> list[RecordedCharge]:
        """Return what every batch was charged, oldest first; of one session, party or time, if so asked.

        One that was checked and not released counts from its check on, with what that cost; one that died
        after a party had evaluated it from its death on, with its worst cost to that party.

        Data-dependent amounts are read with the ledger's key alone and belong in confidential
        reports. Charges that a party's receipts made good are in `reconciled_charges`.

        Args:
            session_id: of this session alone.
            party: of this party's units alone.
            from_ms: charged then or later, in unix milliseconds.
            to_ms: charged before.

        Raises:
            OstrakaError: `ledger.tampered` where the key does not open an amount.
        """
        evaluated = (evaluation_table.c.batch == charge_table.c.batch) & (
            evaluation_table.c.unit == charge_table.c.unit
        )
        charged_ms = func.coalesce(
            batch_table.c.released_unix_ms,
            evaluation_table.c.charged_unix_ms,
            batch_table.c.checked_unix_ms,
        )
        statement = (
            select(batch_table.c.session_id, batch_table.c.batch_id, charge_table.c.worst_case)
            .add_columns(unit_table.c.party, unit_table.c.group_name, unit_table.c.adjacency)
            .add_columns(charge_table.c.data_dependent.label("sealed"))
            .join(charge_table, charge_table.c.batch == batch_table.c.id)
            .join(unit_table, unit_table.c.id == charge_table.c.unit)
            .outerjoin(evaluation_table, evaluated)
            .add_columns(charged_ms.label("charged_unix_ms"))
            .where(charged_ms >= from_ms)
            .order_by(charged_ms, batch_table.c.id, unit_table.c.id)
        )
        if session_id is not None:
            statement = statement.where(batch_table.c.session_id == session_id)
        if party is not None:
            statement = statement.where(unit_table.c.party == party)
        if to_ms is not None:
            statement = statement.where(charged_ms < to_ms)
        with self._read() as connection:
            return [
                RecordedCharge(
                    session_id=row.session_id,
                    batch_id=row.batch_id,
                    unit=units.key_of(row),
                    worst_case=row.worst_case,
                    data_dependent=self._unseal(row.sealed, row.session_id, row.batch_id, units.key_of(row)),
                    released_unix_ms=row.charged_unix_ms,
                )
                for row in connection.execute(statement)
            ]

    def charged_sessions(self, party: str | None = None) -> set[tuple[UnitKey, str]]:
        """Which sessions released something of which units, charged or for nothing; of one party or all."""
        statement = (
            select(unit_table.c.party, unit_table.c.group_name, unit_table.c.adjacency)
            .add_columns(batch_table.c.session_id)
            .join(charge_table, charge_table.c.unit == unit_table.c.id)
            .join(batch_table, batch_table.c.id == charge_table.c.batch)
            .where(batch_table.c.released_unix_ms.is_not(None))
            .distinct()
        )
        if party is not None:
            statement = statement.where(unit_table.c.party == party)
        with self._read() as connection:
            return {(units.key_of(row), row.session_id) for row in connection.execute(statement)}

    def reconciled_charges(self, party: str | None = None) -> list[RecordedCharge]:
        """Return what a restored ledger had forgotten and charged from receipts, oldest first."""
        with self._read() as connection:
            return reconcile.charges(connection, party)

    def data_dependent_totals(self) -> dict[UnitKey, int]:
        """Every unit's data-dependent total, in amounts; confidential, never to leave the guardian.

        Raises:
            ValueError: the ledger was opened without its cipher.
            OstrakaError: `ledger.tampered` where the key does not open an amount.
        """
        cipher = self._require_cipher()
        with self._read() as connection:
            rows = connection.execute(select(unit_table).order_by(unit_table.c.id)).all()
            return {units.key_of(row): units.data_dependent_total(cipher, row) for row in rows}

    def _audit_rows(self, first: int) -> list[StoredAuditRow]:
        statement = select(audit_table).where(audit_table.c.sequence >= first)
        statement = statement.order_by(audit_table.c.sequence).limit(_AUDIT_ROWS_AT_ONCE)
        with self._read() as connection:
            return [StoredAuditRow(*row) for row in connection.execute(statement)]

    @staticmethod
    def _units(connection: Connection, keys: Iterable[UnitKey]) -> dict[UnitKey, units.UnitRow]:
        return units.find(connection, keys, lock=False)

    def _require_cipher(self) -> Cipher:
        if self._cipher is None:
            raise ValueError("data-dependent totals need the ledger's cipher")
        return self._cipher

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """Open a transaction that reads one state of the whole ledger, for copies of it."""
        with self._read() as connection:
            yield connection

    def _unseal(self, sealed: bytes, session_id: str, batch_id: int, key: UnitKey) -> int | None:
        if self._cipher is None:
            return None
        return self._cipher.unseal(sealed, *batches.sealed_row(session_id, batch_id, key))

    @contextmanager
    def _read(self) -> Iterator[Connection]:
        with self._storage.read() as connection:
            yield connection
