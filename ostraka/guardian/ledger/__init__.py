"""Budgets, charges, answers and the audit log of one guardian, durable before anything is sent."""

from ostraka.guardian.ledger.backup import backup
from ostraka.guardian.ledger.checkpoints import Seal
from ostraka.guardian.ledger.cipher import Cipher, load_key, load_or_create_key
from ostraka.guardian.ledger.ledger import Ledger
from ostraka.guardian.ledger.migrate import migrate
from ostraka.guardian.ledger.reader import LedgerReader
from ostraka.guardian.ledger.restore import restore
from ostraka.guardian.ledger.session_values import SessionSummary, StoredBatch, StoredSession
from ostraka.guardian.ledger.site import open_guardian_ledger
from ostraka.guardian.ledger.values import (
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
from ostraka.guardian.ledger.verify import verify, verify_export

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
