"""The ledger: budgets, charges and answers of one guardian (DESIGN section 7)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from sqlalchemy import Connection

from ostraka.common.clock import Clock
from ostraka.common.errors import OstrakaError
from ostraka.guardian.ledger import (
    audit,
    batches,
    charging,
    creation,
    dead_batches,
    evaluations,
    integrity,
    limits,
    releases,
    replicas,
    session_close,
    sessions,
)
from ostraka.guardian.ledger.administration import Administration
from ostraka.guardian.ledger.cipher import Cipher
from ostraka.guardian.ledger.storage import BUSY_TIMEOUT_S, Storage, open_storage
from ostraka.guardian.ledger.transaction import Transaction, retried
from ostraka.guardian.ledger.values import Charge, StoredBatch, StoredSession, UnitKey

LEASE_S = 15.0
T = TypeVar("T")


class Ledger(Administration):
    """A ledger that this process may change. Every method is one transaction; threads may share it.

    On SQLite there is one such process at a time, on PostgreSQL several, each with its own sessions.
    """

    _cipher: Cipher

    def __init__(
        self, storage: Storage, clock: Clock, cipher: Cipher, sign_head: audit.SignHead, lease_s: float
    ) -> None:
        """Use `Ledger.open` instead."""
        super().__init__(storage, cipher)
        self._clock = clock
        self._sign_head = sign_head
        self._lease_ms = int(lease_s * 1000)
        self._number = 0

    @classmethod
    def open(
        cls,
        where: Path | str,
        *,
        clock: Clock,
        cipher: Cipher,
        sign_head: audit.SignHead,
        address: str = "",
        lease_s: float = LEASE_S,
        busy_timeout_s: float = BUSY_TIMEOUT_S,
    ) -> Ledger:
        """Open the ledger at `where`, made if there is none.

        All tables are compared with the audit log first, which takes time in proportion to its length. A
        SQLite file is taken over from whoever held it; its batches without stored answers become dead and
        their reservations void, but for what parties have evaluated. In a PostgreSQL database that happens
        to a session when it is next asked for, if its guardian is gone.

        Args:
            where: a SQLite file, or the URL of a PostgreSQL database (`postgresql+psycopg://...`).
            clock: times of records and leases.
            cipher: made from the key that belongs to this ledger.
            sign_head: signs audit heads as the guardian.
            address: where clients reach this guardian; no other guardian may have it.
            lease_s: for how long others leave this guardian's sessions alone, in seconds. `renew_lease`
                must be called more often.
            busy_timeout_s: how long to wait for another transaction, in seconds.

        Raises:
            OstrakaError: `ledger.newer`, `ledger.older`, `ledger.locked`, `ledger.read_only`,
                `ledger.unreachable`, `config.invalid`; or `ledger.tampered` for what is no ledger, whose
                tables contradict its audit log, or with another key.
        """
        storage = open_storage(where, busy_timeout_s=busy_timeout_s)
        ledger = cls(storage, clock, cipher, sign_head, lease_s)
        try:
            ledger._create()
            ledger._check()
            ledger._enter(address)
        except BaseException:
            storage.close()
            raise
        return ledger

    def close(self) -> None:
        """Close every connection; another guardian may go on with this one's sessions at once."""
        if self._storage.shared and self._number:
            with suppress(OstrakaError), self._storage.write() as connection:
                replicas.leave(connection, self._number)
        super().close()

    @retried
    def renew_lease(self) -> None:
        """Say that this guardian is still there, and go on with the sessions of those that are not.

        Raises:
            OstrakaError: `ledger.fenced` where another one took over; stop serving. `ledger.locked` and
                `ledger.unreachable`: try again before the lease is over.
        """
        with self._write() as tx:
            replicas.renew(tx, self._lease_ms, self._storage.name)

    @retried
    def open_session(
        self,
        session_id: str,
        querier: str,
        plan: bytes,
        plan_digest: bytes,
        grant: bytes,
        *,
        queries: int,
        most_open: int | None = None,
        within_s: float = 0.0,
    ) -> StoredSession:
        """Store a session that may ask `queries` queries, or return the one opened with this plan before.

        Args:
            session_id: new.
            querier: who asks.
            plan: its bytes.
            plan_digest: SHA-256 of them.
            grant: serialized Signed grant.
            queries: the most that it may ask.
            most_open: how many open sessions that are younger than `within_s` seconds `querier` may have.
            within_s: for how long a session can ask.

        Raises:
            OstrakaError: `policy.open_limit`; `session.elsewhere` where another guardian serves that one.
        """
        asked = StoredSession(session_id, querier, plan, plan_digest, grant, "open", queries)
        with self._write() as tx:
            found = sessions.find_by_plan(tx.connection, querier, plan_digest)
            if found is None:
                if most_open is not None:
                    limits.check_open_sessions(
                        tx.connection, querier, tx.now_ms - int(within_s * 1000), most_open
                    )
                found = sessions.open_session(tx, asked)
        with self._holding(found.session_id) as (_, held):
            return held

    @retried
    def close_session(self, session_id: str) -> None:
        """Close a session; its batches without answers become dead. Closing again changes nothing.

        Raises:
            OstrakaError: `session.unknown`.
        """
        self._leave(session_id, "closed")

    @retried
    def end_session(self, session_id: str) -> None:
        """End a session for reasons that must not be told; otherwise as `close_session`."""
        self._leave(session_id, "ended")

    @retried
    def open_batch(
        self,
        session_id: str,
        batch_id: int,
        size: int,
        ticket: bytes,
        reservations: Mapping[UnitKey, int],
        *,
        daily_limit: int | None = None,
        most_open: int | None = None,
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
            daily_limit: how many queries the querying party may ask in 24 hours, in batches that did not die.
            most_open: how many tickets it may hold at a time.

        Raises:
            OstrakaError: `budget.too_small` (detail `fits`: the largest batch that would fit),
                `budget.missing`, `batch.too_large` for more queries than the session may ask,
                `policy.daily_limit` (detail `left`), `policy.open_limit`, `batch.altered`, `batch.dead` (also
                where a unit was frozen or withdrawn: another ticket leaves it out), `session.unknown`,
                `session.closed`, `session.ended`, `session.elsewhere`.
        """
        with self._holding(session_id) as (tx, session):
            return batches.open_batch(
                tx, session, batch_id, size, ticket, reservations, daily_limit, most_open
            )

    @retried
    def record_evaluation(
        self, session_id: str, batch_id: int, party: str, worst: Mapping[UnitKey, int]
    ) -> None:
        """Keep that a party answers a batch of encrypted queries, before its answer leaves.

        From then on the batch costs the party's units whatever becomes of it: what its release charges them,
        or the worst case, if it dies or is released without that party. Again it changes nothing.

        Args:
            session_id: the batch's session.
            batch_id: a ticketed batch.
            party: who answers.
            worst: the worst cost to each of its units that the batch may charge; of what the ticket reserved
                from, what it reserved counts.

        Raises:
            OstrakaError: `batch.dead`, `batch.frozen` where it was released without this party,
                `ticket.invalid` (never opened), `budget.missing`, `session.unknown`, `session.closed`,
                `session.ended`, `session.elsewhere`.
        """
        with self._holding(session_id) as (tx, session):
            evaluations.record(tx, session, batch_id, party, worst)

    @retried
    def charge_check(
        self, session_id: str, batch_id: int, request_digest: bytes, charges: Sequence[Charge]
    ) -> None:
        """Charge a batch for its check out of what it reserved; the rest stays reserved until it is released.

        For blind tallies, whose check is answered before the rest is known. The charge stands whatever
        becomes of the batch; what `release` charges afterwards contains it. The same request again costs
        nothing.

        Args:
            session_id: the batch's session.
            batch_id: a ticketed batch.
            request_digest: SHA-256 of the request's content.
            charges: the cost of the check to each unit; units of the ticket that are left out pay nothing.

        Raises:
            OstrakaError: `batch.altered`, `batch.dead`, `ticket.invalid` (never opened),
                `session.unknown`, `session.closed`, `session.ended`, `session.elsewhere`.
            ValueError: charges that are none, name a unit twice, or exceed what was reserved for one.
        """
        with self._holding(session_id) as (tx, session):
            releases.check(tx, session, batch_id, request_digest, charges)

    @retried
    def release(
        self,
        session_id: str,
        batch_id: int,
        request_digest: bytes,
        answers: bytes,
        charges: Sequence[Charge],
        *,
        answered: int,
        vanish: bool = False,
    ) -> bytes:
        """Store a batch's answers with its final charge, and return the answers that may be sent.

        The same request again returns what was stored and costs nothing. Units of the ticket that
        `charges` leaves out are charged nothing. If a data-dependent budget has no room, the answers are
        dropped, that budget is used up, and the session ends or, with `vanish`, the batch is dead.

        Args:
            session_id: the batch's session.
            batch_id: a ticketed batch.
            request_digest: SHA-256 of the request's content.
            answers: what is sent, byte for byte.
            charges: the cost to each unit; in the worst case at most what was reserved.
            answered: how many of the batch's queries have an answer.
            vanish: whether the session goes on without units whose budget is used up.

        Raises:
            OstrakaError: `batch.altered`, `batch.dead`, `ticket.invalid` (never opened),
                `session.unknown`, `session.closed`, `session.ended`, `session.elsewhere`, `budget.missing`.
            ValueError: charges that are none, name a unit twice, exceed what was reserved for one, or do not
                reach what its check was charged.
        """
        with self._holding(session_id) as (tx, session):
            stored = releases.release(tx, session, batch_id, request_digest, answers, answered, charges)
            if stored is not None:
                return stored
            if vanish:
                dead_batches.kill(tx, session_id, batch_id)
            else:
                session_close.end(tx, session_id, "ended")
        raise batches.dead(batch_id) if vanish else sessions.session_ended(session_id)

    @retried
    def store_figures(self, session_id: str, batch_id: int, figures: Mapping[UnitKey, int]) -> None:
        """Replace what a released batch is said to have cost units on its votes, the worst case until then.

        Only its charges in confidential reports change: balances, filters and the audit log do not, and
        neither do running totals of units that are held to the worst case. The same again changes nothing.

        Args:
            session_id: the batch's session, open or not.
            batch_id: a released batch.
            figures: amounts for units that it was charged to, each at most what was reserved.

        Raises:
            OstrakaError: `session.unknown`, `session.elsewhere`, `batch.dead` for a batch without answers.
            ValueError: an amount that is none or exceeds what was reserved, or a unit that was not charged.
        """
        with self._holding(session_id) as (tx, _):
            batch = batches.find(tx.connection, session_id, batch_id)
            if batch is None or batch.state != "released":
                raise batches.dead(batch_id)
            charging.store_figures(tx, batch, figures)

    @retried
    def settle(self, session_id: str, batch_id: int) -> bytes | None:
        """Return a batch's stored answers, or None and make it dead for good: charged for a check, if it had
        one, and at worst to units whose party has evaluated it.

        Raises:
            OstrakaError: `session.unknown`, `session.elsewhere`.
        """
        with self._holding(session_id) as (tx, _):
            row = batches.find(tx.connection, session_id, batch_id)
            if row is not None and row.state != "ticketed":
                return None if row.answers is None else bytes(row.answers)
            dead_batches.kill(tx, session_id, batch_id)
            return None

    @retried
    def held_session(self, session_id: str) -> StoredSession:
        """Return a session that this guardian serves.

        Raises:
            OstrakaError: `session.unknown`, `session.elsewhere`.
        """
        return self._of_session(session_id, lambda found: sessions.find_session(found, session_id))

    @retried
    def find_session(self, querier: str, plan_digest: bytes) -> StoredSession | None:
        """Return the session that `querier` opened with this plan, or None; raises `session.elsewhere`."""
        found = super().find_session(querier, plan_digest)
        return None if found is None else self.held_session(found.session_id)

    @retried
    def batch(self, session_id: str, batch_id: int) -> StoredBatch | None:
        """Return a batch as stored, or None if its id was never used in the session.

        Raises:
            OstrakaError: `session.unknown`, `session.elsewhere`.
        """
        return self._of_session(session_id, lambda found: batches.read(found, session_id, batch_id))

    @retried
    def session_with_batch(self, session_id: str, batch_id: int) -> tuple[StoredSession, StoredBatch | None]:
        """Return a session that this guardian serves, with one of its batches or None if its id is unused.

        Raises:
            OstrakaError: `session.unknown`, `session.elsewhere`; `message.invalid` for an id that no batch
                can have, whatever the session.
        """
        batches.check_batch_id(batch_id)

        def find(connection: Connection) -> tuple[StoredSession, StoredBatch | None]:
            session = sessions.find_session(connection, session_id)
            return session, batches.read(connection, session_id, batch_id)

        return self._of_session(session_id, find)

    @retried
    def answers(self, session_id: str, batch_id: int, request_digest: bytes) -> bytes | None:
        """Return what this request was answered with before, or None if nothing was released yet.

        Raises:
            OstrakaError: `batch.altered` where the batch was released for another request;
                `session.unknown`, `session.elsewhere`.
        """

        def find(connection: Connection) -> bytes | None:
            row = batches.find(connection, session_id, batch_id)
            return batches.answers_of(row, batch_id, request_digest)

        return self._of_session(session_id, find)

    def _of_session(self, session_id: str, read: Callable[[Connection], T]) -> T:
        """Return what `read` finds while this guardian holds the session."""
        with self._read() as connection:
            if replicas.is_held(connection, session_id, self._number):
                return read(connection)
        with self._holding(session_id) as (tx, _):
            return read(tx.connection)

    def _leave(self, session_id: str, state: str) -> None:
        with self._holding(session_id) as (tx, session):
            if session.state == "open":
                session_close.end(tx, session_id, state)

    @contextmanager
    def _holding(self, session_id: str) -> Iterator[tuple[Transaction, StoredSession]]:
        """Open a transaction in which this guardian holds the session, adopting it first if need be."""
        while True:
            with self._write() as tx:
                session = replicas.hold(tx, session_id)
                if session is not None:
                    yield tx, session
                    return

    @contextmanager
    def _write(self) -> Iterator[Transaction]:
        with self._storage.write() as connection:
            replicas.require_current(connection, self._number, self._storage.name)
            yield self._transaction(connection)

    @contextmanager
    def _read(self) -> Iterator[Connection]:
        with self._storage.read() as connection:
            replicas.require_current(connection, self._number, self._storage.name)
            yield connection

    def _transaction(self, connection: Connection) -> Transaction:
        return Transaction(connection, self._now_ms(), self._cipher, self._sign_head, self._number)

    def _now_ms(self) -> int:
        return int(self._clock.now() * 1000)

    @retried
    def _create(self) -> None:
        with self._storage.write() as connection:
            if integrity.is_empty(connection):
                creation.create(self._transaction(connection))

    def _check(self) -> None:
        with self._storage.read() as connection:
            integrity.check_schema(connection, self._storage.name)
            creation.check_key(connection, self._cipher)
            integrity.check_tables(connection, integrity.chain(connection))

    @retried
    def _enter(self, address: str) -> None:
        with self._storage.write() as connection:
            tx = self._transaction(connection)
            self._number = replicas.enter(tx, address, self._lease_ms, shared=self._storage.shared)
