"""The transaction in which every change of the ledger is made."""

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
"""How often a transaction is tried if others undo it. On PostgreSQL locks are taken in one order, so
conflicts are rare, and after five in a row another try does not help; on SQLite there are none."""
T = TypeVar("T")


@dataclass(frozen=True)
class Transaction(View):
    """A write transaction behind the fence, which also reads.

    Attributes:
        cipher: for values that depend on votes.
        now_ms: its time, in unix milliseconds.
        sign_head: signs audit heads.
        replica: the number of the guardian process that writes, 0 before it has one.
        by: the administrator for whom it writes; empty if no administrator asked for it.
    """

    cipher: Cipher
    now_ms: int
    sign_head: audit.SignHead
    replica: int = 0
    by: str = ""

    def record(self, kind: str, **details: Any) -> None:
        """Write an audit row that is committed with this transaction, after everything that it locks."""
        self.record_all(kind, [details])

    def record_all(self, kind: str, details: Iterable[Mapping[str, Any]]) -> None:
        """As `record`, a row for each of `details`."""
        told = [{**row, "by": self.by} for row in details] if self.by else details
        audit.append(self.connection, self.now_ms, self.sign_head, kind, told)


class CommittedError(Exception):
    """An error at the end of a change whose writes must be committed all the same."""

    def __init__(self, error: OstrakaError) -> None:
        super().__init__(error.message)
        self.error = error


def retry(attempt: Callable[[], T]) -> T:
    """Return the result of one transaction; repeat it after conflicts, at most ATTEMPTS times."""
    for _ in range(ATTEMPTS - 1):
        try:
            return attempt()
        except ConflictError:
            continue
    return attempt()
