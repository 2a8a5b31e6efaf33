"""Values that the ledger's tests share."""

import hashlib
import os
from collections.abc import Callable
from threading import Event
from typing import Any

import pytest
from sqlalchemy import event

from ostraka.common.clock import ManualClock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.guardian.ledger import (
    Budget,
    BudgetTerms,
    Charge,
    Cipher,
    Ledger,
    LedgerReader,
    Seal,
    StoredSession,
    UnitKey,
)
from ostraka.guardian.ledger.sessions import releases, session_opening
from ostraka.guardian.ledger.units import balances, budgets
from ostraka.protos.ostraka.v1 import common_pb2

START = 1_900_000_000.0
KEY = bytes(range(32))
ATHENS = UnitKey("athens", "all", "record")
CORINTH = UnitKey("corinth", "all", "record")
DIGEST = b"d" * 32
BUDGET = 10.0
DELTA = 1e-5
ORDER = 8.0


def sign(payload: bytes) -> common_pb2.Signed:
    return common_pb2.Signed(payload=payload)


def _verify(signed: common_pb2.Signed) -> None:
    if signed.signature != _tag(signed.payload):
        raise OstrakaError(ErrorCode.MESSAGE_INVALID, "No guardian signed this.")


def _tag(payload: bytes) -> bytes:
    return hashlib.sha256(KEY + payload).digest()


SEAL = Seal(lambda payload: common_pb2.Signed(payload=payload, signature=_tag(payload)), _verify)
"""Signs checkpoints with a tag that can only be made with KEY."""


def cipher() -> Cipher:
    return Cipher(KEY)


def clock() -> ManualClock:
    return ManualClock(START)


def with_budgets(ledger: Ledger, enforce: str = "worst_case") -> Ledger:
    """Return `ledger` with one budget for each of two parties, and an open session "s"."""
    for unit in (ATHENS, CORINTH):
        ledger.write(budgets.set_budget, unit, BudgetTerms(BUDGET, DELTA, ORDER, enforce))
    open_session(ledger, "s")
    return ledger


def open_session(ledger: Ledger, session_id: str, queries: int = 1000) -> None:
    session_opening.open_session(
        ledger,
        StoredSession(
            session_id,
            "querier",
            b"plan",
            session_id.encode(),
            b"grant of " + session_id.encode(),
            queries=queries,
        ),
    )


def release(ledger: Ledger, batch_id: int, *charges: Charge, answers: bytes = b"answers") -> bytes:
    return ledger.write_session("s", releases.release, batch_id, DIGEST, answers, charges, answered=1)


def budget_of(ledger: LedgerReader, unit: UnitKey = ATHENS) -> Budget:
    return ledger.read(balances.budgets_of, [unit])[0]


def amounts(ledger: LedgerReader, unit: UnitKey = ATHENS) -> tuple[int, int]:
    """Return the spent and the reserved amount."""
    budget = budget_of(ledger, unit)
    return budget.spent, budget.reserved


def refused(code: ErrorCode, call: Callable[[], object]) -> OstrakaError:
    """Check that `call` is refused with `code`, and return the error."""
    with pytest.raises(OstrakaError) as caught:
        call()
    assert caught.value.code == code, caught.value.message
    return caught.value


def in_child(work: Callable[[], None]) -> int:
    """Run `work` in a forked process and return its wait status; no handle may be open across it."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        except BaseException:
            os._exit(99)
    return os.waitpid(child, 0)[1]


def once_at(ledger: Ledger, statement: str, act: Callable[[], object]) -> Event:
    """Call `act` within a transaction of `ledger`, right after its first statement with this beginning."""
    done = Event()

    def listen(_c: Any, _cursor: Any, executed: str, *_: Any) -> None:
        if not done.is_set() and " ".join(executed.split()).startswith(statement):
            done.set()
            act()

    event.listen(ledger._storage._engine, "after_cursor_execute", listen)  # type: ignore[attr-defined]
    return done
