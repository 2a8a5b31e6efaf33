"""Read-only view of a party's journal, for its operator, even while the party serves."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from ostraka.common.clock import Clock
from ostraka.common.privacy import AMOUNT_UNIT, epsilon
from ostraka.services.journal.file import JournalFile
from ostraka.services.journal.journal import CHARGE_COLUMNS, Spending, head_of
from ostraka.services.journal.limits import GroupCharge, queries_in_day

NEWEST = 10
"""Maximum number of batches shown, the newest ones."""


@dataclass(frozen=True)
class EpsilonTerms:
    """The order and delta at which amounts are shown as epsilons."""

    order: float
    delta: float

    def epsilon(self, amount: int) -> float:
        """Return the epsilon of an amount."""
        return epsilon(amount * AMOUNT_UNIT, self.order, self.delta)


@dataclass(frozen=True)
class AnsweredBatch:
    """A batch that this party answered.

    Attributes:
        session_id: the guardian's session id.
        batch_id: in the session.
        querier: certificate URI of the querying party; empty for batches of earlier versions.
        queries: number of queries of the group that voted on most.
        epsilon_worst_case: maximum cost of this batch alone to any one record.
        answered_unix_s: time of the answer.
    """

    session_id: str
    batch_id: int
    querier: str
    queries: int
    epsilon_worst_case: float
    answered_unix_s: int


@dataclass(frozen=True)
class Journaled:
    """A party's journal as its operator sees it.

    Attributes:
        batches: number of batches that were ever answered.
        spent: the worst-case amount of all of them, at the terms' order.
        epsilon_worst_case: the epsilon of that amount.
        asked_in_day: queries by querying party in the last 24 hours.
        newest: batches, the newest first.
        head: sequence number and hash (hex) of the stored audit head; None before the first.
        epoch: of that head.
    """

    batches: int
    spent: int
    epsilon_worst_case: float
    asked_in_day: dict[str, int]
    newest: Sequence[AnsweredBatch]
    head: tuple[int, str] | None
    epoch: int


def read_journal(path: Path, terms: EpsilonTerms, clock: Clock) -> Journaled | None:
    """Read the journal at `path` in one transaction; None if this party never served.

    Raises `ledger.older`, `ledger.newer`, `ledger.tampered`, `ledger.locked` or `ledger.read_only`.
    """
    if not path.exists():
        return None
    with closing(JournalFile(path, read_only=True)) as file, file.reading() as db:
        db.execute("BEGIN")
        spending = Spending(terms.order)
        spent = spending.total(db)
        head, epoch = head_of(db)
        return Journaled(
            _count(db),
            spent,
            terms.epsilon(spent),
            queries_in_day(db, clock.now()),
            [_batch(db, spending, terms, key) for key in _newest(db)],
            None if head is None else (head.sequence, head.hash.hex()),
            epoch,
        )


def _count(db: sqlite3.Connection) -> int:
    return int(db.execute("SELECT COUNT(*) FROM (SELECT DISTINCT session, batch FROM charges)").fetchone()[0])


def _newest(db: sqlite3.Connection) -> list[tuple[str, str]]:
    statement = "SELECT session, batch FROM charges GROUP BY session, batch ORDER BY MAX(id) DESC LIMIT ?"
    return db.execute(statement, (NEWEST,)).fetchall()


def _batch(
    db: sqlite3.Connection, spending: Spending, terms: EpsilonTerms, key: tuple[str, str]
) -> AnsweredBatch:
    rows = db.execute(
        f"SELECT recorded_unix_s, {CHARGE_COLUMNS} FROM charges WHERE session = ? AND batch = ?",  # noqa: S608
        key,
    ).fetchall()
    charges = [GroupCharge.of_json(*row[1:]) for row in rows]
    asked = db.execute("SELECT querier FROM asked WHERE session = ? AND batch = ?", key).fetchone()
    return AnsweredBatch(
        key[0],
        int(key[1]),
        "" if asked is None else asked[0],
        max(charge.queries for charge in charges),
        terms.epsilon(spending.most(charges)),
        int(rows[0][0]),
    )
