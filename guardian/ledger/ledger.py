"""The ledger: budgets, charges and answers of one guardian (DESIGN section 7)."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, insert, select, update

from common.clock import Clock
from common.errors import ErrorCode, OstrakaError
from guardian.ledger import audit, batches, integrity, releases, sessions
from guardian.ledger.administration import Administration
from guardian.ledger.cipher import Cipher
from guardian.ledger.schema import SCHEMA_VERSION, meta, metadata
from guardian.ledger.schema import batches as batch_table
from guardian.ledger.storage import Storage
from guardian.ledger.transaction import Transaction
from guardian.ledger.values import Charge, StoredSession, UnitKey


class Ledger(Administration):
    """The one process that may change a ledger. Every method is one transaction; threads may share it."""

    _cipher: Cipher

    def __init__(self, storage: Storage, clock: Clock, cipher: Cipher, sign_head: audit.SignHead) -> None:
        """Use `Ledger.open` instead."""
        super().__init__(storage, cipher)
        self._clock = clock
        self._sign_head = sign_head
        self._fence = 0

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        clock: Clock,
        cipher: Cipher,
        sign_head: audit.SignHead,
        busy_timeout_s: float = 5.0,
    ) -> Ledger:
        """Open the ledger at `path`, made if there is none, and take it over from whoever held it.

        Batches without stored answers become dead and their reservations void.

        Args:
            path: the SQLite file.
            clock: times of records.
            cipher: made from the key that belongs to this ledger.
            sign_head: signs audit heads as the guardian.
            busy_timeout_s: how long to wait for another process's transaction, in seconds.

        Raises:
            OstrakaError: `ledger.newer`, `ledger.locked`, `ledger.read_only`, or `ledger.tampered` for a
                file that is no ledger, whose tables contradict its audit log, or with another key.
        """
        storage = Storage(path, busy_timeout_s=busy_timeout_s)
        ledger = cls(storage, clock, cipher, sign_head)
        try:
            ledger._take_over()
        except BaseException:
            storage.close()
            raise
        return ledger

    def open_session(
        self,
        session_id: str,
        querier: str,
        plan: bytes,
        plan_digest: bytes,
        grant: bytes,
        *,
        queries: int,
    ) -> StoredSession:
        """Store a session that may ask `queries` queries, or return the one opened with this plan before."""
        asked = StoredSession(session_id, querier, plan, plan_digest, grant, "open", queries)
        with self._write() as tx:
            return sessions.open_session(tx, asked)

    def close_session(self, session_id: str) -> None:
        """Close a session; its batches without answers become dead. Closing again changes nothing.

        Raises:
            OstrakaError: `session.unknown`.
        """
        self._leave(session_id, "closed")

    def end_session(self, session_id: str) -> None:
        """End a session for reasons that must not be told; otherwise as `close_session`."""
        self._leave(session_id, "ended")

    def open_batch(
        self,
        session_id: str,
        batch_id: int,
        size: int,
        ticket: bytes,
        reservations: Mapping[UnitKey, int],
    ) -> bytes:
        """Reserve a batch's worst cost from all its units or none, and return the ticket stored for it.

        A repeated call with the same size returns the first call's ticket. Units whose budget is enforced
        data-dependently reserve nothing, and may be left out.

        Args:
            session_id: an open session.
            batch_id: at most 2^63 - 1, new in the session.
            size: queries in the batch.
            ticket: serialized Signed ticket.
            reservations: worst-case amounts for every unit that the release may charge.

        Raises:
            OstrakaError: `budget.too_small` (detail `fits`: the largest batch that would fit),
                `budget.missing`, `batch.too_large` for more queries than the session may ask,
                `batch.altered`, `batch.dead`, `session.unknown`, `session.closed`, `session.ended`.
        """
        with self._write() as tx:
            return batches.open_batch(tx, session_id, batch_id, size, ticket, reservations)

    def release(
        self,
        session_id: str,
        batch_id: int,
        request_digest: bytes,
        answers: bytes,
        charges: Sequence[Charge],
        *,
        answered: int,
    ) -> bytes:
        """Store a batch's answers with its final charge, and return the answers that may be sent.

        The same request again returns what was stored and costs nothing. Units of the ticket that
        `charges` leaves out are charged nothing. If a data-dependent budget has no room, the answers are
        dropped, that budget is used up and the session ends.

        Args:
            session_id: the batch's session.
            batch_id: a ticketed batch.
            request_digest: SHA-256 of the request's content.
            answers: what is sent, byte for byte.
            charges: the cost to each unit; in the worst case at most what was reserved.
            answered: how many of the batch's queries have an answer.

        Raises:
            OstrakaError: `batch.altered`, `batch.dead`, `ticket.invalid` (never opened),
                `session.unknown`, `session.closed`, `session.ended`, `budget.missing`.
            ValueError: charges that are none, name a unit twice, or exceed what was reserved for one.
        """
        with self._write() as tx:
            stored = releases.release(tx, session_id, batch_id, request_digest, answers, answered, charges)
            if stored is not None:
                return stored
            self._end(tx, session_id, "ended")
        raise sessions.session_ended(session_id)

    def answers(self, session_id: str, batch_id: int, request_digest: bytes) -> bytes | None:
        """Return what this request was answered with before, or None if nothing was released yet.

        Raises:
            OstrakaError: `batch.altered` where the batch was released for another request.
        """
        with self._read() as connection:
            row = batches.find(connection, session_id, batch_id)
            return batches.answers_of(row, batch_id, request_digest)

    def settle(self, session_id: str, batch_id: int) -> bytes | None:
        """Return a batch's stored answers, or None and make it dead for good, uncharged.

        Raises:
            OstrakaError: `session.unknown`.
        """
        with self._write() as tx:
            sessions.find_session(tx.connection, session_id)
            row = batches.find(tx.connection, session_id, batch_id)
            if row is not None and row.state != "ticketed":
                return None if row.answers is None else bytes(row.answers)
            if row is None:
                batches.insert_batch(tx, session_id, batch_id, size=0, ticket=b"", state="dead")
            else:
                batches.bury(tx, batch_table.c.id == row.id)
            tx.record("batch_dead", session=session_id, batch=batch_id)
            return None

    def _leave(self, session_id: str, state: str) -> None:
        with self._write() as tx:
            if sessions.find_session(tx.connection, session_id).state == "open":
                self._end(tx, session_id, state)

    @staticmethod
    def _end(tx: Transaction, session_id: str, state: str) -> None:
        dead = batches.bury(tx, batch_table.c.session_id == session_id)
        sessions.set_state(tx, session_id, state)
        tx.record(f"session_{state}", session=session_id, dead=[batch for _, batch in dead])

    @contextmanager
    def _write(self) -> Iterator[Transaction]:
        with self._storage.write() as connection:
            self._check_fence(connection)
            yield self._transaction(connection)

    @contextmanager
    def _read(self) -> Iterator[Connection]:
        with self._storage.read() as connection:
            self._check_fence(connection)
            yield connection

    def _transaction(self, connection: Connection) -> Transaction:
        return Transaction(connection, int(self._clock.now() * 1000), self._cipher, self._sign_head)

    def _check_fence(self, connection: Connection) -> None:
        if connection.execute(select(meta.c.fence)).scalar_one() != self._fence:
            raise OstrakaError(
                ErrorCode.LEDGER_FENCED,
                f"Another guardian took over the ledger {self._storage.path}; stop this one.",
            )

    def _take_over(self) -> None:
        with self._storage.write() as connection:
            tx = self._transaction(connection)
            if integrity.is_empty(connection):
                self._create(tx)
            integrity.check_schema(connection, self._storage.path)
            row = connection.execute(select(meta)).one()
            self._cipher.unseal(row.key_check, "key", row.ledger_id.hex())
            integrity.check_tables(connection, integrity.chain(connection))
            self._fence = row.fence + 1
            connection.execute(update(meta).values(fence=self._fence))
            tx.record("opened", fence=self._fence, dead=batches.bury(tx))

    def _create(self, tx: Transaction) -> None:
        ledger_id = secrets.token_bytes(16)
        metadata.create_all(tx.connection)
        tx.connection.execute(
            insert(meta).values(
                id=1,
                schema_version=SCHEMA_VERSION,
                ledger_id=ledger_id,
                fence=0,
                epoch=0,
                key_check=self._cipher.seal(0, "key", ledger_id.hex()),
            )
        )
        tx.record("created", ledger=ledger_id.hex())
