"""No call of a serving guardian reads through what grows with every batch."""

import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from sqlalchemy import event

from ostraka.common.errors import OstrakaError
from ostraka.guardian.ledger import BudgetTerms, Charge, Ledger, StoredSession, registrations
from ostraka.guardian.ledger.log import audit
from ostraka.guardian.ledger.members import limits, manifests, parties, policies, revocations
from ostraka.guardian.ledger.sessions import (
    batches,
    charging,
    endings,
    evaluations,
    recorded_charges,
    refused_ballots,
    releases,
    session_opening,
    sessions,
)
from ostraka.guardian.ledger.units import balances, budgets
from tests.guardian.ledger.places import Place
from tests.guardian.ledger.support import ATHENS, CORINTH, DELTA, DIGEST, ORDER, open_session, with_budgets

HISTORY = "audit|batches|charges|entries|manifests|policies|receipts|sessions|unit_events"
READ_THROUGH = re.compile(rf"SCAN ({HISTORY})\b|Scan [^\n]*on ({HISTORY})\b[^\n]*(?!\n[^\n]*Cond:)(\n|$)")
"""In a plan of SQLite; or in one of PostgreSQL, a scan that no condition on an index limits."""
LAST_ROW = re.compile(r"LIMIT", re.IGNORECASE)


def plans(ledger: Ledger, call: Callable[[], object]) -> list[tuple[str, str]]:
    """Every statement of a call, and how the database goes about it where it can avoid reading through."""
    seen: dict[str, Any] = {}

    def listen(_c: Any, _cursor: Any, statement: str, parameters: Any, _x: Any, many: bool) -> None:
        if re.match("SELECT|UPDATE|DELETE", statement):
            seen.setdefault(statement, parameters[0] if many else parameters)

    engine = ledger._storage._engine  # type: ignore[attr-defined]
    event.listen(engine, "before_cursor_execute", listen)
    with suppress(OstrakaError):
        call()
    event.remove(engine, "before_cursor_execute", listen)
    explain = "EXPLAIN QUERY PLAN" if engine.dialect.name == "sqlite" else "EXPLAIN"
    with ledger._storage.write() as connection:
        if engine.dialect.name != "sqlite":
            connection.exec_driver_sql("SET LOCAL enable_seqscan = off")
        return [
            (
                statement,
                "\n".join(
                    str(row[-1]) for row in connection.exec_driver_sql(f"{explain} {statement}", values)
                ),
            )
            for statement, values in seen.items()
        ]


@pytest.fixture
def ledger(place: Place) -> Ledger:
    made = with_budgets(place.open())
    made.write(registrations.register, "athens", b"manifest", b"signed")
    made.write_session("s", batches.open_batch, 1, 5, b"t", {ATHENS: 100, CORINTH: 100})
    for name in ("t", "u"):
        open_session(made, name)
    return made


CALLS: dict[str, Callable[[Ledger], object]] = {
    "open_session": lambda ledger: open_session(ledger, "v"),
    "open_session again": lambda ledger: open_session(ledger, "t"),
    "find_session": lambda ledger: session_opening.find_session(ledger, "querier", b"t"),
    "open_batch": lambda ledger: ledger.write_session(
        "s", batches.open_batch, 2, 5, b"t", {ATHENS: 1, CORINTH: 1}, daily_limit=99
    ),
    "batch": lambda ledger: ledger.read_session("s", batches.find_batch, 1),
    "session_with_batch": lambda ledger: ledger.read_session("s", batches.with_session, 1),
    "answers": lambda ledger: ledger.read_session("s", batches.answers, 1, DIGEST),
    "release": lambda ledger: ledger.write_session(
        "s", releases.release, 1, DIGEST, b"a", [Charge(ATHENS, 9, 1)], answered=1
    ),
    "settle": lambda ledger: ledger.write_session("s", endings.settle, 1),
    "settle what never was": lambda ledger: ledger.write_session("s", endings.settle, 9),
    "close_session": lambda ledger: ledger.write_session("t", endings.close),
    "cancel_session": lambda ledger: ledger.write(endings.cancel, "u", reason="r"),
    "renew_lease": lambda ledger: ledger.renew_lease(),
    "register": lambda ledger: ledger.write(
        registrations.register, "athens", b"m", b"s", kept_head=ledger.read(audit.head)
    ),
    "manifests": lambda ledger: ledger.read(manifests.latest, ["athens", "corinth"]),
    "parties": lambda ledger: ledger.read(parties.all_parties),
    "policy": lambda ledger: ledger.read(policies.in_force),
    "exhausted": lambda ledger: ledger.read(balances.units_without_budget, [ATHENS, CORINTH]),
    "renew": lambda ledger: ledger.write(budgets.renew, [ATHENS], period_ms=0),
    "evaluate": lambda ledger: ledger.write_session("s", evaluations.record, 1, "athens", {ATHENS: 9}),
    "check": lambda ledger: ledger.write_session("s", releases.check, 1, DIGEST, [Charge(ATHENS, 9, 1)]),
    "figures": lambda ledger: ledger.write_session("s", charging.store_figures, 1, {ATHENS: 1}, {}),
    "refused ballots": lambda ledger: ledger.write_session("s", refused_ballots.record, 1, ["athens"]),
    "end_session": lambda ledger: ledger.write_session("s", endings.end),
    "open_session within limits": lambda ledger: session_opening.open_session(
        ledger, StoredSession("w", "querier", b"plan", b"w", b"grant", queries=9), most_open=9, within_s=60
    ),
    "find_budgets": lambda ledger: ledger.read(balances.find_budgets, [ATHENS, CORINTH]),
    "budgets of a party": lambda ledger: ledger.read(balances.all_budgets, "athens"),
    "set_budget": lambda ledger: ledger.write(
        budgets.set_budget, ATHENS, BudgetTerms(9.0, DELTA, ORDER, "worst_case")
    ),
    "asked_in_day": lambda ledger: ledger.read(limits.queries_in_day, "querier", 0),
    "sessions of a querier": lambda ledger: ledger.read(sessions.summaries, "querier", 9),
    "revocations": lambda ledger: ledger.read(revocations.after, ledger.read(audit.head).sequence),
    "epoch": lambda ledger: ledger.read(parties.epoch),
}


def reading_through(ledger: Ledger, call: Callable[[], object]) -> list[tuple[str, str]]:
    return [
        (statement, plan)
        for statement, plan in plans(ledger, call)
        if READ_THROUGH.search(plan) and not LAST_ROW.search(statement)
    ]


@pytest.mark.parametrize("name", CALLS)
def test_no_call_reads_through_history(ledger: Ledger, name: str) -> None:
    assert not reading_through(ledger, lambda: CALLS[name](ledger))


def test_reports_do(ledger: Ledger) -> None:
    assert reading_through(ledger, lambda: ledger.read(sessions.summaries))
    assert reading_through(ledger, lambda: ledger.read(recorded_charges.charges))
