"""A guardian's site with a ten-year-old ledger: many valid charges, written in bulk."""

import json
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, insert, select, update

from ostraka.common.clock import ManualClock
from ostraka.common.config import SiteConfig, write_site
from ostraka.common.identity import CertificateAuthority, Credentials, Identity, Role
from ostraka.common.mechanism import Confident
from ostraka.common.plan.plan import Plan, digest
from ostraka.common.wire.contexts import AUDIT_CONTEXT, GRANT_CONTEXT
from ostraka.guardian.ledger import (
    BudgetTerms,
    Cipher,
    UnitKey,
    load_key,
    open_guardian_ledger,
    registrations,
)
from ostraka.guardian.ledger.log import audit
from ostraka.guardian.ledger.log.audit import sha256
from ostraka.guardian.ledger.sessions import batches
from ostraka.guardian.ledger.site import LEDGER_FILE
from ostraka.guardian.ledger.store.cipher import KEY_FILE
from ostraka.guardian.ledger.store.schema import audit as audit_table
from ostraka.guardian.ledger.store.schema import batches as batch_table
from ostraka.guardian.ledger.store.schema import charges, entries, sessions
from ostraka.guardian.ledger.store.schema import units as unit_table
from ostraka.guardian.ledger.store.storage import open_storage
from ostraka.guardian.ledger.units import budgets, units
from ostraka.protos.ostraka.v1 import common_pb2, guardian_pb2

FEDERATION = "decade"
YEARS = 10  # a decade
YEAR_S = 365.25 * 24 * 3600
PARTIES = 100  # as in docs/operator.md
QUERIES = 200  # of a batch
BATCHES_OF_SESSION = 30  # charges of a unit in one session
COST = 10**9  # in AMOUNT_UNIT; budgets have room for ten years of it
ON_VOTES = 10**8  # less than `COST`, like data-dependent costs


@dataclass(frozen=True)
class OldSite:
    """Folders of a guardian and of an administrator, and the last session of the ledger."""

    guardian: Path
    root: Path
    credentials: Credentials
    session_id: str
    charges: int

    @property
    def ledger(self) -> Path:
        """The ledger's file."""
        return self.guardian / LEDGER_FILE

    def administrator(self, address: str) -> Path:
        """Return the administrator's folder, for a guardian at `address`."""
        folder = self.root / "ops"
        write_site(
            SiteConfig(
                federation=FEDERATION,
                site="ops",
                role="admin",
                guardian=address,
                guardian_site="guardian",
                folder=folder,
            )
        )
        return folder


