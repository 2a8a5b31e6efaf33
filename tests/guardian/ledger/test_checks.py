"""A blind tally's check is charged by itself, before anybody knows what becomes of the batch."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ostraka.common.clock import ManualClock
from ostraka.common.errors import ErrorCode
from ostraka.guardian.ledger import BudgetTerms, Charge, Ledger, Owed, backup, reconcile, registrations
from ostraka.guardian.ledger.log import audit
from ostraka.guardian.ledger.sessions import batches, endings, recorded_charges, releases, sessions
from ostraka.guardian.ledger.units import balances, budgets, history
from tests.guardian.ledger.places import Place
from tests.guardian.ledger.support import (
    ATHENS,
    CORINTH,
    DIGEST,
    amounts,
    budget_of,
    refused,
    release,
    with_budgets,
)

OTHER = b"e" * 32
CHECK = (Charge(ATHENS, 30, 7), Charge(CORINTH, 20, 6))


@pytest.fixture
def ledger(place: Place) -> Iterator[Ledger]:
    """Yield a batch 1 that reserved 100 of two units and was checked; log and tables agree in the end."""
    ledger = with_budgets(place.open())
    ledger.write_session("s", batches.open_batch, 1, 5, b"t", {ATHENS: 100, CORINTH: 100})
    ledger.write_session("s", releases.check, 1, DIGEST, CHECK)
    yield ledger
    place.open()


def test_a_check_is_charged_and_the_rest_stays_reserved(ledger: Ledger) -> None:
    assert amounts(ledger, ATHENS) == (30, 70)
    assert amounts(ledger, CORINTH) == (20, 80)
    assert ledger.read(balances.data_dependent_totals) == {ATHENS: 7, CORINTH: 6}
    found = ledger.read_session("s", batches.find_batch, 1)
    assert found is not None
    assert (found.state, found.answers) == ("ticketed", None)
    assert ledger.write_session("s", batches.open_batch, 1, 5, b"other", {}) == b"t"


def test_the_same_check_again_costs_nothing_and_another_is_refused(ledger: Ledger) -> None:
    head = ledger.read(audit.head)
    ledger.write_session("s", releases.check, 1, DIGEST, [Charge(ATHENS, 90, 90)])
    assert ledger.read(audit.head) == head
    refused(ErrorCode.BATCH_ALTERED, lambda: ledger.write_session("s", releases.check, 1, OTHER, CHECK))
    assert amounts(ledger) == (30, 70)


def test_a_release_charges_the_rest_and_gives_back_what_is_left(ledger: Ledger) -> None:
    release(ledger, 1, Charge(ATHENS, 90, 50), Charge(CORINTH, 20, 6))
    assert amounts(ledger, ATHENS) == (90, 0)
    assert amounts(ledger, CORINTH) == (20, 0)
    assert ledger.read(balances.data_dependent_totals) == {ATHENS: 50, CORINTH: 6}
    assert [(c.unit, c.worst_case, c.data_dependent) for c in ledger.read(recorded_charges.charges, "s")] == [
        (ATHENS, 90, 50),
        (CORINTH, 20, 6),
    ]
    ledger.write_session("s", releases.check, 1, DIGEST, CHECK)
    refused(ErrorCode.BATCH_ALTERED, lambda: ledger.write_session("s", releases.check, 1, OTHER, CHECK))
    assert amounts(ledger, ATHENS) == (90, 0)


@pytest.mark.parametrize(
    "charges", [[Charge(ATHENS, 29, 7), Charge(CORINTH, 20, 6)], [Charge(ATHENS, 100, 7)]]
)
def test_a_release_never_costs_less_than_its_check(ledger: Ledger, charges: list[Charge]) -> None:
    with pytest.raises(ValueError, match="less than its check"):
        release(ledger, 1, *charges)
    assert amounts(ledger) == (30, 70)


@pytest.mark.parametrize(
    "charges",
    [
        [],
        [Charge(ATHENS, 101, 0)],
        [Charge(ATHENS, 1, 0), Charge(ATHENS, 1, 0)],
        [Charge(ATHENS, 1, 0), Charge(CORINTH, 1, 0)],
    ],
)
def test_a_check_outside_the_reservation_changes_nothing(ledger: Ledger, charges: list[Charge]) -> None:
    ledger.write_session("s", batches.open_batch, 2, 5, b"t", {ATHENS: 100})
    with pytest.raises(ValueError, match="charges"):
        ledger.write_session("s", releases.check, 2, DIGEST, charges)
    assert amounts(ledger) == (30, 170)


def test_a_check_needs_a_ticket_that_is_good(ledger: Ledger) -> None:
    def check(batch_id: int, session: str = "s") -> Callable[[], None]:
        return lambda: ledger.write_session(session, releases.check, batch_id, DIGEST, CHECK)

    refused(ErrorCode.TICKET_INVALID, check(2))
    refused(ErrorCode.SESSION_UNKNOWN, check(1, "x"))
    ledger.write_session("s", endings.settle, 3)
    refused(ErrorCode.BATCH_DEAD, check(3))
    ledger.write_session("s", batches.open_batch, 4, 5, b"t", {ATHENS: 100})
    release(ledger, 4, Charge(ATHENS, 1, 1))
    refused(ErrorCode.BATCH_ALTERED, check(4))
    ledger.write_session("s", endings.close)
    refused(ErrorCode.SESSION_CLOSED, check(1))


@pytest.mark.parametrize("end", ["settle", "close", "end", "restart"])
def test_the_charge_stands_where_the_batch_dies(place: Place, end: str) -> None:
    ledger = with_budgets(place.open())
    ledger.write_session("s", batches.open_batch, 1, 5, b"t", {ATHENS: 100, CORINTH: 100})
    ledger.write_session("s", releases.check, 1, DIGEST, CHECK)
    if end == "settle":
        assert ledger.write_session("s", endings.settle, 1) is None
        refused(ErrorCode.BATCH_DEAD, lambda: ledger.write_session("s", releases.check, 1, DIGEST, CHECK))
    elif end == "close":
        ledger.write_session("s", endings.close)
    elif end == "end":
        ledger.write_session("s", endings.end)
    ledger.close()
    ledger = place.open()
    assert ledger.write_session("s", endings.settle, 1) is None
    assert amounts(ledger, ATHENS) == (30, 0)
    assert amounts(ledger, CORINTH) == (20, 0)
    assert ledger.read(sessions.summaries)[0].asked == 0
    assert [(c.unit, c.worst_case) for c in ledger.read(recorded_charges.charges)] == [
        (ATHENS, 30),
        (CORINTH, 20),
    ]
    place.open()


def test_a_checked_batch_dies_with_a_guardian_that_is_gone(place: Place) -> None:
    with_budgets(place.open())
    first = place.opened[0]
    first.write_session("s", batches.open_batch, 1, 5, b"t", {ATHENS: 100})
    first.write_session("s", releases.check, 1, DIGEST, [Charge(ATHENS, 30, 7)])
    place.time.advance(60)
    second = place.open()
    assert second.write_session("s", endings.settle, 1) is None
    assert amounts(second) == (30, 0)
    refused(ErrorCode.LEDGER_FENCED, lambda: release(first, 1, Charge(ATHENS, 90, 50)))


def test_history_tells_check_and_release_apart(ledger: Ledger, time: ManualClock) -> None:
    time.advance(1)
    ledger.write(budgets.set_budget, ATHENS, BudgetTerms(5.0, 1e-5, 8.0, "worst_case"))
    time.advance(1)
    release(ledger, 1, Charge(ATHENS, 90, 50), Charge(CORINTH, 20, 6))
    told = [(event.kind, event.spent) for event in ledger.read(history.events_of, ATHENS)]
    assert told == [("set", 0), ("charged", 30), ("lowered", 30), ("charged", 90)]
    assert [(event.kind, event.spent) for event in ledger.read(history.events_of, CORINTH)] == [
        ("set", 0),
        ("charged", 20),
    ]


def test_a_budget_renewed_between_check_and_release_pays_the_rest(ledger: Ledger, time: ManualClock) -> None:
    time.advance(10)
    ledger.write(budgets.renew, [ATHENS], period_ms=1000)
    assert amounts(ledger) == (0, 70)
    release(ledger, 1, Charge(ATHENS, 90, 50), Charge(CORINTH, 20, 6))
    assert (budget_of(ledger).spent, budget_of(ledger).spent_before) == (60, 30)


def test_charges_of_a_checked_batch_are_of_the_time_of_its_check(ledger: Ledger, time: ManualClock) -> None:
    checked = int(time.now() * 1000)
    time.advance(60)
    ledger.write_session("s", endings.settle, 1)
    assert {
        charge.released_unix_ms
        for charge in ledger.read(recorded_charges.charges, from_ms=checked, to_ms=checked + 1)
    } == {checked}
    assert ledger.read(recorded_charges.charges, from_ms=checked + 1) == []


def test_a_restored_ledger_makes_a_checked_batch_good(tmp_path: Path, place: Place) -> None:
    """Whether the check is in the backup or not, the party's receipt of the whole batch is charged."""
    original = Place(tmp_path / "original.db", place.time)
    ledger = with_budgets(original.open())
    ledger.write(registrations.register, "athens", b"m", b"signed")
    for batch_id in (1, 2):
        ledger.write_session("s", batches.open_batch, batch_id, 5, b"t", {ATHENS: 100})
    ledger.write_session("s", releases.check, 1, DIGEST, [Charge(ATHENS, 30, 7)])
    backup(ledger, tmp_path / "backup.db")
    ledger.write_session("s", releases.check, 2, DIGEST, [Charge(ATHENS, 30, 7)])
    release(ledger, 1, Charge(ATHENS, 90, 50))
    original.close()
    place.restore(tmp_path / "backup.db")
    restored = place.open()
    assert amounts(restored) == (30, 0)
    receipts = [Owed("s", batch_id, ATHENS, 100) for batch_id in (1, 2)]
    assert restored.write(reconcile.reconcile, "athens", receipts) == 2
    assert amounts(restored) == (230, 0)
    place.open()


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("UPDATE charges SET checked = 29 WHERE unit = 1", "charges of batch s/1"),
        ("UPDATE charges SET checked = NULL, worst_case = 0 WHERE unit = 1", "charges of batch s/1"),
        ("UPDATE batches SET checked_unix_ms = 0", "batch s/1"),
        ("UPDATE batches SET check_digest = answers, checked_unix_ms = NULL", "batch s/1"),
        ("UPDATE units SET spent = 0 WHERE id = 1", "unit athens/all/record"),
    ],
)
def test_a_changed_check_is_found(place: Place, statement: str, named: str) -> None:
    ledger = with_budgets(place.open())
    ledger.write_session("s", batches.open_batch, 1, 5, b"t", {ATHENS: 100, CORINTH: 100})
    ledger.write_session("s", releases.check, 1, DIGEST, CHECK)
    ledger.close()
    place.execute(statement)
    assert named in refused(ErrorCode.LEDGER_TAMPERED, place.open).message
