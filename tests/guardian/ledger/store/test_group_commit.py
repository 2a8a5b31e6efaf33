"""Changes of many threads in one transaction: as if each had been made alone."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.guardian.ledger import Registered, registrations
from ostraka.guardian.ledger.log import audit
from ostraka.guardian.ledger.members import manifests, parties
from ostraka.guardian.ledger.registrations import Registration
from ostraka.guardian.ledger.store.group_commit import COMMIT_DELAY_S, MAX_CHANGES, GroupCommit
from ostraka.guardian.ledger.store.values import StoredManifest
from ostraka.guardian.ledger.transaction import Transaction
from tests.fair_clock import HANGS_S
from tests.guardian.ledger.places import Place
from tests.guardian.ledger.support import refused


class Writer(ThreadPoolExecutor):
    """Lets a test wait until so many threads have asked."""

    def __init__(self) -> None:
        super().__init__(1)
        self.asked = threading.Semaphore(0)

    def submit(self, *args: Any, **named: Any) -> Future[Any]:
        future = super().submit(*args, **named)
        self.asked.release()
        return future

    def wait(self, number: int) -> None:
        for _ in range(number):
            assert self.asked.acquire(timeout=HANGS_S)


class Held:
    """Makes changes, the first of which is under way until all others were asked for."""

    def __init__(self, write: Callable[..., Sequence[Any]]) -> None:
        self.slept: list[float] = []
        self.commits = GroupCommit(self._made, self.slept.append)
        self.commits._writer = self._writer = Writer()
        self.groups: list[list[Any]] = []
        self._write = write
        self._begun = threading.Event()
        self._asked = 0

    def make(self, change: Callable[..., Any], wanted: Sequence[tuple[str, Any]]) -> list[Future[Any]]:
        self._asked = len(wanted)
        with ThreadPoolExecutor(len(wanted)) as pool:
            first = pool.submit(self.commits.make, change, *wanted[0])
            assert self._begun.wait(HANGS_S)
            return [first, *(pool.submit(self.commits.make, change, *one) for one in wanted[1:])]

    def _made(self, change: Callable[..., Any], wanted: Sequence[Any]) -> Sequence[Any]:
        if not self.groups:
            self._begun.set()
            self._writer.wait(self._asked)
        self.groups.append(list(wanted))
        return self._write(change, wanted)


@pytest.fixture
def doubled() -> Iterator[Held]:
    held = Held(lambda change, wanted: change(wanted))
    yield held
    held.commits.close()


def double(wanted: Sequence[int]) -> list[int]:
    if 3 in wanted:
        raise OstrakaError(ErrorCode.PARTY_REMOVED, "Three is refused.")
    return [2 * number for number in wanted]


def test_what_is_asked_for_meanwhile_is_made_in_one_transaction(doubled: Held) -> None:
    made = doubled.make(double, [(str(number), number) for number in range(10, 10 + MAX_CHANGES + 3)])
    assert [future.result() for future in made] == [2 * number for number in range(10, 10 + MAX_CHANGES + 3)]
    assert [len(group) for group in doubled.groups] == [1, MAX_CHANGES, 2]


def test_more_are_waited_for_only_where_several_came_together_before(doubled: Held) -> None:
    for future in doubled.make(double, [("a", 4), ("b", 5), ("c", 6)]):
        future.result()
    assert doubled.slept == []
    assert [doubled.commits.make(double, "d", number) for number in (7, 8)] == [14, 16]
    assert [len(group) for group in doubled.groups] == [1, 2, 1, 1]
    assert doubled.slept == [COMMIT_DELAY_S]


def test_what_comes_while_a_transaction_waits_is_made_in_it(doubled: Held) -> None:
    meanwhile = ThreadPoolExecutor(1)
    late: list[Future[int]] = []

    def sleep(_: float) -> None:
        late.append(meanwhile.submit(doubled.commits.make, double, "e", 8))
        doubled._writer.wait(2)

    doubled.commits._sleep = sleep
    for future in doubled.make(double, [("a", 4), ("b", 5), ("c", 6)]):
        future.result()
    assert doubled.commits.make(double, "d", 7) == 14
    assert [future.result() for future in late] == [16]
    assert doubled.groups == [[4], [5, 6], [7, 8]]
    meanwhile.shutdown()


def test_two_of_one_key_are_never_in_one_transaction(doubled: Held) -> None:
    made = doubled.make(double, [("a", 4), ("b", 5), ("b", 6), ("b", 7)])
    assert [future.result() for future in made] == [8, 10, 12, 14]
    assert [len(group) for group in doubled.groups] == [1, 1, 1, 1]


def test_one_that_is_refused_harms_no_other(doubled: Held) -> None:
    made = doubled.make(double, [(str(number), number) for number in range(5)])
    assert {future.result() for future in made if not future.exception()} == {0, 2, 4, 8}
    assert [str(future.exception()) for future in made if future.exception()] == ["Three is refused."]
    assert sorted(map(len, doubled.groups)) == [1, 1, 1, 1, 1, 4]


def test_where_the_ledger_fails_all_are_told_at_once(doubled: Held) -> None:
    def fail(wanted: Sequence[int]) -> list[int]:
        raise OstrakaError(ErrorCode.LEDGER_UNREACHABLE, "The database is away.")

    made = doubled.make(fail, [(str(number), number) for number in range(5)])
    for future in made:
        refused(ErrorCode.LEDGER_UNREACHABLE, future.result)
    assert [len(group) for group in doubled.groups] == [1, 4]


def manifest(site: str) -> StoredManifest:
    return StoredManifest(site, site.encode(), b"signed")


def registered(tx: Transaction, wanted: Sequence[str]) -> list[Registered]:
    before = registrations.lock_known(tx, wanted)
    return registrations.register_all(tx, [Registration(manifest(site)) for site in wanted], before)


def test_parties_that_register_at_once_are_registered_each_for_itself(place: Place) -> None:
    ledger = place.open()
    for site in ("added", "gone"):
        ledger.write(parties.set_party, site, "added", reason="r")
    ledger.write(parties.set_party, "gone", "removed", reason="r")
    held, sites = Held(ledger.write), ["athens", "added", "corinth", "gone", "sparta"]
    made = dict(zip(sites, held.make(registered, [(site, site) for site in sites]), strict=True))
    held.commits.close()
    refused(ErrorCode.PARTY_REMOVED, made.pop("gone").result)
    assert ledger.read(manifests.latest) == {site: manifest(site) for site in made}
    states = {party.site: party.state for party in ledger.read(parties.all_parties)}
    assert states == {"gone": "removed"} | dict.fromkeys(made, "active")
    heads = [future.result().head for future in made.values()]
    assert max(heads, key=lambda head: head.sequence) == ledger.read(audit.head)
    place.open()


def test_parties_of_one_transaction_have_a_row_of_the_log_each(place: Place) -> None:
    ledger, sites = place.open(), ["athens", "corinth", "sparta"]
    before = ledger.read(audit.head).sequence
    made = ledger.write(registered, sites)
    assert [one.head.sequence for one in made] == [before + 3] * 3
    assert [one.head for one in ledger.write(registered, sites)] == [made[0].head] * 3
    place.open()