def make(root: Path, count: int) -> OldSite:
    """Make a site whose ledger has at least `count` charges from the last ten years."""
    begin = time.time() - YEARS * YEAR_S
    clock = ManualClock(begin)
    days = (YEARS + 1) * YEAR_S / 86400
    ca = CertificateAuthority.create(FEDERATION, clock, days=days)
    guardian = root / "guardian"
    for name, role in (("guardian", Role.GUARDIAN), ("ops", Role.ADMIN)):
        (root / name).mkdir()
        ca.issue(Identity(FEDERATION, name, role), root / name, clock, days=days)
    write_site(
        SiteConfig(
            federation=FEDERATION, site="guardian", role="guardian", listen="127.0.0.1:0", folder=guardian
        )
    )
    credentials = Credentials.load(guardian)
    keys = [UnitKey(f"party-{number:03d}", "all", "record") for number in range(PARTIES)]
    with open_guardian_ledger(guardian, credentials, clock) as ledger:
        for key in keys:
            ledger.write(registrations.register, key.party, _manifest(key.party), b"signed")
            ledger.write(budgets.set_budget, key, BudgetTerms(1e9, 1e-5, 8.0, "worst_case"))
    storage = open_storage(guardian / LEDGER_FILE)
    try:
        with storage.write() as connection:
            filling = _Filling(connection, credentials, Cipher(load_key(guardian / KEY_FILE)), keys)
            filling.fill(-(-count // PARTIES), begin)
    finally:
        storage.close()
    return OldSite(guardian, root, credentials, filling.session_id, filling.batch * PARTIES)


class _Filling:
    """Writes rows as the ledger's functions do, many at a time."""

    def __init__(
        self, connection: Connection, credentials: Credentials, cipher: Cipher, keys: list[UnitKey]
    ) -> None:
        self._connection = connection
        self._credentials = credentials
        self._cipher = cipher
        self._keys = keys
        rows = connection.execute(select(unit_table.c.id).order_by(unit_table.c.party))
        self._ids = list(rows.scalars())
        columns = select(audit_table.c.sequence, audit_table.c.hash)
        self._head = tuple(connection.execute(columns.order_by(audit_table.c.sequence.desc())).first() or ())
        self._answers = guardian_pb2.ReleaseReply(
            answers=[guardian_pb2.Answer(answered=True, label=query % 10) for query in range(QUERIES)]
        ).SerializeToString()
        self.session_id = ""
        self.batch = 0

    def fill(self, count: int, begin: float) -> None:
        """Write `count` batches in consecutive sessions, from `begin` (unix seconds) until now."""
        step = YEARS * YEAR_S * 1000 / (count + 1)
        while self.batch < count:
            now_ms = int(begin * 1000 + step * (self.batch + 0.5))
            size = min(BATCHES_OF_SESSION, count - self.batch)
            rows = list(self._session(now_ms, step, size))
            self._connection.execute(insert(audit_table), rows)
        for key, row in zip(self._keys, self._ids, strict=True):
            spent = count * COST
            sealed = units.seal(self._cipher, key, count * ON_VOTES, 0, spent)
            changed = update(unit_table).where(unit_table.c.id == row)
            self._connection.execute(changed.values(spent=spent, data_dependent=sealed))

    def _session(self, now_ms: int, step: float, size: int) -> Iterator[dict[str, Any]]:
        """Write a session with its batches, and yield its rows of the audit log."""
        self.session_id = secrets.token_hex(16)
        plan = _plan(tuple(key.party for key in self._keys))
        querier = f"ostraka://{FEDERATION}/q/query"
        grant = self._credentials.sign(
            GRANT_CONTEXT,
            common_pb2.Grant(
                session_id=self.session_id, enforce="worst_case", bound="worst_case", querier=querier
            ).SerializeToString(),
        ).SerializeToString()
        asked = size * QUERIES
        stored = {"session_id": self.session_id, "querier": querier, "plan": plan, "queries": plan_queries()}
        stored |= {"plan_digest": digest(plan), "grant_bytes": grant, "opened_unix_ms": now_ms}
        self._connection.execute(insert(sessions).values(**stored, state="closed", asked=asked, holder=1))
        yield self._row(
            now_ms,
            "session_opened",
            session=self.session_id,
            querier=querier,
            plan_digest=digest(plan).hex(),
            plan_sha256=sha256(plan),
            grant_sha256=sha256(grant),
            queries=plan_queries(),
        )
        for number in range(size):
            now_ms += int(step * (number > 0))
            yield from self._batch(now_ms)
        yield self._row(now_ms + 2000, "session_closed", session=self.session_id, dead=[])

    def _batch(self, now_ms: int) -> Iterator[dict[str, Any]]:
        self.batch += 1
        ticket = secrets.token_bytes(1300 + 73 * PARTIES)
        request = secrets.token_bytes(32)
        new = insert(entries).values(kind="batch", time_unix_ms=now_ms).returning(entries.c.id)
        row = self._connection.execute(new).scalar_one()
        stored = {"id": row, "session_id": self.session_id, "batch_id": self.batch, "size": QUERIES}
        stored |= {
            "ticket": ticket,
            "state": "released",
            "opened_unix_ms": now_ms,
            "released_unix_ms": now_ms + 1000,
        }
        stored |= {"request_digest": request, "answers": self._answers, "answered": QUERIES}
        self._connection.execute(insert(batch_table).values(stored))
        self._connection.execute(
            insert(charges),
            [
                {
                    "entry": row,
                    "unit": unit,
                    "reserved": COST,
                    "worst_case": COST,
                    "spent": self.batch * COST,
                    "data_dependent": self._cipher.seal(
                        ON_VOTES, *batches.seal_context(self.session_id, self.batch, key)
                    ),
                }
                for key, unit in zip(self._keys, self._ids, strict=True)
            ],
        )
        amounts = [[*key, COST] for key in self._keys]
        same = {"session": self.session_id, "batch": self.batch}
        opened = {"size": QUERIES, "ticket_sha256": sha256(ticket), "reserved": amounts}
        yield self._row(now_ms, "batch_opened", **same, **opened)
        digests = {"request_sha256": request.hex(), "answers_sha256": sha256(self._answers)}
        released = {"answered": QUERIES, "charged": amounts}
        yield self._row(now_ms + 1000, "batch_released", **same, **digests, **released)

    def _row(self, now_ms: int, kind: str, **details: Any) -> dict[str, Any]:
        """Return the next row of the audit log."""
        before, previous = self._head
        payload = json.dumps({"kind": kind, **details}, sort_keys=True, separators=(",", ":"))
        hashed = audit.row_hash(before + 1, now_ms, previous, payload)
        self._head = (before + 1, hashed)
        signed = self._credentials.sign(AUDIT_CONTEXT, audit.head_payload(before + 1, hashed))
        return {
            "sequence": before + 1,
            "time_unix_ms": now_ms,
            "payload": payload,
            "previous": previous,
            "hash": hashed,
            "signed": signed.SerializeToString(),
        }


def plan_queries() -> int:
    """Return the queries of a session."""
    return QUERIES * BATCHES_OF_SESSION


def _manifest(site: str) -> bytes:
    group = common_pb2.Group(name="all", records=1000, teachers=10, copies=1)
    manifest = common_pb2.Manifest(
        site=site, task_digest=bytes(32), groups=[group], max_votes_per_person=1, training="separate"
    )
    return manifest.SerializeToString()


def _plan(members: tuple[str, ...]) -> bytes:
    return Plan(
        nonce=secrets.token_bytes(16),
        task_digest=bytes(32),
        classes=10,
        mechanism=Confident(sigma1=200.0, sigma2=40.0, threshold=300.0),
        parties=members,
        quorum=2,
        queries=plan_queries(),
        batch_size=QUERIES,
        ring_bits=64,
        fraction_bits=16,
        adjacency="record",
    ).serialize()
