"""Answers are dropped after their time: nothing is charged again, released anew, or missed by the audit."""

from contextlib import closing
from pathlib import Path

import pytest

from ostraka.common.clock import ManualClock
from ostraka.common.errors import ErrorCode
from ostraka.guardian.ledger import Charge, Ledger, backup
from ostraka.guardian.ledger.log import integrity
from ostraka.guardian.ledger.sessions import batches, endings, forgetting, releases
from ostraka.guardian.ledger.store.storage import open_storage
from ostraka.guardian.policy import Policy, PolicyInForce
from ostraka.guardian.serving.timers import Forgetter
from tests.guardian.ledger.places import Place
from tests.guardian.ledger.support import (
    ATHENS,
    DIGEST,
    START,
    amounts,
    refused,
    release,
    with_budgets,
)

DAY_S = 24 * 3600
OLD, NEW = 1, 2


@pytest.fixture
def ledger(place: Place) -> Ledger:
    """Return one with a batch that was released at the start, and one a day later."""
    ledger = with_budgets(place.open())
    for batch, charged in ((OLD, 60), (NEW, 50)):
        ledger.write_session("s", batches.open_batch, batch, 5, b"t", {ATHENS: 100})
        release(ledger, batch, Charge(ATHENS, charged, 1), answers=b"sum %d" % batch)
        place.time.advance(DAY_S)
    return ledger


def dropped(ledger: Ledger, day: float) -> int:
    found = ledger.write(forgetting.drop_answers, int((START + day * DAY_S) * 1000))
    return found.batches


def test_what_is_older_than_the_time_is_dropped_once(ledger: Ledger) -> None:
    assert [dropped(ledger, day) for day in (0, 0.5, 0.5, 1.5, 1.5)] == [0, 1, 0, 1, 0]


def test_a_call_for_dropped_answers_gets_a_code_and_no_charge(ledger: Ledger) -> None:
    spent = amounts(ledger)
    dropped(ledger, 0.5)
    error = refused(ErrorCode.BATCH_FORGOTTEN, lambda: release(ledger, OLD, Charge(ATHENS, 60, 1)))
    assert "keep_answers_days" in error.message
    refused(ErrorCode.BATCH_FORGOTTEN, lambda: ledger.write_session("s", endings.settle, OLD))
    refused(
        ErrorCode.BATCH_FORGOTTEN,
        lambda: ledger.read_session("s", batches.answers, OLD, DIGEST),
    )
    refused(
        ErrorCode.BATCH_ALTERED,
        lambda: ledger.write_session(
            "s", releases.release, OLD, b"e" * 32, b"other noise", [Charge(ATHENS, 60, 1)], answered=1
        ),
    )
    refused(
        ErrorCode.BATCH_ALTERED,
        lambda: ledger.write_session("s", batches.open_batch, OLD, 6, b"t", {ATHENS: 100}),
    )
    assert amounts(ledger) == spent
    assert release(ledger, NEW, Charge(ATHENS, 50, 1)) == b"sum 2"


def test_the_audit_log_vouches_for_what_was_dropped(place: Place, ledger: Ledger, tmp_path: Path) -> None:
    dropped(ledger, 0.5)
    backup(ledger, tmp_path / "backup.db")
    ledger.close()
    for where in (place.where, tmp_path / "backup.db"):
        check(where)
    reopened = place.open()
    refused(ErrorCode.BATCH_FORGOTTEN, lambda: release(reopened, OLD, Charge(ATHENS, 60, 1)))
    reopened.close()
    place.execute("UPDATE batches SET answers = request_digest WHERE batch_id = 1")
    with pytest.raises(integrity.TamperedError):
        check(place.where)


def test_a_clock_that_was_ahead_for_a_while_has_nothing_kept_for_ever(place: Place, ledger: Ledger) -> None:
    clock = ManualClock(place.time.now())
    forgetter = Forgetter(ledger, PolicyInForce(lambda: None, Policy(keep_answers_days=1)), clock)
    clock.advance(400 * DAY_S)
    forgetter.forget()
    later = NEW + 1
    ledger.write_session("s", batches.open_batch, later, 5, b"t", {ATHENS: 100})
    release(ledger, later, Charge(ATHENS, 50, 1))
    clock.advance(-400 * DAY_S)
    forgetter.forget()
    release(ledger, later, Charge(ATHENS, 50, 1))
    clock.advance(1.5 * DAY_S)
    forgetter.forget()
    refused(ErrorCode.BATCH_FORGOTTEN, lambda: release(ledger, later, Charge(ATHENS, 50, 1)))


def check(where: Path | str) -> None:
    with closing(open_storage(where, read_only=True)) as storage, storage.read() as connection:
        integrity.check_tables(connection, integrity.chain(connection))
