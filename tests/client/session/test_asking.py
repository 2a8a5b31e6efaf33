import asyncio
import threading
from concurrent.futures import Future

import pytest

from ostraka.client.peers.event_loop import run_async
from ostraka.client.run import site
from ostraka.client.session.asking import ask_all, ask_each, failures
from ostraka.client.session.batch import Ticketed
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
    looked: list[list[str]] = []

    def enough(answered: object) -> bool:
        looked.append(sorted(answered))  # type: ignore[call-overload]
        return len(looked) == 2

    came = run_async(ask_all("abcd", parties.ask, wait_s=0.0, enough=enough))
    assert looked[-1] == ["a"]
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


def test_an_error_of_another_kind_ends_the_asking() -> None:
    parties = Parties(silent="b")

    async def ask(site: str) -> str:
        if site == "a":
            raise ZeroDivisionError
        return await parties.ask(site)

    with pytest.raises(ZeroDivisionError):
        run_async(ask_all("ab", ask, wait_s=0.0, enough=lambda _: True))
    assert parties.cut == ["b"]


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


@pytest.mark.parametrize(("sites", "fewest"), [("abc", 1), ("bc", 2), ("ab", 1), ("a", 1)])
def test_the_fewest_are_counted_for_each_label_that_anybody_votes_on(sites: str, fewest: int) -> None:
    """Nobody but a votes on label 5; where a has not answered, nobody does and nobody need."""
    found = ticket(("a", b"", []), ("b", b"", [5]), ("c", b"", [5]))
    assert found.fewest(set(sites)) == fewest
