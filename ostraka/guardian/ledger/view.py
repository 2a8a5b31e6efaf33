"""The transaction that every question to the ledger is answered in."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection

from ostraka.guardian.ledger.store.cipher import Cipher


@dataclass(frozen=True)
class View:
    """One state of the ledger.

    Attributes:
        connection: where it is read.
        cipher: of what depends on votes; None for a reader without the ledger's key.
    """

    connection: Connection
    cipher: Cipher | None

    def require_cipher(self) -> Cipher:
        """Return the cipher, or raise ValueError for a reader without one."""
        if self.cipher is None:
            raise ValueError("data-dependent totals need the ledger's cipher")
        return self.cipher
