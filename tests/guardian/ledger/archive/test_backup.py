"""A backup is whole and says no more than the ledger; a restored one owes what it forgot."""

import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread

import pytest

from ostraka.common.errors import ErrorCode
from ostraka.guardian.ledger import (
    BudgetTerms,
    Charge,
    Cipher,
    Ledger,
    LedgerReader,
    Owed,
    UnitKey,
    backup,
    reconcile,
    registrations,
    restore,
)
from ostraka.guardian.ledger.log import audit
from ostraka.guardian.ledger.members import parties, policies
from ostraka.guardian.ledger.sessions import batches, endings, recorded_charges, releases, sessions
from ostraka.guardian.ledger.units import balances, budgets
from tests.guardian.ledger.places import Place
from tests.guardian.ledger.support import (
    ATHENS,
    CORINTH,
    KEY,
    amounts,
    budget_of,
    clock,
    open_session,
    refused,
    release,
    sign,
    with_budgets,
)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    """Return a ledger to back up: batch 1 released, 2 dead, 3 open."""
    ledger = with_budgets(Place(tmp_path / "first.db").open())
    for site in ("athens", "corinth"):
        ledger.write(registrations.register, site, b"m", b"signed")
    for batch_id in (1, 2, 3):
        ledger.write_session("s", batches.open_batch, batch_id, 5, b"t", {ATHENS: 1000, CORINTH: 2000})
    charge(ledger, 1, 60)
    ledger.write_session("s", endings.settle, 2)
    ledger.write(policies.apply, "delta = 1e-6", reason="r")
    return ledger


@pytest.fixture
def saved(ledger: Ledger, tmp_path: Path) -> Path:
    path = tmp_path / "backup.db"
    backup(ledger, path)
    return path


def charge(ledger: Ledger, batch_id: int, cost: int, session: str = "s") -> None:
    charges = [Charge(ATHENS, cost, 3), Charge(CORINTH, 2 * cost, 4)]
    ledger.write_session(session, releases.release, batch_id, b"digest", b"answers", charges, answered=1)


def receipts(unit: UnitKey, *batches: tuple[str, int, int]) -> list[Owed]:
    return [Owed(session, batch_id, unit, amount) for session, batch_id, amount in batches]


def test_a_backup_has_everything_and_its_owner_alone_may_read_it(ledger: Ledger, saved: Path) -> None:
    assert stat.S_IMODE(saved.stat().st_mode) == 0o600
    assert [path for path in saved.parent.iterdir() if "backup" in path.name] == [saved]
    with LedgerReader.open_read_only(saved, cipher=Cipher(KEY)) as copy:
        assert copy.read(balances.all_budgets) == ledger.read(balances.all_budgets)
        assert copy.read(recorded_charges.charges) == ledger.read(recorded_charges.charges)
        assert copy.read(sessions.summaries) == ledger.read(sessions.summaries)
        assert copy.read(balances.data_dependent_totals) == ledger.read(balances.data_dependent_totals)
        assert list(audit.audit_rows(copy)) == list(audit.audit_rows(ledger))
        assert copy.read(policies.in_force) == ledger.read(policies.in_force)


def test_the_key_is_not_in_a_backup(saved: Path) -> None:
    assert KEY not in saved.read_bytes()
    assert {
        charge.data_dependent for charge in LedgerReader.open_read_only(saved).read(recorded_charges.charges)
    } == {None}


def test_a_backup_replaces_no_file(ledger: Ledger, saved: Path, tmp_path: Path) -> None:
    before = saved.read_bytes()
    refused(ErrorCode.LEDGER_EXISTS, lambda: backup(ledger, saved))
    assert saved.read_bytes() == before
    refused(ErrorCode.LEDGER_READ_ONLY, lambda: backup(ledger, tmp_path / "nowhere" / "backup.db"))


@pytest.mark.heavy
def test_a_backup_of_a_ledger_in_use_is_of_one_moment(ledger: Ledger, tmp_path: Path) -> None:
    open_session(ledger, "busy", queries=10_000)
    done = Event()

    def work() -> None:
        batch_id = 0
        while not done.is_set():
            batch_id += 1
            ledger.write_session("busy", batches.open_batch, batch_id, 1, b"t", {ATHENS: 5, CORINTH: 10})
            charge(ledger, batch_id, 5, "busy")

    worker = Thread(target=work)
    worker.start()
    try:
        for number in range(3):
            backup(ledger, tmp_path / f"{number}.db")
    finally:
        done.set()
        worker.join()
    for number in range(3):
        place = Place(tmp_path / f"restored-{number}.db")
        assert place.restore(tmp_path / f"{number}.db") == 1
        athens, corinth = place.open().read(balances.all_budgets)
        assert corinth.spent == 2 * athens.spent > 0
        place.close()


def test_a_restored_ledger_is_in_a_new_epoch_and_holds_nothing(
    ledger: Ledger, saved: Path, place: Place
) -> None:
    assert place.restore(saved) == 1
    restored = place.open()
    assert restored.read(parties.epoch) == 1
    assert restored.read(sessions.find_session, "s").state == "ended"
    assert (amounts(restored), amounts(restored, CORINTH)) == ((60, 0), (120, 0))
    assert [party.reconciled for party in restored.read(parties.all_parties)] == [False, False]
    assert restored.write(
        registrations.register, "athens", b"m", b"signed", kept_head=ledger.read(audit.head)
    ).reconcile
    assert restored.read(recorded_charges.charges) == ledger.read(recorded_charges.charges)
    assert restored.write_session("s", endings.settle, 1) == b"answers"
    refused(ErrorCode.SESSION_ENDED, lambda: release(restored, 3, Charge(ATHENS, 1, 1)))


