"""Places of tests' ledgers: a SQLite file, or a database of a PostgreSQL server."""

from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import text

from ostraka.common.clock import ManualClock
from ostraka.guardian.ledger import Ledger, Owed, UnitKey, reconcile, registrations, restore
from ostraka.guardian.ledger.store.storage import open_storage
from ostraka.protos.ostraka.v1 import common_pb2
from tests.guardian.ledger.support import SEAL, cipher, clock, sign

LOST = common_pb2.AuditHead(sequence=1000, hash=b"l" * 32)
"""A head that a party kept of a history that no ledger has any more."""


BEFORE_ENTRIES = (
    "CREATE TABLE publication_charges AS SELECT entry - (SELECT MAX(id) FROM batches) AS publication, unit,"
    " worst_case FROM charges WHERE entry IN (SELECT id FROM publications)",
    "CREATE TABLE old_publications AS SELECT publications.id - (SELECT MAX(id) FROM batches) AS id, state,"
    " votes, statement, beta, sigma, time_unix_ms FROM publications JOIN entries USING (id)",
    "CREATE TABLE reconciled AS SELECT session_id, batch_id, unit, worst_case, time_unix_ms FROM receipts"
    " JOIN entries ON entries.id = receipts.id JOIN charges ON entry = receipts.id",
    "CREATE TABLE old_charges AS SELECT entry AS batch, unit, reserved, worst_case, data_dependent, checked,"
    " vote_total, spent FROM charges WHERE entry IN (SELECT id FROM batches)",
    *(f"DROP TABLE {table}" for table in ("charges", "publications", "receipts", "entries")),
    "ALTER TABLE old_publications RENAME TO publications",
    "ALTER TABLE old_charges RENAME TO charges",
    "CREATE INDEX charges_by_unit ON charges (unit, worst_case)",
    "ALTER TABLE unit_events DROP COLUMN entry",
    "ALTER TABLE unit_events DROP COLUMN votes",
)
"""Turns tables of schema 4 into those of schema 3, except for the version; batches precede publications."""

BEFORE_CHECKPOINTS = (
    "DROP TABLE checkpoints",
    "DROP INDEX charges_by_unit",
    "DROP INDEX batches_by_release",
    "DROP INDEX batches_by_check",
    "ALTER TABLE charges DROP COLUMN spent",
)
"""Turns tables of schema 3 into those of schema 2, except for the version."""


@dataclass
class Place:
    """One ledger, opened any number of times, with one clock."""

    where: Path | str
    time: ManualClock = field(default_factory=clock)
    opened: list[Ledger] = field(default_factory=list)

    def open(self) -> Ledger:
        self.opened.append(
            Ledger.open(self.where, clock=self.time, cipher=cipher(), sign_head=sign, seal=SEAL)
        )
        return self.opened[-1]

    def restore(self, backup: Path) -> int:
        return restore(backup, self.where, clock=self.time, cipher=cipher(), sign_head=sign)

    def execute(self, statement: str) -> None:
        """Change the ledger's database directly."""
        storage = open_storage(self.where)
        with storage.write() as connection:
            connection.execute(text(statement))
        storage.close()

    @staticmethod
    def forget(ledger: Ledger, owed: dict[str, list[tuple[str, int, UnitKey, int]]]) -> None:
        """Let the first party discover that history was lost, and all parties reconcile."""
        for site, items in owed.items():
            ledger.write(registrations.register, site, b"m", b"signed", kept_head=LOST)
            ledger.write(reconcile.reconcile, site, [Owed(*item) for item in items])

    def close(self) -> None:
        for ledger in self.opened:
            ledger.close()
