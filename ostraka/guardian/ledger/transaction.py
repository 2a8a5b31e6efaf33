"""The transaction that every change of the ledger is made in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from ostraka.common.errors import OstrakaError
from ostraka.guardian.ledger.log import audit
from ostraka.guardian.ledger.reader import View
from ostraka.guardian.ledger.store.cipher import Cipher
from ostraka.guardian.ledger.store.storage import ConflictError

ATTEMPTS = 5
"""How often a transaction is tried that others undo. On PostgreSQL locks are taken in one order, so that a
conflict is rare, and five in a row mean that trying on does not help; on SQLite there is none."""
T = TypeVar("T")


@dataclass(frozen=True)
class Transaction(View):
    """A write transaction behind the fence, which reads what it changes.

    Attributes:
        cipher: of what depends on votes.
        now_ms: its time, in unix milliseconds.
        sign_head: signs audit heads.
        replica: the number of the guardian process that writes, 0 before it has one.
        by: the administrator for whom it writes; empty where nobody asked for it.
    """

    cipher: Cipher
    now_ms: int
    sign_head: audit.SignHead
    replica: int = 0
    by: str = ""

    def record(self, kind: str, **details: Any) -> None:
        """Write an audit row that stands or falls with this transaction, after everything it locks."""
        self.record_all(kind, [details])

    def record_all(self, kind: str, details: Iterable[Mapping[str, Any]]) -> None:
        """As `record`, a row for each of `details`."""
        told = [{**row, "by": self.by} for row in details] if self.by else details
        audit.append(self.connection, self.now_ms, self.sign_head, kind, told)


class CommittedError(Exception):
    """An error that a change ends with although what it wrote is to stand."""

    def __init__(self, error: OstrakaError) -> None:
        super().__init__(error.message)
        self.error = error


def retry(attempt: Callable[[], T]) -> T:
    """Return what one transaction returns; repeat it after conflicts, at most ATTEMPTS times."""
    for _ in range(ATTEMPTS - 1):
        try:
            return attempt()
        except ConflictError:
            continue
    return attempt()
