"""Whatever is changed behind Ostraka's back, verification names it."""

import json
import shutil
import sqlite3
from dataclasses import dataclass
from pathlib import Path

import pytest

from ostraka.common.clock import ManualClock
from ostraka.common.errors import ErrorCode
from ostraka.common.identity import CertificateAuthority, Credentials, Identity, Role
from ostraka.guardian.ledger import (
    BudgetTerms,
    Charge,
    Ledger,
    Owed,
    StoredSession,
    open_guardian_ledger,
    reconcile,
    registrations,
    verify,
)
from ostraka.guardian.ledger.log import audit
from ostraka.guardian.ledger.log.audit import GENESIS, row_hash
from ostraka.guardian.ledger.members import policies
from ostraka.guardian.ledger.sessions import batches, endings, session_opening
from ostraka.guardian.ledger.units import budgets
from ostraka.protos.ostraka.v1 import common_pb2
from tests.guardian.ledger.support import (
    ATHENS,
    BUDGET,
    CORINTH,
    DELTA,
    ORDER,
    START,
    clock,
    refused,
    release,
)

FEDERATION = "hellas"
YEAR = 366 * 24 * 3600.0


@dataclass(frozen=True)
class Site:
    """A guardian's folder and the CA that certified it."""

    ca: CertificateAuthority
    credentials: Credentials

    @property
    def path(self) -> Path:
        return self.credentials.folder / "ledger.db"

    def open(self, at: float = START) -> Ledger:
        return open_guardian_ledger(self.credentials.folder, self.credentials, ManualClock(at))

    def verify(self, *heads: common_pb2.AuditHead, federation: str = FEDERATION) -> common_pb2.AuditHead:
        return verify(self.path, ca_pem=self.credentials.ca_pem, federation=federation, heads=heads)

    def execute(self, *statements: str) -> None:
        connection = sqlite3.connect(self.path)
        with connection:
            for statement in statements:
                connection.execute(statement)
        connection.close()


def provisioned(folder: Path, role: Role = Role.GUARDIAN) -> Site:
    folder.mkdir()
    (folder / "site.toml").touch()
    ca = CertificateAuthority.create(FEDERATION, clock())
    return Site(ca, ca.issue(Identity(FEDERATION, "pg", role), folder, clock()))


def fill(site: Site) -> None:
    """Rows 1 and 2 make and open the ledger, 3 and 4 set budgets, 8 releases, 10 kills a batch."""
    with site.open() as ledger:
        ledger.write(
            budgets.set_budget, ATHENS, BudgetTerms(BUDGET, DELTA, ORDER, "worst_case"), reason="a start"
        )
        ledger.write(budgets.set_budget, CORINTH, BudgetTerms(BUDGET, DELTA, ORDER, "data_dependent"))
        ledger.write(registrations.register, "athens", b"m", b"signed")
        session_opening.open_session(
            ledger, StoredSession("s", "q", b"plan", b"digest", b"grant", queries=99)
        )
        ledger.write_session("s", batches.open_batch, 1, 5, b"t", {ATHENS: 100})
        release(ledger, 1, Charge(ATHENS, 60, 3), Charge(CORINTH, 50, 4))
        ledger.write_session("s", batches.open_batch, 2, 5, b"t", {ATHENS: 100})
        ledger.write_session("s", endings.settle, 2)
        ledger.write_session("s", batches.open_batch, 3, 5, b"t", {ATHENS: 100})


@pytest.fixture
def site(tmp_path: Path) -> Site:
    made = provisioned(tmp_path / "pg")
    fill(made)
    return made


def test_an_untouched_ledger_verifies(site: Site) -> None:
    with site.open() as ledger:
        ledger.write_session("s", endings.settle, 7)
        ledger.write_session("s", endings.end)
        kept = ledger.read(audit.head)
        assert site.verify(kept) == kept
    assert site.verify(kept) == kept
    assert kept.sequence == 14


def test_a_ledger_verifies_after_its_guardians_certificate_expired(site: Site) -> None:
    renewed = site.credentials.folder.parent / "renewed"
    renewed.mkdir()
    later = ManualClock(START + YEAR)
    credentials = site.ca.issue(site.credentials.identity, renewed, later)
    with open_guardian_ledger(site.credentials.folder, credentials, later) as ledger:
        assert site.verify() == ledger.read(audit.head)


