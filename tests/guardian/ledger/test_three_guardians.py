"""Three guardians on one PostgreSQL: none waits for what another does, nor for one that was killed."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from functools import partial

import pytest
from sqlalchemy import PoolProxiedConnection, text
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from ostraka.common.clock import ManualClock
from ostraka.common.errors import ErrorCode
from ostraka.guardian.ledger import BudgetTerms, Charge, Ledger, UnitKey
from ostraka.guardian.ledger.ledger import LEASE_S
from ostraka.guardian.ledger.log import audit
from ostraka.guardian.ledger.members import parties
from ostraka.guardian.ledger.sessions import batches, endings, recorded_charges, releases, sessions
from ostraka.guardian.ledger.units import balances, budgets
from tests.guardian.ledger.support import (
    ATHENS,
    BUDGET,
    CORINTH,
    DELTA,
    DIGEST,
    ORDER,
    SEAL,
    amounts,
    cipher,
    clock,
    in_child,
    once_at,
    open_session,
    refused,
    sign,
    with_budgets,
)

SPARTA = UnitKey("sparta", "all", "record")
MOST_CONNECTIONS = 97
"""What PostgreSQL takes by default: 100, of which 3 are its administrators'."""
Opener = Callable[[str], Ledger]

pytestmark = pytest.mark.heavy


@pytest.fixture
def time() -> ManualClock:
    return clock()


@pytest.fixture
def opener(postgres_url: str, time: ManualClock) -> Iterator[Opener]:
    """Yield a function that opens the one ledger for the guardian at an address."""
    with ExitStack() as opened:
        yield lambda address: opened.enter_context(opened_at(postgres_url, time, address))


def opened_at(url: str, time: ManualClock, address: str) -> Ledger:
    return Ledger.open(url, clock=time, cipher=cipher(), sign_head=sign, seal=SEAL, address=address)


@pytest.fixture
def guardians(opener: Opener) -> list[Ledger]:
    """Return three guardians; each has a session of its name, and a unit that no other one charges."""
    made = [opener(address) for address in ("a:1", "b:2", "c:3")]
    with_budgets(made[0])
    made[0].write(budgets.set_budget, SPARTA, BudgetTerms(BUDGET, DELTA, ORDER, "worst_case"))
    for ledger, name in zip(made, "abc", strict=True):
        open_session(ledger, name)
    return made


def ticket(ledger: Ledger, session: str, batch: int, unit: UnitKey) -> None:
    ledger.write_session(session, batches.open_batch, batch, 1, b"t", {unit: 9})


def release(ledger: Ledger, session: str, batch: int, unit: UnitKey) -> None:
    charges = [Charge(unit, 7, 1)]
    ledger.write_session(session, releases.release, batch, DIGEST, b"answers", charges, answered=1)


def holder(ledger: Ledger) -> str:
    """Return where the guardian sends those who ask for session "s"."""
    asked = partial(ledger.read_session, "s", batches.find_batch, 1)
    return refused(ErrorCode.SESSION_ELSEWHERE, asked).details["address"]


def read_all(ledger: Ledger, session: str) -> None:
    """Read what parties and querying parties ask about."""
    ledger.read(balances.all_budgets)
    ledger.read(parties.all_parties)
    ledger.recall(audit.head)
    ledger.read_session(session, batches.with_session, 1)
    ledger.read(recorded_charges.charges)


def test_none_waits_for_a_batch_that_another_one_charges(guardians: list[Ledger]) -> None:
    """While the first holds its session's and its unit's rows, the others do all that they do."""
    first, second, third = guardians

    def work() -> None:
        for ledger, name, unit in ((second, "b", CORINTH), (third, "c", SPARTA)):
            ticket(ledger, name, 1, unit)
            release(ledger, name, 1, unit)
            read_all(ledger, name)
            ledger.renew_lease()
            ledger.write_session(name, endings.close)

    ticket(first, "a", 1, ATHENS)
    charging = once_at(first, "UPDATE charges", work)
    release(first, "a", 1, ATHENS)
    assert charging.is_set()
    assert [amounts(first, unit) for unit in (ATHENS, CORINTH, SPARTA)] == [(7, 0)] * 3


def test_readers_do_not_wait_for_the_log_either(guardians: list[Ledger]) -> None:
    """The log's row is the one lock that all share, at the end of every transaction."""
    first, second, third = guardians
    for ledger, name, unit in ((first, "a", ATHENS), (second, "b", CORINTH), (third, "c", SPARTA)):
        ticket(ledger, name, 1, unit)

    def read() -> None:
        read_all(second, "b")
        read_all(third, "c")

    logging = once_at(first, "INSERT INTO audit", read)
    release(first, "a", 1, ATHENS)
    assert logging.is_set()


def test_sessions_of_a_guardian_that_is_killed_go_on_when_its_lease_is_over(
    postgres_url: str, opener: Opener, time: ManualClock
) -> None:
    """It is killed as it charges: nothing of that is there, and what it had locked is free at once."""

    def killed() -> None:
        ledger = with_budgets(opened_at(postgres_url, time, "c:3"))
        open_session(ledger, "t")
        ticket(ledger, "s", 1, ATHENS)
        release(ledger, "s", 1, ATHENS)
        ticket(ledger, "s", 2, ATHENS)
        once_at(ledger, "UPDATE charges", lambda: os.kill(os.getpid(), signal.SIGKILL))
        release(ledger, "s", 2, ATHENS)

    assert os.WIFSIGNALED(in_child(killed))
    first, second = opener("a:1"), opener("b:2")
    for ledger in (first, second):
        assert holder(ledger) == "c:3"
    for passed in (LEASE_S - 1, 2):
        time.advance(passed)
        second.renew_lease()
        first.renew_lease()
    assert amounts(first) == (7, 0)
    assert second.write_session("s", endings.settle, 2) is None
    ticket(second, "s", 3, ATHENS)
    release(second, "s", 3, ATHENS)
    assert second.read_session("t", sessions.find_session).state == "open"
    assert holder(first) == "b:2"
    assert amounts(first) == (14, 0)


def test_three_guardians_at_full_stretch_fit_one_server(
    guardians: list[Ledger], monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[PoolProxiedConnection] = []
    for ledger in guardians:
        storage = ledger._storage
        for engine in (storage._engine, storage._looking_engine):  # type: ignore[attr-defined]
            monkeypatch.setattr(engine.pool, "_timeout", 0.01)
            with suppress(PoolTimeoutError):
                while len(taken) <= MOST_CONNECTIONS:
                    taken.append(engine.pool.connect())
    assert len(taken) < MOST_CONNECTIONS
    for held in taken:
        held.close()
    with guardians[0]._storage.read() as connection:
        open_now = connection.execute(
            text("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()")
        ).scalar_one()
    assert open_now <= len(taken)
