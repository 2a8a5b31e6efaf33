"""The transaction that every change of the ledger is made in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from sqlalchemy import Connection

from ostraka.guardian.ledger import audit
from ostraka.guardian.ledger.cipher import Cipher
from ostraka.guardian.ledger.storage import ConflictError

ATTEMPTS = 5
P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True)
class Transaction:
    """A write transaction behind the fence.

    Attributes:
        connection: where it runs.
        now_ms: its time, in unix milliseconds.
        cipher: of what depends on votes.
        sign_head: signs audit heads.
        replica: the number of the guardian process that writes, 0 before it has one.
    """

    connection: Connection
    now_ms: int
    cipher: Cipher
    sign_head: audit.SignHead
    replica: int = 0

    def record(self, kind: str, **details: Any) -> None:
        """Write an audit row that stands or falls with this transaction, after everything it locks."""
        audit.append(self.connection, self.now_ms, self.sign_head, kind, **details)


def retried(method: Callable[P, T]) -> Callable[P, T]:
    """Run a method that is one transaction again where others undid it, at most ATTEMPTS times in all."""

    @wraps(method)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        for _ in range(ATTEMPTS - 1):
            try:
                return method(*args, **kwargs)
            except ConflictError:
                continue
        return method(*args, **kwargs)

    return run
