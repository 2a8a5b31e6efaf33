"""What a party has evaluated of an encrypted batch is charged at worst, unless a release charges it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ostraka.common.clock import ManualClock
from ostraka.common.errors import ErrorCode
from ostraka.guardian.ledger import Charge, Ledger, Owed, UnitKey, backup, reconcile, registrations
from ostraka.guardian.ledger.log import audit
from ostraka.guardian.ledger.members import limits
from ostraka.guardian.ledger.sessions import (
    batches,
    endings,
    evaluations,
    recorded_charges,
    releases,
    sessions,
)
from ostraka.guardian.ledger.units import balances, history
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

WORST = {ATHENS: 100}


@pytest.fixture
def ledger(place: Place) -> Ledger:
    """Return a ledger whose batch 1 reserved 100 of two units, and that Athens evaluated."""
    ledger = with_budgets(place.open())
    ledger.write_session("s", batches.open_batch, 1, 5, b"t", {ATHENS: 100, CORINTH: 100})
    ledger.write_session("s", evaluations.record, 1, "athens", WORST)
    return ledger


ENDINGS: dict[str, Callable[[Ledger], object]] = {
    "settled": lambda ledger: ledger.write_session("s", endings.settle, 1),
    "closed": lambda ledger: ledger.write_session("s", endings.close),
    "ended": lambda ledger: ledger.write_session("s", endings.end),
    "cancelled": lambda ledger: ledger.write(endings.cancel, "s", reason="a test"),
    "recovered": lambda ledger: None,
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_however_a_batch_dies_who_evaluated_it_is_charged_at_worst(
    place: Place, ledger: Ledger, ending: str
) -> None:
    assert (amounts(ledger, ATHENS), amounts(ledger, CORINTH)) == ((0, 100), (0, 100))
    ENDINGS[ending](ledger)
    ledger.close()
    reopened = place.open()
    assert reopened.write_session("s", endings.settle, 1) is None
    assert (amounts(reopened, ATHENS), amounts(reopened, CORINTH)) == ((100, 0), (0, 0))
    assert reopened.read(balances.data_dependent_totals) == {ATHENS: 100, CORINTH: 0}
    (charge,) = reopened.read(recorded_charges.charges)
    assert (charge.unit, charge.batch_id, charge.worst_case) == (ATHENS, 1, 100)
    told = [(event.kind, event.spent) for event in reopened.read(history.events_of, ATHENS)]
    assert told == [("set", 0), ("charged", 100)]
    assert amounts(place.open(), ATHENS) == (100, 0)


def test_a_release_charges_what_was_answered(place: Place, ledger: Ledger) -> None:
    release(ledger, 1, Charge(ATHENS, 40, 30), Charge(CORINTH, 40, 30))
    assert (amounts(ledger, ATHENS), amounts(ledger, CORINTH)) == ((40, 0), (40, 0))
    ledger.write_session("s", endings.close)
    assert amounts(place.open(), ATHENS) == (40, 0)


def test_a_release_without_the_party_charges_it_at_worst(place: Place, ledger: Ledger) -> None:
    release(ledger, 1, Charge(CORINTH, 40, 30))
    assert (amounts(ledger, ATHENS), amounts(ledger, CORINTH)) == ((100, 0), (40, 0))
    assert {charge.unit: charge.worst_case for charge in ledger.read(recorded_charges.charges)} == {
        ATHENS: 100,
        CORINTH: 40,
    }
    ledger.write_session("s", endings.close)
    assert amounts(place.open(), ATHENS) == (100, 0)


def test_an_evaluation_is_recorded_once(ledger: Ledger) -> None:
    head = ledger.read(audit.head)
    ledger.write_session("s", evaluations.record, 1, "athens", {ATHENS: 7})
    assert ledger.read(audit.head) == head
    release(ledger, 1, Charge(ATHENS, 40, 30))
    ledger.write_session("s", evaluations.record, 1, "athens", WORST)
    ledger.write_session("s", endings.close)
    ledger.write_session("s", evaluations.record, 1, "athens", WORST)
    assert amounts(ledger, ATHENS) == (40, 0)


def test_what_comes_too_late_is_refused(ledger: Ledger) -> None:
    corinth = {CORINTH: 100}

    def record(batch_id: int = 1) -> None:
        ledger.write_session("s", evaluations.record, batch_id, "corinth", corinth)

    refused(ErrorCode.TICKET_INVALID, lambda: record(2))
    ledger.write_session("s", endings.settle, 3)
    refused(ErrorCode.BATCH_DEAD, lambda: record(3))
    release(ledger, 1, Charge(ATHENS, 40, 30))
    refused(ErrorCode.BATCH_FROZEN, record)
    ledger.write_session("s", endings.close)
    refused(ErrorCode.SESSION_CLOSED, record)
    assert amounts(ledger, CORINTH) == (0, 0)


def test_a_data_dependent_budget_pays_although_it_reserved_nothing(place: Place) -> None:
    ledger = with_budgets(place.open(), enforce="data_dependent")
    ledger.write_session("s", batches.open_batch, 1, 5, b"t", {})
    ledger.write_session("s", evaluations.record, 1, "athens", {ATHENS: 70})
    assert amounts(ledger, ATHENS) == (0, 0)
    ledger.write_session("s", endings.settle, 1)
    assert (amounts(ledger, ATHENS), ledger.read(balances.data_dependent_totals)[ATHENS]) == ((70, 0), 70)
    ledger.write_session("s", batches.open_batch, 2, 5, b"t", {})
    ledger.write_session("s", evaluations.record, 2, "athens", {ATHENS: 70})
    release(ledger, 2, Charge(ATHENS, 40, 30))
    assert (amounts(place.open(), ATHENS), budget_of(place.open(), ATHENS).reserved) == ((110, 0), 0)


def test_a_checked_batch_pays_for_its_check_and_evaluation_once(place: Place, ledger: Ledger) -> None:
    ledger.write_session("s", releases.check, 1, DIGEST, [Charge(ATHENS, 30, 30), Charge(CORINTH, 20, 20)])
    ledger.write_session("s", endings.settle, 1)
    assert (amounts(ledger, ATHENS), amounts(ledger, CORINTH)) == ((100, 0), (20, 0))
    assert ledger.read(balances.data_dependent_totals) == {ATHENS: 100, CORINTH: 20}
    told = [(event.kind, event.spent) for event in ledger.read(history.events_of, ATHENS)]
    assert told == [("set", 0), ("charged", 30), ("charged", 100)]
    place.open()


def test_queries_that_were_evaluated_count_for_the_day_although_their_batch_died(ledger: Ledger) -> None:
    ledger.write_session("s", endings.settle, 1)
    ledger.write_session("s", batches.open_batch, 2, 5, b"t", {ATHENS: 100})
    ledger.write_session("s", endings.settle, 2)
    querier = ledger.read(sessions.find_session, "s").querier
    assert ledger.read(limits.queries_in_day, querier, int(1e15)) == 0
    refused(
        ErrorCode.POLICY_DAILY_LIMIT,
        lambda: ledger.write_session("s", batches.open_batch, 3, 5, b"t", {ATHENS: 100}, daily_limit=9),
    )
    ledger.write_session("s", batches.open_batch, 3, 5, b"t", {ATHENS: 100}, daily_limit=10)


def test_a_charge_is_of_the_time_of_the_death(ledger: Ledger, time: ManualClock) -> None:
    time.advance(60)
    died = int(time.now() * 1000)
    ledger.write_session("s", endings.settle, 1)
    assert [charge.released_unix_ms for charge in ledger.read(recorded_charges.charges)] == [died]


def test_a_restored_ledger_charges_an_evaluated_batch_once(tmp_path: Path, place: Place) -> None:
    original = Place(tmp_path / "original.db", place.time)
    ledger = with_budgets(original.open())
    ledger.write(registrations.register, "athens", b"m", b"signed")
    for batch_id in (1, 2):
        ledger.write_session("s", batches.open_batch, batch_id, 5, b"t", {ATHENS: 100})
    ledger.write_session("s", evaluations.record, 1, "athens", WORST)
    backup(ledger, tmp_path / "backup.db")
    release(ledger, 1, Charge(ATHENS, 90, 50))
    original.close()
    place.restore(tmp_path / "backup.db")
    restored = place.open()
    assert amounts(restored) == (100, 0)
    receipts = [Owed("s", batch_id, ATHENS, 100) for batch_id in (1, 2)]
    assert restored.write(reconcile.reconcile, "athens", receipts) == 1
    assert amounts(restored) == (200, 0)
    place.open()


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM evaluations",
        "UPDATE evaluations SET worst_case = 1",
        "UPDATE evaluations SET charged_unix_ms = 1",
        "UPDATE evaluations SET time_unix_ms = 1",
    ],
)
def test_a_changed_evaluation_is_found(place: Place, ledger: Ledger, statement: str) -> None:
    ledger.close()
    place.execute(statement)
    assert "evaluation of batch s/1" in refused(ErrorCode.LEDGER_TAMPERED, place.open).message


def test_units_without_a_budget_are_named(ledger: Ledger) -> None:
    unknown = UnitKey("sparta", "all", "record")
    refused(
        ErrorCode.BUDGET_MISSING,
        lambda: ledger.write_session("s", evaluations.record, 1, "sparta", {unknown: 1}),
    )
