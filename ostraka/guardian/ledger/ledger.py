"""The ledger: budgets, charges and answers of one guardian (docs/architecture.md#how-the-ledger-is-used)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar, cast

from sqlalchemy import Connection

from ostraka.common.clock import Clock
from ostraka.common.errors import OstrakaError
from ostraka.guardian.ledger import creation, replicas
from ostraka.guardian.ledger.log import audit, checkpoints
from ostraka.guardian.ledger.reader import LedgerReader, View
from ostraka.guardian.ledger.store import schema_version
from ostraka.guardian.ledger.store.cipher import Cipher
from ostraka.guardian.ledger.store.group_commit import GroupCommit
from ostraka.guardian.ledger.store.session_values import StoredSession
from ostraka.guardian.ledger.store.storage import BUSY_TIMEOUT_S, Storage, open_storage
from ostraka.guardian.ledger.transaction import CommittedError, Transaction, retry

MAX_RECALLED = 32
"""Number of answers in memory; the answer for a session with thousands of parties takes a megabyte."""


class Recall:
    """Cached answers about one version of a ledger; threads may share it.

    Every answer was true at some moment after the question, as if it had been read then.
    """

    def __init__(self, version: Callable[[], object]) -> None:
        self._version = version
        # Guards the cached answers and their version; it is not held during a read.
        self._lock = threading.Lock()
        self._kept_of: object = None
        self._kept: dict[Hashable, object] = {}

    def answer(self, question: Hashable, read: Callable[[], T]) -> T:
        """Return the result of `read`, or the cached one for this question and version; raises as `read`."""
        version = self._version()
        with self._lock:
            if version != self._kept_of:
                self._kept_of = version
                # A new dict, not a cleared one: results that other threads read of the old version go into
                # the old one.
                self._kept = {}
            kept = self._kept
            if question in kept:
                return cast(T, kept[question])
        found = read()
        with self._lock:
            if len(kept) >= MAX_RECALLED:
                kept.clear()
            kept[question] = found
        return found


LEASE_S = 15.0
P = ParamSpec("P")
T = TypeVar("T")
W = TypeVar("W")


class Ledger(LedgerReader):
    """A ledger that this process may change; threads may share it.

    Functions of this package's modules read and change it; they are called with a transaction. This class
    adds what they share: every change is behind the fence, runs again if other transactions undid it, and is
    durable before the call returns. On SQLite there is one such process at a time; on PostgreSQL there may be
    several, each with its own sessions.
    """

    _cipher: Cipher

    def __init__(
        self,
        storage: Storage,
        clock: Clock,
        cipher: Cipher,
        sign_head: audit.SignHead,
        seal: checkpoints.Seal,
        lease_s: float,
    ) -> None:
        """Use `Ledger.open` instead."""
        super().__init__(storage, cipher)
        self._clock = clock
        self._sign_head = sign_head
        self._seal = seal
        self._lease_ms = int(lease_s * 1000)
        self._number = 0
        self._recall = Recall(storage.version)
        self._group_commit = GroupCommit(self.write)

    @classmethod
    def open(
        cls,
        where: Path | str,
        *,
        clock: Clock,
        cipher: Cipher,
        sign_head: audit.SignHead,
        seal: checkpoints.Seal,
        address: str = "",
        lease_s: float = LEASE_S,
        busy_timeout_s: float = BUSY_TIMEOUT_S,
    ) -> Ledger:
        """Open the ledger at `where`; create it if there is none.

        The tables are first compared with the audit log, as `checkpoints.check` describes: from its last
        checkpoint on, or without one from its first row, which takes time in proportion to its length. A
        SQLite file is taken over from its last holder; its batches without stored answers become dead, as
        `endings.bury` describes. In a PostgreSQL database that happens to a session at its next request, if
        its guardian is gone.

        Args:
            where: a SQLite file, or the URL of a PostgreSQL database (`postgresql+psycopg://...`).
            clock: times of records and leases.
            cipher: made from this ledger's key.
            sign_head: signs audit heads as the guardian.
            seal: signs and verifies checkpoints.
            address: this guardian's address for clients; no other guardian may have it.
            lease_s: how long other guardians leave this guardian's sessions alone, in seconds. `renew_lease`
                must be called more often.
            busy_timeout_s: how long to wait for another transaction, in seconds.

        Raises:
            OstrakaError: `ledger.newer`, `ledger.older`, `ledger.locked`, `ledger.read_only`,
                `ledger.unreachable`, `config.invalid`; or `ledger.tampered` if it is not a ledger, its tables
                contradict its audit log, or the key is another ledger's.
        """
        storage = open_storage(where, busy_timeout_s=busy_timeout_s)
        ledger = cls(storage, clock, cipher, sign_head, seal, lease_s)
        try:
            retry(ledger._create)
            with storage.read() as connection:
                schema_version.check_schema(connection, storage.name)
                creation.check_key(connection, cipher)
                read = checkpoints.check(connection, seal)
            retry(lambda: ledger._enter(address, read))
        except BaseException:
            storage.close()
            raise
        return ledger

    def close(self) -> None:
        """Close every connection; another guardian may take over this one's sessions at once."""
        self._group_commit.close()
        if self._storage.shared and self._number:
            with suppress(OstrakaError), self._storage.write() as connection:
                replicas.leave(connection, self._number)
        super().close()

    def renew_lease(self) -> None:
        """Renew this guardian's lease, and take over the sessions of guardians whose lease has expired.

        If the audit log has grown by `checkpoints.ROWS`, write its next checkpoint.

        Raises:
            OstrakaError: `ledger.fenced` if another guardian took over: stop serving. `ledger.locked` and
                `ledger.unreachable`: try again before the lease ends. `ledger.tampered` if the log does not
                match its last checkpoint.
        """
        self.write(replicas.renew, self._lease_ms, self._storage.name)
        with self._storage.read() as connection:
            made = checkpoints.next_of(connection, self._seal)
        if made is not None:
            self.write(checkpoints.store, self._seal, made)

    def write(
        self, change: Callable[Concatenate[Transaction, P], T], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Make a change as one transaction: `ledger.write(budgets.withdraw, key, reason=reason)`.

        `change` is called with the transaction and the other arguments, and again if other transactions undid
        it.

        Raises:
            OstrakaError: `ledger.fenced` if another guardian took over, `ledger.locked`, `ledger.read_only`,
                `ledger.unreachable`, `ledger.tampered`, `storage.full`; and as `change`.
        """

        def attempt() -> T:
            with self._transaction() as tx:
                return change(tx, *args, **kwargs)

        return retry(attempt)

    def write_as(
        self, by: str, change: Callable[Concatenate[Transaction, P], T], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """As `write`, for the administrator `by`, whom the audit log names."""
        return self.write(lambda tx: change(replace(tx, by=by), *args, **kwargs))

    def write_grouped(
        self, change: Callable[[Transaction, Sequence[W]], Sequence[T]], key: Hashable, wanted: W
    ) -> T:
        """As `write`, but group concurrent requests: `change` takes all of them in one transaction.

        No two requests with the same `key` are grouped. If `change` refuses, it is called again for each
        alone.
        """
        return cast(T, self._group_commit.make(change, key, wanted))

    def write_session(
        self,
        session_id: str,
        change: Callable[Concatenate[Transaction, StoredSession, P], T],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """As `write`, for a session that this guardian has, or first adopts from a guardian that is gone.

        Raises:
            OstrakaError: `session.unknown`, `session.elsewhere`; and as `write`.
        """

        def attempt() -> T:
            while True:
                with self._transaction() as tx:
                    session = replicas.hold(tx, session_id)
                    if session is not None:
                        return change(tx, session, *args, **kwargs)

        return retry(attempt)

    def read_session(
        self,
        session_id: str,
        question: Callable[Concatenate[View, str, P], T],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """As `read`, for a session that this guardian has, or first adopts from a guardian that is gone.

        Raises:
            OstrakaError: `session.unknown`, `session.elsewhere`; and as `write`.
        """
        with self._view() as view:
            if replicas.is_held(view.connection, session_id, self._number):
                return question(view, session_id, *args, **kwargs)
        return self.write_session(session_id, lambda tx, _: question(tx, session_id, *args, **kwargs))

    def recall(self, question: Callable[Concatenate[View, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """As `read`, but cached in memory until any process commits a change.

        Arguments must be hashable. The result is shared by all callers and must not be changed.
        """
        key = (question, args, tuple(kwargs.items()))
        return self._recall.answer(key, lambda: self.read(question, *args, **kwargs))

    def recall_session(
        self,
        session_id: str,
        question: Callable[Concatenate[View, str, P], T],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """As `read_session`, with the cache of `recall`."""
        key = (question, session_id, args, tuple(kwargs.items()))
        return self._recall.answer(key, lambda: self.read_session(session_id, question, *args, **kwargs))

    @contextmanager
    def _transaction(self) -> Iterator[Transaction]:
        committed = None
        with self._storage.write() as connection:
            replicas.require_current(connection, self._number, self._storage.name)
            try:
                yield self._transaction_without_fence(connection)
            except CommittedError as exc:
                committed = exc.error
        if committed is not None:
            raise committed

    @contextmanager
    def _view(self) -> Iterator[View]:
        with super()._view() as view:
            replicas.require_current(view.connection, self._number, self._storage.name)
            yield view

    def _transaction_without_fence(self, connection: Connection) -> Transaction:
        now_ms = int(self._clock.now() * 1000)
        return Transaction(connection, self._cipher, now_ms, self._sign_head, self._number)

    def _create(self) -> None:
        with self._storage.write() as connection:
            if schema_version.is_empty(connection):
                creation.create(self._transaction_without_fence(connection))

    def _enter(self, address: str, read: checkpoints.Checkpoint) -> None:
        with self._storage.write() as connection:
            tx = self._transaction_without_fence(connection)
            checkpoints.store(tx, self._seal, read)
            self._number = replicas.enter(tx, address, self._lease_ms, shared=self._storage.shared)
