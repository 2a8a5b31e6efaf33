"""The ledger of a guardian's site folder."""

from __future__ import annotations

from pathlib import Path

from common.clock import Clock
from common.identity import Credentials
from common.protocol import AUDIT_CONTEXT
from guardian.ledger.cipher import Cipher, load_or_create_key
from guardian.ledger.ledger import Ledger

LEDGER_FILE = "ledger.db"


def open_guardian_ledger(folder: Path, credentials: Credentials, clock: Clock) -> Ledger:
    """Take over `folder`/ledger.db, made with its key at the first call; heads are signed by `credentials`.

    Raises:
        OstrakaError: as `Ledger.open` and `load_or_create_key`.
    """
    return Ledger.open(
        folder / LEDGER_FILE,
        clock=clock,
        cipher=Cipher(load_or_create_key(folder)),
        sign_head=lambda payload: credentials.sign(AUDIT_CONTEXT, payload),
    )
