"""Several guardians on one PostgreSQL: each has its own sessions, and one that slept writes nothing."""

from collections.abc import Callable, Iterator

import pytest

from ostraka.common.clock import ManualClock
from ostraka.common.errors import ErrorCode
from ostraka.guardian.ledger import Charge, Ledger
from ostraka.guardian.ledger.ledger import LEASE_S
from ostraka.guardian.ledger.log import audit
from ostraka.guardian.ledger.sessions import batches, endings, releases, session_opening, sessions
from ostraka.guardian.ledger.store.storage import ConflictError
from ostraka.guardian.ledger.transaction import ATTEMPTS, retry
from ostraka.guardian.ledger.units import balances
from tests.guardian.ledger.places import Place
from tests.guardian.ledger.suite import SESSIONS, race_of_sessions
from tests.guardian.ledger.support import (
    ATHENS,
    CORINTH,
    DIGEST,
    SEAL,
    amounts,
    budget_of,
    cipher,
    clock,
    open_session,
    refused,
    release,
    sign,
    with_budgets,
)

COST = Charge(ATHENS, 60, 3)
LONG_S = 10 * LEASE_S
Opener = Callable[[str, float], Ledger]


@pytest.fixture
def time() -> ManualClock:
    return clock()


@pytest.fixture
def opener(postgres_url: str, time: ManualClock) -> Iterator[Opener]:
    """Yield a function that opens the one ledger for the guardian at an address."""
    opened: list[Ledger] = []

    def open_at(address: str, lease_s: float) -> Ledger:
        ledger = Ledger.open(
            postgres_url,
            clock=time,
            cipher=cipher(),
            sign_head=sign,
            seal=SEAL,
            address=address,
            lease_s=lease_s,
        )
        opened.append(ledger)
        return ledger

    yield open_at
    for ledger in opened:
        ledger.close()


@pytest.fixture
def first(opener: Opener) -> Ledger:
    """Return the ledger of a guardian that holds session "s" with a ticketed batch."""
    ledger = with_budgets(opener("a:1", LEASE_S))
    ledger.write_session("s", batches.open_batch, 1, 5, b"t", {ATHENS: 100})
    return ledger


@pytest.fixture
def second(opener: Opener, first: Ledger) -> Ledger:
    """Return the ledger of a guardian whose lease outlasts every test."""
    return opener("b:2", LONG_S)


def calls(ledger: Ledger, session: str = "s") -> list[Callable[[], object]]:
    """Everything that concerns one session alone."""
    return [
        lambda: ledger.write_session(session, batches.open_batch, 2, 5, b"t", {ATHENS: 100}),
        lambda: ledger.write_session(session, releases.release, 1, DIGEST, b"answers", [COST], answered=1),
        lambda: ledger.write_session(session, endings.settle, 1),
        lambda: ledger.read_session(session, batches.answers, 1, DIGEST),
        lambda: ledger.read_session(session, batches.find_batch, 1),
        lambda: ledger.read_session(session, sessions.find_session),
        lambda: ledger.read_session(session, batches.with_session, 1),
        lambda: session_opening.find_session(ledger, "querier", session.encode()),
        lambda: open_session(ledger, session),
        lambda: ledger.write_session(session, endings.close),
    ]


def test_a_session_is_served_where_it_was_opened(first: Ledger, second: Ledger) -> None:
    before = first.read(audit.head)
    for call in calls(second):
        assert refused(ErrorCode.SESSION_ELSEWHERE, call).details == {"address": "a:1"}
    assert second.read(audit.head) == before
    release(first, 1, COST)
    assert amounts(second) == (60, 0)
    open_session(second, "t")
    assert refused(
        ErrorCode.SESSION_ELSEWHERE, lambda: first.read_session("t", sessions.find_session)
    ).details == {"address": "b:2"}


def test_a_closed_session_is_answered_for_by_all(first: Ledger, second: Ledger) -> None:
    release(first, 1, COST)
    first.write_session("s", endings.close)
    assert second.read_session("s", batches.answers, 1, DIGEST) == b"answers"
    assert second.write_session("s", endings.settle, 1) == b"answers"
    assert second.write_session("s", endings.settle, 7) is None


def test_a_renewed_lease_keeps_sessions(first: Ledger, second: Ledger, time: ManualClock) -> None:
    for _ in range(3):
        time.advance(LEASE_S)
        first.renew_lease()
        second.renew_lease()
    refused(ErrorCode.SESSION_ELSEWHERE, lambda: second.read_session("s", sessions.find_session))


