"""Whatever units are charged for is an entry of a kind that can be costed again."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from sqlalchemy import ForeignKey, Table, inspect
from sqlalchemy.schema import DropTable

from ostraka.common.errors import ErrorCode
from ostraka.guardian.ledger import BudgetTerms, Owed, creation, migrate, reconcile, registrations
from ostraka.guardian.ledger.members import manifests
from ostraka.guardian.ledger.sessions import batches, recorded_charges
from ostraka.guardian.ledger.store.schema import KINDS, entries, metadata, units
from ostraka.guardian.ledger.store.storage import open_storage
from ostraka.guardian.ledger.transaction import Transaction
from ostraka.guardian.ledger.units import budgets, publications, repricing
from ostraka.guardian.ledger.units import entries as ledger_entries
from ostraka.guardian.ledger.units.carry_over import labels_alone
from ostraka.guardian.ledger.units.repricing import RULES, Raises, recost, spent_at
from tests.guardian.ledger.places import BEFORE_ENTRIES, Place
from tests.guardian.ledger.support import (
    ATHENS,
    BUDGET,
    CORINTH,
    DELTA,
    ORDER,
    amounts,
    cipher,
    refused,
    sign,
    with_budgets,
)
from tests.guardian.ledger.test_migrations import described
from tests.guardian.ledger.units.test_publications import COST, LABELS, WORST, keep, publication, total_of


def test_labels_own_charges_are_unknown_once_a_person_has_more_votes(place: Place) -> None:
    ledger = with_budgets(place.open())
    ledger.write(budgets.set_budget, LABELS, BudgetTerms(BUDGET, DELTA, ORDER, "worst_case"))
    keep(ledger, 1, LABELS, votes={"athens": 2})
    keep(ledger, 2, LABELS, ATHENS, votes={"athens": 2})
    found = []
    for votes in (2, 3):
        ledger.write(recost, "athens", votes)
        storage = open_storage(place.where)
        with storage.read() as connection:
            found.append(labels_alone(connection, "athens", ORDER))
        storage.close()
    assert found == [WORST, None]


def naming(table: Table) -> set[str]:
    """Names of the tables that name rows of a table."""
    keys: list[ForeignKey] = [key for other in metadata.sorted_tables for key in other.foreign_keys]
    return {key.parent.table.name for key in keys if key.column.table is table}


def test_units_are_charged_in_one_table_alone() -> None:
    """Charges in a table of their own are forgotten when records move, or are costed again."""
    assert naming(units) == {"charges", "evaluations", "unit_events"}
    assert naming(entries) == {"charges", "publications", "receipts"}


def test_every_kind_of_entry_has_its_rule() -> None:
    assert set(RULES) == set(KINDS)


def test_an_entry_of_a_kind_without_a_rule_is_an_error_and_not_free(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = with_budgets(place.open())
    keep(ledger, 1, ATHENS)
    monkeypatch.setattr(repricing, "RULES", {kind: RULES[kind] for kind in KINDS if kind != "batch"})
    storage = open_storage(place.where)
    with storage.read() as connection, pytest.raises(KeyError, match="batch"):
        spent_at(connection, "athens", "record", ORDER)
    storage.close()


@pytest.mark.parametrize("votes", [{"athens": 1, "corinth": 1}, {"athens": 3, "corinth": 1}])
@pytest.mark.parametrize("state", ["released", "ticketed"])
def test_edited_votes_of_a_batch_are_found(place: Place, votes: dict[str, int], state: str) -> None:
    ledger = with_budgets(place.open())
    if state == "released":
        keep(ledger, 1, ATHENS, CORINTH, votes=votes)
    else:
        ledger.write_session("s", batches.open_batch, 1, 5, b"t", {ATHENS: 7, CORINTH: 7}, votes=votes)
    ledger.close()
    place.execute("UPDATE charges SET votes = 2 WHERE unit = 1")
    assert "votes of batch s/1" in refused(ErrorCode.LEDGER_TAMPERED, place.open).message


@pytest.mark.parametrize(
    "edit",
    ["UPDATE entries SET time_unix_ms = time_unix_ms + 1", "UPDATE entries SET kind = 'publication'"],
)
def test_an_edited_entry_is_found(place: Place, edit: str) -> None:
    ledger = with_budgets(place.open())
    keep(ledger, 1, ATHENS)
    ledger.close()
    place.execute(edit)
    refused(ErrorCode.LEDGER_TAMPERED, place.open)


@pytest.fixture
def older(place: Place, monkeypatch: pytest.MonkeyPatch) -> Place:
    """Make a ledger of schema 3: a batch, an epsilon, raised votes, receipts, and a batch under way."""
    record_all = Transaction.record_all

    def as_before(tx: Transaction, kind: str, details: Iterable[Mapping[str, Any]]) -> None:
        known = [
            {name: value for name, value in one.items() if name not in ("entry", "votes_per_person")}
            for one in details
        ]
        record_all(tx, kind, known)

    monkeypatch.setattr(Transaction, "record_all", as_before)
    ledger = with_budgets(place.open())
    keep(ledger, 1, ATHENS, CORINTH)
    ledger.write_session("s", batches.open_batch, 2, 5, b"t", {ATHENS: 7})
    ledger.write(publications.publish, publication(total_of(ledger)))
    ledger.write(recost, "athens", 2)
    receipts = [("lost", number, unit, 9) for number in (1, 2) for unit in (ATHENS, LABELS)]
    ledger.write(budgets.set_budget, LABELS, BudgetTerms(BUDGET, DELTA, ORDER, "worst_case"))
    place.time.advance(1)
    ledger.write(registrations.register, "athens", b"m", b"signed")
    ledger.write(reconcile.reconcile, "athens", [Owed(*item) for item in receipts])
    ledger.close()
    monkeypatch.undo()
    for statement in (
        *BEFORE_ENTRIES,
        "UPDATE meta SET schema_version = 3",
        "UPDATE alembic_version SET version_num = '0003'",
    ):
        place.execute(statement)
    return place


def test_an_older_ledger_has_the_same_charges_and_goes_on(older: Place) -> None:
    refused(ErrorCode.LEDGER_OLDER, older.open)
    migrate(older.where, clock=older.time, cipher=cipher(), sign_head=sign)
    ledger = older.open()
    found = [
        (charge.kind, charge.session_id, charge.unit, charge.worst_case)
        for charge in ledger.read(recorded_charges.charges)
    ]
    lost = [("receipt", "lost", unit, 9) for _ in range(2) for unit in (ATHENS, LABELS)]
    assert found[:2] == [("batch", "s", unit, WORST) for unit in (ATHENS, CORINTH)]
    assert found[2:4] == [("publication", "", unit, COST) for unit in (ATHENS, CORINTH)]
    assert sorted(found[4:]) == sorted(lost)
    refused(ErrorCode.BUDGET_NOTHING_KEPT, lambda: total_of(ledger, CORINTH))
    keep(ledger, 3, CORINTH)
    ledger.write(publications.publish, publication(total_of(ledger, CORINTH)))
    assert amounts(ledger, CORINTH) == (2 * WORST + 2 * COST, 0)
    ledger.close()
    older.open()


def test_what_an_older_ledger_raised_is_unknown_of_all_that_came_before(older: Place) -> None:
    migrate(older.where, clock=older.time, cipher=cipher(), sign_head=sign)
    storage = open_storage(older.where)
    with storage.read() as connection:
        raises, last = Raises.of(connection, "athens"), ledger_entries.last(connection)
        assert [raises.since(entry, 1) for entry in (1, last, last + 1)] == [math.inf, math.inf, 1]
        assert Raises.of(connection, "corinth").since(1, 1) == 1
    storage.close()


@pytest.mark.heavy
def test_the_migration_makes_the_tables_of_a_new_ledger(older: Place) -> None:
    migrate(older.where, clock=older.time, cipher=cipher(), sign_head=sign)
    storage = open_storage(older.where)
    with storage.write() as connection:
        found = described(inspect(connection))
        for table in reversed(metadata.sorted_tables):
            connection.execute(DropTable(table))
        creation.create_tables(connection)
        assert described(inspect(connection)) == found
    storage.close()


@pytest.mark.parametrize("registered", ["athens", "corinth", "thebes"])
def test_a_ticket_of_manifests_that_changed_meanwhile_is_refused(place: Place, registered: str) -> None:
    """Its votes were raised, or its records moved, before anything was reserved of them."""
    ledger = with_budgets(place.open())
    before = ledger.read(manifests.count_declared, ["athens", "corinth"])
    ledger.write(registrations.register, registered, b"m", b"signed")

    def reserve() -> bytes:
        return ledger.write_session("s", batches.open_batch, 1, 5, b"t", {ATHENS: 7}, declared=before)

    if registered == "thebes":
        assert reserve() == b"t"
    else:
        refused(ErrorCode.MANIFEST_CHANGED, reserve)
        assert amounts(ledger) == (0, 0)
