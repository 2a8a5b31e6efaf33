"""What every change of the ledger is made with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from guardian.ledger import audit
from guardian.ledger.cipher import Cipher


@dataclass(frozen=True)
class Transaction:
    """A write transaction behind the fence, with its time (unix milliseconds)."""

    connection: Connection
    now_ms: int
    cipher: Cipher
    sign_head: audit.SignHead

    def record(self, kind: str, **details: Any) -> None:
        """Write an audit row that stands or falls with this transaction."""
        audit.append(self.connection, self.now_ms, self.sign_head, kind, **details)