def test_a_guardian_that_wakes_up_after_its_session_was_adopted_writes_nothing(
    first: Ledger, second: Ledger, time: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    time.advance(LEASE_S + 1)
    second.renew_lease()
    before = second.read(audit.head)
    with monkeypatch.context() as past_the_fence:
        past_the_fence.setattr("ostraka.guardian.ledger.replicas.require_current", lambda *_: None)
        for call in calls(first):
            refused(ErrorCode.SESSION_ELSEWHERE, call)
    for again in [*calls(first), first.renew_lease, lambda: first.read(balances.all_budgets)]:
        refused(ErrorCode.LEDGER_FENCED, again)
    assert second.read(audit.head) == before
    assert amounts(second) == (0, 0)


@pytest.mark.heavy
def test_every_call_adopts_the_session_of_a_guardian_that_is_gone(
    first: Ledger, second: Ledger, time: ManualClock
) -> None:
    names = [f"s{number}" for number, _ in enumerate(calls(first))]
    for name in names:
        open_session(first, name)
        first.write_session(name, batches.open_batch, 1, 5, b"t", {CORINTH: 1})
    time.advance(LEASE_S + 1)
    for left, name in reversed(list(enumerate(names))):
        call = calls(second, name)[left]
        if left == 1:
            refused(ErrorCode.BATCH_DEAD, call)
            refused(ErrorCode.BATCH_DEAD, call)
        else:
            call()
        assert amounts(second, CORINTH) == (0, left)


def test_a_heartbeat_takes_over_what_nobody_asks_for(
    first: Ledger, second: Ledger, time: ManualClock
) -> None:
    release(first, 1, COST)
    first.write_session("s", batches.open_batch, 2, 5, b"t", {ATHENS: 100, CORINTH: 50})
    time.advance(LEASE_S + 1)
    second.renew_lease()
    assert (amounts(second, ATHENS), amounts(second, CORINTH)) == ((60, 0), (0, 0))
    refused(ErrorCode.LEDGER_FENCED, first.renew_lease)
    second.write_session("s", batches.open_batch, 3, 5, b"t", {ATHENS: 100})


def test_a_guardian_that_is_started_again_goes_on_at_once(opener: Opener, first: Ledger) -> None:
    again = opener("a:1", LEASE_S)
    refused(ErrorCode.LEDGER_FENCED, lambda: release(first, 1, COST))
    assert amounts(again) == (0, 0)
    again.write_session("s", batches.open_batch, 2, 5, b"t", {ATHENS: 100})


def test_a_guardian_that_stops_leaves_its_sessions(first: Ledger, second: Ledger) -> None:
    first.close()
    assert second.write_session("s", endings.settle, 1) is None
    second.write_session("s", batches.open_batch, 2, 5, b"t", {ATHENS: 100})


@pytest.mark.heavy
def test_replicas_race_for_the_last_of_all_budgets(first: Ledger, second: Ledger) -> None:
    first.write_session("s", endings.settle, 1)
    budget = budget_of(first).budget
    assert race_of_sessions([first, second] * (SESSIONS // 2), budget // 10) == 10
    for unit in (ATHENS, CORINTH):
        assert amounts(second, unit) == (10 * (budget // 10), 0)


def test_replicas_keep_the_log_whole(opener: Opener, first: Ledger, second: Ledger) -> None:
    race_of_sessions([first, second], budget_of(first).budget // 4)
    opener("c:3", LEASE_S)


def test_sqlite_has_one_guardian_at_a_time(place: Place) -> None:
    ledger = with_budgets(place.open())
    later = place.open()
    if isinstance(place.where, str):
        refused(ErrorCode.SESSION_ELSEWHERE, lambda: later.read_session("s", sessions.find_session))
    else:
        refused(ErrorCode.LEDGER_FENCED, ledger.renew_lease)
        later.renew_lease()


def test_a_transaction_that_others_undo_runs_again_a_few_times() -> None:
    runs = []

    def run(conflicts: int) -> str:
        runs.append(1)
        if len(runs) <= conflicts:
            raise ConflictError("ledger")
        return "done"

    assert retry(lambda: run(ATTEMPTS - 1)) == "done"
    assert len(runs) == ATTEMPTS
    runs.clear()
    refused(ErrorCode.LEDGER_LOCKED, lambda: retry(lambda: run(ATTEMPTS)))
    assert len(runs) == ATTEMPTS
