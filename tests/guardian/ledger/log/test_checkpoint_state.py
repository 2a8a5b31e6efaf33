"""A state is read by its names, is the same text for the same rows, and has nothing that is not known."""

import json
from collections.abc import Callable
from dataclasses import fields, make_dataclass
from typing import Any

import pytest

from ostraka.guardian.ledger.log import checkpoint_state
from ostraka.guardian.ledger.log.replayed_ledger import ReplayedLedger
from ostraka.guardian.ledger.log.rows import (
    Account,
    Batch,
    Evaluation,
    Head,
    Manifests,
    Party,
    Policy,
    PublicationCharge,
    PublishedEpsilon,
    ReceiptCharge,
    Session,
    UnitTotal,
)
from tests.guardian.ledger.support import ATHENS, CORINTH

BATCH = ("s", 4)


def replayed() -> ReplayedLedger:
    """Return a replay with a row or two of every table, whose texts all differ."""
    made = ReplayedLedger(head=Head("id", 3, 2), settled={"sessions": 5, "batches": 6, "evaluations": 7})
    for unit in (ATHENS, CORINTH):
        account = Account(*unit, 10.0, 1e-5, 8.0, "worst_case", 900, "high", 12, spent=30, events="e")
        made.accounts.units[unit] = account
        made.evaluated.setdefault(BATCH, {})[unit] = Evaluation(*BATCH, *unit, 90, 15)
        made.totals[unit] = UnitTotal(*unit, 4, 230)
    made.accounts.parties["athens"] = Party("athens", "active", 1, 13)
    made.accounts.policies[1] = Policy(1, "toml", "why", 14)
    made.accounts.reconciled["lost", 7, *ATHENS] = ReceiptCharge("lost", 7, *ATHENS, 25, 16)
    made.accounts.publications["state"] = PublishedEpsilon("state", "votes", "statement", 0.5, 2.0, 17)
    for unit, votes in ((ATHENS, 3), (CORINTH, None)):
        charge = PublicationCharge("state", *unit, 5, votes)
        made.accounts.publication_charges["state", *unit] = charge
    made.manifests["athens"] = Manifests("athens", "digest of manifests")
    made.sessions["s"] = Session("s", "querier", "digest", "PLAN", "GRANT", 5, 1)
    made.batches[BATCH] = Batch(*BATCH, 5, "ticket", 18, check_digest="check", checked_unix_ms=19)
    made.held[BATCH] = {ATHENS: 100}
    made.checked[BATCH] = {ATHENS: 10, CORINTH: 0}
    made.after[BATCH] = {ATHENS: 195}
    made.batches["s", 5] = Batch("s", 5, 1, "of nobody", 20)
    made.held["s", 5] = {}
    return made


TEXT = checkpoint_state.encode(replayed())
TABLES = sorted(json.loads(TEXT))


def test_what_was_written_is_read() -> None:
    assert checkpoint_state.decode(TEXT) == replayed()
    assert all(json.loads(TEXT)[name]["rows"] for name in TABLES)


def test_the_same_rows_in_another_order_are_the_same_text() -> None:
    other = replayed()
    tables: list[dict[Any, Any]] = [
        other.accounts.units,
        other.totals,
        other.evaluated[BATCH],
        other.held,
        other.batches,
    ]
    for table in tables:
        items = list(table.items())
        table.clear()
        table.update(reversed(items))
    assert checkpoint_state.encode(other) == TEXT


@pytest.mark.parametrize("row", [Account, Batch, Evaluation, Session])
def test_the_order_of_fields_in_the_code_changes_no_text(row: type[Any]) -> None:
    """Another version may have its fields in another order: each reads what the other wrote."""
    swapped = make_dataclass("Swapped", [(each.name, each.type) for each in reversed(fields(row))])
    found = {
        Account: replayed().accounts.units[ATHENS],
        Batch: replayed().batches[BATCH],
        Evaluation: replayed().evaluated[BATCH][ATHENS],
        Session: replayed().sessions["s"],
    }[row]
    table = checkpoint_state._Table(row, "state" if row is not Evaluation else "batch").encode([found])
    other: checkpoint_state._Table[Any] = checkpoint_state._Table(swapped, table["columns"][0])
    assert other.encode([swapped(**vars(found))]) == table
    assert [vars(each) for each in other.decode(json.loads(json.dumps(table))).values()] == [vars(found)]


@pytest.mark.parametrize("name", TABLES)
def test_columns_are_read_by_their_names(name: str) -> None:
    state = json.loads(TEXT)
    state[name] = {
        "columns": state[name]["columns"][::-1],
        "rows": [row[::-1] for row in state[name]["rows"]],
    }
    assert checkpoint_state.decode(json.dumps(state)) == replayed()


def lacking(table: dict[str, Any]) -> None:
    table["columns"].pop()
    for row in table["rows"]:
        row.pop()


def unknown(table: dict[str, Any]) -> None:
    table["columns"].append("unknown")
    for row in table["rows"]:
        row.append(1)


def renamed(table: dict[str, Any]) -> None:
    table["columns"][0] += "_ms"


def twice(table: dict[str, Any]) -> None:
    table["columns"].append(table["columns"][0])
    for row in table["rows"]:
        row.append(row[0])


def of_another_type(table: dict[str, Any]) -> None:
    table["rows"][0][0] = [table["rows"][0][0]]


def too_short(table: dict[str, Any]) -> None:
    table["rows"][0].pop()


def more(table: dict[str, Any]) -> None:
    table["more"] = 1


@pytest.mark.parametrize("change", [lacking, unknown, renamed, twice, of_another_type, too_short, more])
@pytest.mark.parametrize("name", TABLES)
def test_a_table_with_a_column_too_few_or_too_many_is_refused(
    name: str, change: Callable[[dict[str, Any]], None]
) -> None:
    state = json.loads(TEXT)
    change(state[name])
    with pytest.raises(ValueError, match=r".+"):
        checkpoint_state.decode(json.dumps(state))


@pytest.mark.parametrize("name", TABLES)
def test_a_state_without_a_table_or_with_another_is_refused(name: str) -> None:
    state = json.loads(TEXT)
    with pytest.raises(ValueError, match="tables"):
        checkpoint_state.decode(json.dumps({**state, "more": state[name]}))
    del state[name]
    with pytest.raises(ValueError, match="tables"):
        checkpoint_state.decode(json.dumps(state))


def test_charges_of_the_oldest_publications_end_before_their_votes() -> None:
    """In format 1, which is read by positions that no later version changes."""
    old = {
        "head": ["id", 3, 2],
        "units": [],
        "manifests": [],
        "parties": [],
        "policies": [],
        "reconciled": [],
        "published": [["state", "votes", "statement", 0.5, 2.0, 17, [[*ATHENS, 5, 3], [*CORINTH, 5]]]],
        "sessions": [],
        "batches": [],
        "held": [],
        "checked": [],
        "after": [],
        "evaluated": [],
        "totals": [],
        "settled": {"sessions": 5, "batches": 6, "evaluations": 7},
    }
    found = checkpoint_state.decode(json.dumps(old), 1).accounts
    assert found.publications == replayed().accounts.publications
    assert found.publication_charges == replayed().accounts.publication_charges