def test_a_row_signed_after_the_certificate_expired_does_not_verify(site: Site) -> None:
    site.open(START + YEAR).close()
    assert "audit row 12 is not signed" in refused(ErrorCode.LEDGER_TAMPERED, site.verify).message


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        (
            "UPDATE audit SET payload = replace(payload, '60', '40') WHERE sequence = 8",
            "audit row 8 was altered",
        ),
        ("UPDATE audit SET time_unix_ms = time_unix_ms + 1 WHERE sequence = 5", "audit row 5 was altered"),
        ("UPDATE audit SET hash = zeroblob(32) WHERE sequence = 5", "audit row 5 was altered"),
        ("UPDATE audit SET previous = zeroblob(32) WHERE sequence = 5", "audit row 5 does not follow"),
        ("UPDATE audit SET signed = x'00' WHERE sequence = 5", "audit row 5 has no signature"),
        (
            "UPDATE audit SET signed = (SELECT signed FROM audit WHERE sequence = 4) WHERE sequence = 5",
            "audit row 5 carries the signature of another row",
        ),
        ("DELETE FROM audit WHERE sequence = 1", "audit row 1 is missing"),
        ("DELETE FROM audit WHERE sequence = 6", "audit row 6 is missing"),
        ("DELETE FROM audit", "audit row 1 is missing"),
        ("DELETE FROM audit WHERE sequence = 11", "unit athens/all/record"),
        ("UPDATE units SET spent = spent - 1 WHERE id = 1", "unit athens/all/record"),
        ("UPDATE units SET reserved = 0 WHERE id = 1", "unit athens/all/record"),
        ("UPDATE units SET epsilon = 11 WHERE id = 1", "unit athens/all/record"),
        ("UPDATE units SET enforce = 'worst_case' WHERE id = 2", "unit corinth/all/record"),
        ("UPDATE charges SET worst_case = 59 WHERE entry = 1 AND unit = 1", "charges of batch s/1"),
        ("DELETE FROM charges WHERE entry = 1 AND unit = 2", "charges of batch s/1"),
        ("UPDATE batches SET answers = x'00' WHERE id = 1", "batch s/1"),
        ("UPDATE batches SET ticket = x'00' WHERE id = 1", "batch s/1"),
        ("UPDATE batches SET request_digest = x'00' WHERE id = 1", "batch s/1"),
        ("UPDATE batches SET state = 'ticketed' WHERE id = 2", "batch s/2"),
        ("UPDATE sessions SET state = 'closed'", "session s"),
        ("UPDATE sessions SET \"grant_bytes\" = x'00'", "session s"),
        ("UPDATE manifests SET manifest = x'00'", "manifest athens"),
        ("UPDATE meta SET fence = 7", "meta"),
    ],
)
def test_a_changed_row_is_named(site: Site, statement: str, named: str) -> None:
    site.execute(statement)
    assert named in refused(ErrorCode.LEDGER_TAMPERED, site.verify).message


