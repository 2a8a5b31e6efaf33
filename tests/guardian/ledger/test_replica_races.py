"""Guardians on one PostgreSQL that meet at the worst moment, or whose clocks disagree."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from sqlalchemy import text

from ostraka.common.clock import ManualClock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.guardian.ledger import Charge, Ledger, registrations
from ostraka.guardian.ledger.ledger import LEASE_S
from ostraka.guardian.ledger.log import audit
from ostraka.guardian.ledger.members import manifests, parties
from ostraka.guardian.ledger.sessions import batches, endings, recorded_charges, releases, sessions
from ostraka.guardian.ledger.store import postgres
from ostraka.guardian.ledger.store.storage import open_storage
from tests.guardian.ledger.places import LOST
from tests.guardian.ledger.support import (
    ATHENS,
    DIGEST,
    SEAL,
    START,
    amounts,
    cipher,
    once_at,
    open_session,
    refused,
    sign,
    with_budgets,
)

HOUR_S = 3600.0
LOSERS = frozenset({ErrorCode.BATCH_DEAD, ErrorCode.LEDGER_FENCED, ErrorCode.SESSION_ELSEWHERE})
Opener = Callable[..., Ledger]


@pytest.fixture
def opener(postgres_url: str) -> Iterator[Opener]:
    """Yield a function that opens the one ledger for the guardian at an address, by a clock of its own."""
    opened: list[Ledger] = []

    def open_at(address: str, ahead_s: float = 0.0) -> Ledger:
        clock = ManualClock(START + ahead_s)
        ledger = Ledger.open(
            postgres_url, clock=clock, cipher=cipher(), sign_head=sign, seal=SEAL, address=address
        )
        opened.append(ledger)
        return ledger

    yield open_at
    for ledger in opened:
        ledger.close()


@pytest.fixture
def first(opener: Opener) -> Ledger:
    return with_budgets(opener("a:1"))


def serve(ledger: Ledger, session: str, batch: int, cost: int) -> None:
    """Ticket and release a batch."""
    ledger.write_session(session, batches.open_batch, batch, 1, b"t", {ATHENS: cost})
    ledger.write_session(
        session, releases.release, batch, DIGEST, b"answers", [Charge(ATHENS, cost, 1)], answered=1
    )


def test_guardians_that_make_a_ledger_at_once_share_it(opener: Opener) -> None:
    together = Barrier(8)

    def start(number: int) -> Ledger:
        together.wait()
        return opener(f"a:{number}")

    with ThreadPoolExecutor(8) as pool:
        ledgers = list(pool.map(start, range(8)))
    with_budgets(ledgers[0])
    assert {ledger.read(audit.head).hash for ledger in ledgers} == {ledgers[0].read(audit.head).hash}


def test_parties_that_register_at_once_leave_the_log_whole(opener: Opener, first: Ledger) -> None:
    second = opener("b:2")
    once_at(
        first,
        "INSERT INTO manifests",
        lambda: second.write(registrations.register, "corinth", b"m2", b"signed"),
    )
    first.write(registrations.register, "athens", b"m1", b"signed")
    assert set(opener("c:3").read(manifests.latest)) == {"athens", "corinth"}


def test_a_guardian_that_serves_while_it_is_superseded(opener: Opener, first: Ledger) -> None:
    """A session is opened after the others were locked, and its batch released as they are buried."""
    first.write_session("s", batches.open_batch, 1, 1, b"t", {ATHENS: 7})
    second = opener("b:2")

    def serve_new() -> None:
        open_session(first, "t")
        first.write_session("t", batches.open_batch, 1, 1, b"t", {ATHENS: 100})

    def release_new() -> None:
        first.write_session("t", releases.release, 1, DIGEST, b"answers", [Charge(ATHENS, 60, 1)], answered=1)

    once_at(second, "SELECT sessions.session_id", serve_new)
    once_at(second, "SELECT units.party, units.group_name", release_new)
    second._clock.advance(LEASE_S + 1)  # type: ignore[attr-defined]
    second.renew_lease()
    refused(ErrorCode.LEDGER_FENCED, lambda: first.write_session("t", endings.settle, 1))
    assert (
        second.write_session("s", endings.settle, 1),
        second.write_session("t", endings.settle, 1),
    ) == (None, b"answers")
    assert amounts(second) == (60, 0)
    opener("c:3", ahead_s=LEASE_S + 1)


def test_a_session_that_is_opened_while_lost_history_is_found_goes_on(opener: Opener, first: Ledger) -> None:
    second = opener("b:2")
    first.write(registrations.register, "athens", b"m", b"signed")
    once_at(first, "SELECT sessions.session_id", lambda: open_session(second, "t"))
    first.write(registrations.register, "athens", b"m", b"signed", kept_head=LOST)
    assert [second.read(sessions.find_session, name).state for name in ("s", "t")] == ["ended", "open"]
    opener("c:3")


@pytest.mark.heavy
def test_clocks_that_are_apart_cost_waiting_and_never_a_budget(opener: Opener, first: Ledger) -> None:
    """The guardian whose clock is ahead takes everything from the other, again and again."""

    def ask(address: str, ahead_s: float, batches: range) -> int:
        ledger, spent = opener(address, ahead_s), 0
        for batch in batches:
            try:
                ledger.renew_lease()
                serve(ledger, f"s{batch % 3}", batch, 2 * batch + 1)
                spent += 2 * batch + 1
            except OstrakaError as error:
                if error.code not in LOSERS:
                    raise
                if error.code is ErrorCode.LEDGER_FENCED:
                    ledger = opener(address, ahead_s)
        return spent

    for name in ("s0", "s1", "s2"):
        open_session(first, name)
    with ThreadPoolExecutor(2) as pool:
        late = pool.submit(ask, "b:2", 0.0, range(40))
        early = pool.submit(ask, "c:3", HOUR_S, range(40, 80))
        spent = late.result() + early.result()
    last = opener("d:4", 2 * HOUR_S)
    for name in ("s0", "s1", "s2"):
        last.write_session(name, endings.close)
    assert early.result() > 0
    assert amounts(last) == (spent, 0)
    assert sum(charge.worst_case for charge in last.read(recorded_charges.charges)) == spent
    opener("e:5", 2 * HOUR_S)


def test_a_guardian_all_of_whose_connections_are_taken_says_so(
    first: Ledger, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = open_storage(postgres_url)
    pool = storage._engine.pool  # type: ignore[attr-defined]
    monkeypatch.setattr(pool, "_max_overflow", 0)
    monkeypatch.setattr(pool, "_timeout", 0.01)
    taken = [pool.connect() for _ in range(pool.size())]

    def read() -> None:
        with storage.read():
            pytest.fail("there was one left")

    refused(ErrorCode.LEDGER_LOCKED, read)
    for connection in taken:
        connection.close()
    storage.close()


def test_a_guardian_that_hangs_in_a_transaction_does_not_stop_the_others(
    opener: Opener, first: Ledger, monkeypatch: pytest.MonkeyPatch, postgres_url: str
) -> None:
    monkeypatch.setattr(postgres, "_HUNG_S", 0.1)
    hanging = open_storage(postgres_url)

    def hang() -> None:
        with hanging.write() as connection:
            connection.execute(text("SELECT 1 FROM meta FOR UPDATE"))
            assert first.write_session("s", endings.settle, 1) is None
            connection.execute(text("UPDATE meta SET epoch = 7"))

    refused(ErrorCode.LEDGER_UNREACHABLE, hang)
    assert first.read(parties.epoch) == 0
    hanging.close()