def test_a_restored_ledger_goes_on_after_the_rows_it_was_given(saved: Path, place: Place) -> None:
    place.restore(saved)
    restored = place.open()
    restored.write(
        budgets.set_budget, UnitKey("sparta", "all", "record"), BudgetTerms(1.0, 1e-5, 8.0, "worst_case")
    )
    restored.write(registrations.register, "sparta", b"m", b"signed")
    open_session(restored, "after")
    restored.write_session("after", batches.open_batch, 1, 1, b"t", {ATHENS: 1})
    assert [budget.key.party for budget in place.open().read(balances.all_budgets)] == [
        "athens",
        "corinth",
        "sparta",
    ]


@pytest.mark.heavy
def test_parties_make_good_what_a_restored_ledger_forgot(ledger: Ledger, saved: Path, place: Place) -> None:
    """The oracle is the ledger that was not lost; a batch that died unknown to the backup is charged too."""
    charge(ledger, 3, 700)
    ledger.write_session("s", batches.open_batch, 4, 5, b"t", {ATHENS: 1000, CORINTH: 2000})
    charge(ledger, 4, 900)
    open_session(ledger, "later")
    ledger.write_session("later", batches.open_batch, 1, 5, b"t", {ATHENS: 1000, CORINTH: 2000})
    charge(ledger, 1, 30, "later")
    place.restore(saved)
    restored = place.open()
    restored.write_session("s", endings.settle, 4)
    charged = [("s", 1, 60), ("s", 2, 1000), ("s", 3, 700), ("s", 4, 900), ("later", 1, 30)]
    assert restored.write(reconcile.reconcile, "athens", receipts(ATHENS, *charged)) == 3
    doubled = [(session, batch_id, 2 * amount) for session, batch_id, amount in charged]
    assert restored.write(reconcile.reconcile, "corinth", receipts(CORINTH, *doubled)) == 3
    for unit in (ATHENS, CORINTH):
        assert budget_of(restored, unit).spent == budget_of(ledger, unit).spent
    assert all(party.reconciled for party in restored.read(parties.all_parties))
    place.open()


@pytest.mark.heavy
def test_a_backup_restored_twice_is_reconciled_twice(
    ledger: Ledger, saved: Path, place: Place, tmp_path: Path
) -> None:
    charge(ledger, 3, 700)
    second = Place(tmp_path / "second.db")
    second.restore(saved)
    between = second.open()
    for site in ("athens", "corinth"):
        between.write(registrations.register, site, b"m", b"signed", kept_head=ledger.read(audit.head))
    between.write(reconcile.reconcile, "athens", receipts(ATHENS, ("s", 3, 700)))
    backup(between, tmp_path / "again.db")
    second.close()
    assert place.restore(tmp_path / "again.db") == 2
    restored = place.open()
    assert [party.reconciled for party in restored.read(parties.all_parties)] == [False, False]
    assert restored.write(reconcile.reconcile, "athens", receipts(ATHENS, ("s", 3, 700))) == 0
    assert restored.write(reconcile.reconcile, "corinth", receipts(CORINTH, ("s", 3, 1400))) == 1
    assert (amounts(restored), amounts(restored, CORINTH)) == ((760, 0), (1520, 0))


def test_a_copied_file_is_found_by_a_kept_head(ledger: Ledger, saved: Path) -> None:
    charge(ledger, 3, 700)
    copied = Place(saved).open()
    registered = copied.write(
        registrations.register, "athens", b"m", b"signed", kept_head=ledger.read(audit.head)
    )
    assert (registered.epoch, registered.reconcile) == (1, True)
    copied.write(reconcile.reconcile, "athens", receipts(ATHENS, ("s", 3, 700)))
    assert amounts(copied) == amounts(ledger)
    copied.close()


def test_a_ledger_is_not_restored_over_another(saved: Path, place: Place) -> None:
    there = with_budgets(place.open())
    refused(ErrorCode.LEDGER_EXISTS, lambda: place.restore(saved))
    assert there.read(parties.epoch) == 0


def edited(statement: str) -> Callable[[Path], None]:
    def edit(path: Path) -> None:
        with sqlite3.connect(path) as connection:
            connection.execute(statement)
        connection.close()

    return edit


@pytest.mark.parametrize(
    ("harm", "code"),
    [
        (edited("UPDATE units SET spent = 0"), ErrorCode.LEDGER_TAMPERED),
        (edited("DELETE FROM policies"), ErrorCode.LEDGER_TAMPERED),
        (edited("UPDATE meta SET schema_version = 99"), ErrorCode.LEDGER_NEWER),
        (lambda path: path.write_bytes(path.read_bytes()[:20_000]), ErrorCode.LEDGER_TAMPERED),
        (lambda path: path.unlink(), ErrorCode.LEDGER_MISSING),
    ],
)
def test_a_backup_that_is_not_whole_is_not_restored(
    saved: Path, place: Place, harm: Callable[[Path], None], code: ErrorCode
) -> None:
    harm(saved)
    refused(code, lambda: place.restore(saved))
    assert place.open().read(balances.all_budgets) == []


def test_a_backup_needs_the_key_that_belongs_to_it(saved: Path, place: Place) -> None:
    other = Cipher(bytes(32))
    refused(
        ErrorCode.LEDGER_TAMPERED,
        lambda: restore(saved, place.where, clock=clock(), cipher=other, sign_head=sign),
    )