def administrate(site: Site) -> None:
    """One row in every table that administrators and restores fill."""
    head = common_pb2.AuditHead(sequence=1000, hash=b"l" * 32)
    with site.open() as ledger:
        ledger.write(policies.apply, "quorum = 2", reason="first")
        ledger.write(budgets.freeze, CORINTH, frozen=True, reason="asked to")
        ledger.write(registrations.register, "athens", b"m", b"signed", kept_head=head)
        ledger.write(reconcile.reconcile, "athens", [Owed("lost", 7, ATHENS, 40)])


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("UPDATE units SET state = 'active'", "unit corinth/all/record"),
        ("UPDATE units SET state = 'withdrawn'", "unit athens/all/record"),
        ("UPDATE units SET level = 'low' WHERE id = 1", "unit athens/all/record"),
        ("UPDATE units SET agreements = 1 WHERE id = 1", "unit athens/all/record"),
        ("UPDATE units SET spent_before = 1 WHERE id = 1", "unit athens/all/record"),
        ("UPDATE units SET overdrawn_to = 1 WHERE id = 1", "unit athens/all/record"),
        ("UPDATE units SET period_started_unix_ms = 0 WHERE id = 2", "unit corinth/all/record"),
        ("UPDATE units SET broken_unix_ms = 1 WHERE id = 2", "unit corinth/all/record"),
        ("UPDATE unit_events SET reason = '' WHERE unit = 2", "unit corinth/all/record"),
        ("DELETE FROM unit_events WHERE unit = 2 AND kind = 'frozen'", "unit corinth/all/record"),
        (
            "INSERT INTO unit_events (unit, time_unix_ms, kind, epsilon, spent, reason)"
            " VALUES (1, 0, 'raised', 99, 0, '')",
            "unit athens/all/record",
        ),
        ("UPDATE parties SET state = 'suspended'", "party athens"),
        ("UPDATE parties SET reconciled_epoch = 0", "party athens"),
        ("UPDATE parties SET since_unix_ms = 0", "party athens"),
        ("INSERT INTO parties VALUES ('sparta', 'active', 0, 0)", "party sparta"),
        ("DELETE FROM parties", "party athens"),
        ("UPDATE policies SET toml = 'quorum = 1'", "policy 1"),
        ("UPDATE policies SET reason = ''", "policy 1"),
        ("DELETE FROM policies", "policy 1"),
        (
            "UPDATE charges SET worst_case = 39 WHERE entry IN (SELECT id FROM receipts)",
            "reconciled charge lost/7/athens/all/record",
        ),
        (
            "DELETE FROM charges WHERE entry IN (SELECT id FROM receipts)",
            "reconciled charge lost/7/athens/all/record",
        ),
        ("UPDATE meta SET epoch = 0", "meta"),
        ("UPDATE sessions SET asked = 0", "session s"),
        ("UPDATE batches SET opened_unix_ms = 0 WHERE id = 1", "batch s/1"),
        ("UPDATE batches SET released_unix_ms = 0 WHERE id = 1", "batch s/1"),
        ("UPDATE sessions SET opened_unix_ms = 0", "session s"),
    ],
)
def test_a_changed_row_of_administration_is_named(site: Site, statement: str, named: str) -> None:
    administrate(site)
    site.execute(statement)
    assert named in refused(ErrorCode.LEDGER_TAMPERED, site.verify).message


def test_swapped_rows_are_named(site: Site) -> None:
    site.execute(
        "UPDATE audit SET sequence = 100 WHERE sequence = 5",
        "UPDATE audit SET sequence = 5 WHERE sequence = 6",
        "UPDATE audit SET sequence = 6 WHERE sequence = 100",
    )
    assert "audit row 5" in refused(ErrorCode.LEDGER_TAMPERED, site.verify).message


def test_a_chain_recomputed_without_the_guardians_key_is_refused(site: Site) -> None:
    connection = sqlite3.connect(site.path)
    previous = GENESIS
    with connection:
        for sequence, time, payload in connection.execute(
            "SELECT sequence, time_unix_ms, payload FROM audit ORDER BY sequence"
        ).fetchall():
            forged = payload.replace('"record",60]', '"record",10]')
            digest = row_hash(sequence, time, previous, forged)
            connection.execute(
                "UPDATE audit SET payload = ?, previous = ?, hash = ? WHERE sequence = ?",
                (forged, previous, digest, sequence),
            )
            previous = digest
        connection.execute("UPDATE units SET spent = 10 WHERE id = 1")
        connection.execute("UPDATE charges SET worst_case = 10 WHERE entry = 1 AND unit = 1")
    connection.close()
    assert "audit row 8 carries" in refused(ErrorCode.LEDGER_TAMPERED, site.verify).message


@pytest.mark.parametrize("payload", ['{"kind":"party_registered"}', '{"kind":"surprise"}', "[]", "{"])
def test_a_row_that_ostraka_does_not_write_is_named(site: Site, payload: str) -> None:
    with site.open() as ledger:
        head = ledger.read(audit.head)
    digest = row_hash(head.sequence + 1, 0, head.hash, payload)
    connection = sqlite3.connect(site.path)
    with connection:
        connection.execute(
            "INSERT INTO audit VALUES (?, 0, ?, ?, ?, x'')", (head.sequence + 1, payload, head.hash, digest)
        )
    connection.close()
    error = refused(ErrorCode.LEDGER_TAMPERED, site.open)
    assert f"audit row {head.sequence + 1} is none" in error.message


