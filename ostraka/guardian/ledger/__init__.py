"""Budgets, charges, answers and the audit log of one guardian, durable before anything is sent."""

from ostraka.guardian.ledger.archive.backup import backup, restore
from ostraka.guardian.ledger.ledger import Ledger
from ostraka.guardian.ledger.log.checkpoints import Seal
from ostraka.guardian.ledger.log.verify import verify, verify_export
from ostraka.guardian.ledger.migrations.migrate import migrate
from ostraka.guardian.ledger.reader import LedgerReader
from ostraka.guardian.ledger.site import open_guardian_ledger
from ostraka.guardian.ledger.store.cipher import Cipher, load_key, load_or_create_key
from ostraka.guardian.ledger.store.session_values import SessionSummary, StoredBatch, StoredSession
from ostraka.guardian.ledger.store.values import (
    Budget,
    BudgetTerms,
    Charge,
    Owed,
    RecordedCharge,
    Registered,
    SealedCharge,
    StoredAuditRow,
    StoredManifest,
    StoredParty,
    StoredPolicy,
    UnitEvent,
    UnitKey,
)

__all__ = [
    "Budget",
    "BudgetTerms",
    "Charge",
    "Cipher",
    "Ledger",
    "LedgerReader",
    "Owed",
    "RecordedCharge",
    "Registered",
    "Seal",
    "SealedCharge",
    "SessionSummary",
    "StoredAuditRow",
    "StoredBatch",
    "StoredManifest",
    "StoredParty",
    "StoredPolicy",
    "StoredSession",
    "UnitEvent",
    "UnitKey",
    "backup",
    "load_key",
    "load_or_create_key",
    "migrate",
    "open_guardian_ledger",
    "restore",
    "verify",
    "verify_export",
]
