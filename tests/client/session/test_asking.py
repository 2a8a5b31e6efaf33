import asyncio
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
from structlog.testing import capture_logs

from ostraka.client.peers.event_loop import run_async
from ostraka.client.run import site
from ostraka.client.session.asking import ask_all, ask_each, failures
from ostraka.client.session.batch import Ticketed
from ostraka.client.session.stragglers import Patience, Waiting
from ostraka.common.clock import ManualClock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.protos.ostraka.v1 import common_pb2

WAIT_S = 60.0
AWAY = OstrakaError(ErrorCode.PARTY_UNREACHABLE, "Away.")


class Parties:
    """Parties of which some never answer and some fail; it is told who was cut off."""

    def __init__(self, silent: str = "", failing: str = "") -> None:
        self.silent, self.failing = silent, failing
        self.cut: list[str] = []

    async def ask(self, site: str) -> str:
        if site in self.failing:
            raise AWAY
        if site in self.silent:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.cut.append(site)
                raise
        return site.upper()


def test_everybody_is_waited_for_and_failures_are_told() -> None:
    came = run_async(ask_all("abc", Parties(failing="b").ask))
    assert came == {"a": "A", "b": AWAY, "c": "C"}
    assert failures(came) == {"b": AWAY}
    assert run_async(ask_all("", Parties().ask)) == {}


def test_stragglers_are_cut_off_once_the_others_are_enough() -> None:
    parties = Parties(silent="bd", failing="c")
    waiting = Waiting(Patience(0.0, lambda answered: "a" in answered))
    came = run_async(ask_all("abcd", parties.ask, waiting))
    assert waiting.last == ("b", "d")
    assert came["a"] == "A"
    assert came["c"] is AWAY
    late = failures(came)["b"]
    assert (late.code, "freeze_after_s" in late.message) == (ErrorCode.PARTY_UNREACHABLE, True)
    assert sorted(parties.cut) == ["b", "d"]


def test_no_more_are_asked_by_threads_than_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site, "PARTIES_AT_ONCE", 2)
    met, lock, asked, most = threading.Barrier(2), threading.Lock(), [0], [0]

    def ask(name: str) -> str:
        with lock:
            asked[0] += 1
            most[0] = max(most[0], asked[0])
        met.wait(WAIT_S)
        with lock:
            asked[0] -= 1
        if name == "b":
            raise AWAY
        return name.upper()

    with site.threads(6) as pool:
        came = ask_each("abcdef", ask, pool)
    assert came == {"a": "A", "b": AWAY, "c": "C", "d": "D", "e": "E", "f": "F"}
    assert most == [2]


def test_stragglers_that_threads_ask_are_cut_off_and_the_others_not_asked() -> None:
    """Of two threads b's never ends by itself; d waits for one, and c answers while it is cut off."""
    ended, cut, asked = {"b": threading.Event(), "c": threading.Event()}, [], []

    def ask(name: str) -> str:
        asked.append(name)
        if name in ended:
            assert ended[name].wait(WAIT_S)
        if name == "b":
            raise AWAY
        return name.upper()

    def cutting(name: str) -> None:
        cut.append(name)
        if cut.count(name) == 2:
            ended[name].set()

    with ThreadPoolExecutor(2) as pool:
        waiting = Waiting(Patience(0.0, lambda answered: "a" in answered))
        came = ask_each("abcd", ask, pool, waiting, cutting)
    assert waiting.last == ("b", "d")
    assert asked == ["a", "b", "c"]
    assert (came["a"], came["c"]) == ("A", "C")
    assert {site: "freeze_after_s" in error.message for site, error in failures(came).items()} == {
        "b": True,
        "d": True,
    }


def test_an_error_of_any_kind_is_that_partys_failure_by_threads() -> None:
    def ask(name: str) -> str:
        if name == "a":
            raise ZeroDivisionError
        return name.upper()

    with ThreadPoolExecutor(2) as pool, capture_logs() as logs:
        came = ask_each("ab", ask, pool)
    assert came["b"] == "B"
    assert_own_fault(came["a"], logs)


def test_an_error_of_any_kind_is_that_partys_failure() -> None:
    async def ask(site: str) -> str:
        if site == "a":
            raise ZeroDivisionError
        return await Parties().ask(site)

    with capture_logs() as logs:
        came = run_async(ask_all("ab", ask))
    assert came["b"] == "B"
    assert_own_fault(came["a"], logs)


def assert_own_fault(failure: object, logs: Sequence[Mapping[str, object]]) -> None:
    """Check that an error of this side counts as the failure of party a, and that the log has it."""
    assert isinstance(failure, OstrakaError)
    assert failure.code is ErrorCode.INTERNAL
    assert "party a" in failure.message
    assert "ZeroDivisionError" in failure.message
    (entry,) = logs
    assert (entry["log_level"], entry["who"]) == ("debug", "party a")
    assert isinstance(entry["exc_info"], ZeroDivisionError)


def test_an_interrupt_cuts_everybody_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """As Ctrl-C does while parties vote."""
    asked, cut = threading.Event(), threading.Event()

    async def ask(site: str) -> None:
        asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            cut.set()

    def interrupted(_: Future[object]) -> None:
        assert asked.wait(WAIT_S)
        raise KeyboardInterrupt

    monkeypatch.setattr(Future, "result", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_async(ask_all("a", ask))
    assert cut.wait(WAIT_S)


def ticket(*scheduled: tuple[str, bytes, list[int]]) -> Ticketed:
    """Return a ticket of two queries: by site which of them it votes on, and its labels without votes."""
    schedule = [
        common_pb2.Schedule(
            participant=common_pb2.Participant(
                site=site, abstains=silent, cohorts=[common_pb2.Cohort(teachers=1)]
            ),
            queries=[bits],
        )
        for site, bits, silent in scheduled
    ]
    return Ticketed(common_pb2.SignedList(), common_pb2.Ticket(size=2, schedule=schedule))


@pytest.mark.parametrize(
    ("sites", "fewest"), [("abc", 2), ("ab", 1), ("ac", 2), ("a", 1), ("bc", 1), ("", 0)]
)
def test_the_fewest_are_counted_for_each_query(sites: str, fewest: int) -> None:
    found = ticket(("a", b"", []), ("b", b"\x80", []), ("c", b"", []))
    assert found.fewest(set(sites)) == fewest


@pytest.mark.parametrize(("now", "wait_s"), [(90.0, 70.0), (159.5, 0.5), (1000.0, 0.0)])
def test_the_last_parties_are_waited_for_until_the_set_is_frozen_by_any_clock(
    now: float, wait_s: float
) -> None:
    found = ticket(("a", b"", []), ("b", b"\x80", []), ("c", b"", []))
    found.read.freeze_unix_ms, found.read.expires_unix_ms = 100_000, 1_000_000
    session: Any = SimpleNamespace(plan=SimpleNamespace(quorum=2), grant=SimpleNamespace(allowed_skew_s=60))
    patience = Patience.of(found, session, ManualClock(now))
    assert (patience.wait_s, patience.most_s) == (wait_s, 1000.0 - now)
    assert [patience.enough(sites) for sites in ("ab", "ac")] == [False, True]


@pytest.mark.parametrize(("sites", "fewest"), [("abc", 1), ("bc", 2), ("ab", 1), ("a", 1)])
def test_the_fewest_are_counted_for_each_label_that_anybody_votes_on(sites: str, fewest: int) -> None:
    """Nobody but a votes on label 5; where a has not answered, nobody does and nobody need."""
    found = ticket(("a", b"", []), ("b", b"", [5]), ("c", b"", [5]))
    assert found.fewest(set(sites)) == fewest