def test_a_truncated_tail_is_found_by_a_kept_head(site: Site) -> None:
    backup = site.path.with_name("backup.db")
    shutil.copy(site.path, backup)
    with site.open() as ledger:
        kept = ledger.read(audit.head)
        ledger.write_session("s", endings.settle, 9)
    assert site.verify(kept).sequence == kept.sequence + 1
    shutil.copy(backup, site.path)
    assert site.verify().sequence == kept.sequence - 1
    error = refused(ErrorCode.LEDGER_TAMPERED, lambda: site.verify(kept))
    assert f"audit row {kept.sequence}, whose signed head a party kept, is missing" in error.message


def test_a_rewritten_tail_is_found_by_a_kept_head(site: Site) -> None:
    backup = site.path.with_name("backup.db")
    shutil.copy(site.path, backup)
    site.open().close()
    with site.open() as ledger:
        ledger.write_session("s", endings.settle, 3)
        kept = ledger.read(audit.head)
    shutil.copy(backup, site.path)
    with site.open() as ledger:
        for batch_id in range(9, 15):
            ledger.write_session("s", endings.settle, batch_id)
    error = refused(ErrorCode.LEDGER_TAMPERED, lambda: site.verify(kept))
    assert f"audit row {kept.sequence}, whose signed head a party kept, was rewritten" in error.message


def test_a_log_written_anew_from_its_first_row_is_found_by_a_kept_head(site: Site) -> None:
    """By one who has the guardian's key: every hash and signature holds, and nothing else does."""
    kept = site.verify()
    site.path.unlink()
    fill(site)
    site.open().close()
    assert site.verify().sequence > kept.sequence
    error = refused(ErrorCode.LEDGER_TAMPERED, lambda: site.verify(kept))
    assert f"audit row {kept.sequence}, whose signed head a party kept, was rewritten" in error.message


@pytest.mark.parametrize("kept_share", [0.9, 0.5, 0.1])
def test_a_truncated_file_is_found(site: Site, kept_share: float) -> None:
    with site.path.open("r+b") as file:
        file.truncate(int(site.path.stat().st_size * kept_share))
    refused(ErrorCode.LEDGER_TAMPERED, site.verify)
    refused(ErrorCode.LEDGER_TAMPERED, site.open)


def test_a_kept_head_must_be_the_guardians(site: Site) -> None:
    head = site.verify()
    longer = common_pb2.AuditHead(sequence=head.sequence + 1, hash=head.hash, signed=head.signed)
    refused(ErrorCode.MESSAGE_INVALID, lambda: site.verify(longer))
    payload = (99).to_bytes(8, "big") + head.hash
    elsewhere = site.credentials.sign(b"ostraka/v1/grant", payload)
    foreign = common_pb2.AuditHead(sequence=99, hash=head.hash, signed=elsewhere)
    refused(ErrorCode.MESSAGE_INVALID, lambda: site.verify(foreign))


def test_rows_of_another_federation_or_role_do_not_verify(site: Site, tmp_path: Path) -> None:
    refused(ErrorCode.LEDGER_TAMPERED, lambda: site.verify(federation="persia"))
    party = provisioned(tmp_path / "party", Role.PARTY)
    fill(party)
    assert "audit row 1 is not signed" in refused(ErrorCode.LEDGER_TAMPERED, party.verify).message


def test_a_missing_ledger(site: Site) -> None:
    site.path.unlink()
    refused(ErrorCode.LEDGER_MISSING, site.verify)


def test_the_log_has_worst_case_amounts_alone(site: Site) -> None:
    connection = sqlite3.connect(site.path)
    payloads = [json.loads(text) for (text,) in connection.execute("SELECT payload FROM audit")]
    connection.close()
    (released,) = [payload for payload in payloads if payload["kind"] == "batch_released"]
    assert released["charged"] == [[*ATHENS, 60], [*CORINTH, 50]]
    assert not any("data_dependent" in key for payload in payloads for key in payload)
