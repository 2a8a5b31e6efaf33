"""Answers that a ledger gives from memory: as fresh, and refused as often, as if it had read them."""

import threading
from collections.abc import Callable
from pathlib import Path

from ostraka.common.clock import ManualClock
from ostraka.common.errors import ErrorCode
from ostraka.guardian.ledger import Ledger, registrations
from ostraka.guardian.ledger.ledger import LEASE_S, MAX_RECALLED, Recall
from ostraka.guardian.ledger.log import audit
from ostraka.guardian.ledger.members import parties
from ostraka.guardian.ledger.reader import View
from ostraka.guardian.ledger.sessions import batches, endings
from ostraka.guardian.ledger.store.storage import open_storage
from tests.fair_clock import HANGS_S
from tests.guardian.ledger.places import Place
from tests.guardian.ledger.support import ATHENS, SEAL, cipher, open_session, refused, sign, with_budgets


class Question:
    """Counts how often it is read."""

    def __init__(self, answer: Callable[[View], object] = audit.head) -> None:
        self.read = 0
        self._answer = answer

    def __call__(self, view: View) -> object:
        self.read += 1
        return self._answer(view)


def test_what_nobody_changed_is_read_once(place: Place) -> None:
    ledger, question = with_budgets(place.open()), Question()
    for _ in range(3):
        assert ledger.recall(question) == ledger.read(audit.head)
    assert question.read == 1


def test_the_head_is_that_of_the_last_change(place: Place) -> None:
    ledger = with_budgets(place.open())
    for number in range(3):
        before = ledger.recall(audit.head)
        ledger.write(parties.set_party, f"p{number}", "added", reason="a test")
        assert ledger.recall(audit.head).sequence == before.sequence + 1
        assert ledger.recall(audit.head) == ledger.read(audit.head)


def test_a_change_that_leaves_no_audit_row_is_seen(place: Place) -> None:
    ledger = with_budgets(place.open())
    ledger.write(registrations.register, "a", b"manifest", b"signed")
    assert [party.state for party in ledger.recall(parties.all_parties)] == ["active"]
    place.execute("UPDATE parties SET state = 'suspended'")
    assert [party.state for party in ledger.recall(parties.all_parties)] == ["suspended"]


def test_questions_with_other_arguments_are_others(place: Place) -> None:
    ledger = with_budgets(place.open())
    ledger.write_session("s", batches.open_batch, 1, 5, b"t", {ATHENS: 100})
    open_session(ledger, "other")
    asked = [("s", 1), ("s", 2), ("other", 1), ("s", 1)]
    found = [ledger.recall_session(session, batches.find_batch, batch) for session, batch in asked]
    assert [batch and (batch.session_id, batch.batch_id) for batch in found] == [
        ("s", 1),
        None,
        None,
        ("s", 1),
    ]


def test_a_closed_session_is_seen_closed(place: Place) -> None:
    ledger = with_budgets(place.open())
    assert ledger.recall_session("s", batches.with_session, 1)[0].state == "open"
    ledger.write_session("s", endings.close)
    assert ledger.recall_session("s", batches.with_session, 1)[0].state == "closed"


def test_a_refusal_is_never_kept(place: Place) -> None:
    ledger = with_budgets(place.open())
    refused(ErrorCode.SESSION_UNKNOWN, lambda: ledger.recall_session("t", batches.with_session, 1))
    open_session(ledger, "t")
    assert ledger.recall_session("t", batches.with_session, 1)[0].state == "open"


def test_a_guardian_that_was_superseded_answers_nothing_from_memory(place: Place) -> None:
    first = with_budgets(place.open())
    first.recall(audit.head)
    first.recall_session("s", batches.with_session, 1)
    with Ledger.open(
        place.where, clock=place.time, cipher=cipher(), sign_head=sign, seal=SEAL, lease_s=60
    ) as second:
        if isinstance(place.where, str):
            place.time.advance(LEASE_S + 1)
            second.renew_lease()
        refused(ErrorCode.LEDGER_FENCED, lambda: first.recall(audit.head))
        refused(ErrorCode.LEDGER_FENCED, lambda: first.recall_session("s", batches.with_session, 1))


def test_a_session_that_another_guardian_adopted_is_elsewhere(postgres_url: str) -> None:
    """The first one's lease is over, and it is not superseded yet."""
    time = ManualClock(1_900_000_000.0)

    def opened(address: str, lease_s: float) -> Ledger:
        return Ledger.open(
            postgres_url,
            clock=time,
            cipher=cipher(),
            sign_head=sign,
            seal=SEAL,
            address=address,
            lease_s=lease_s,
        )

    with opened("a:1", LEASE_S) as first, opened("b:2", 10 * LEASE_S) as second:
        with_budgets(first)
        assert first.recall_session("s", batches.with_session, 1)[0].state == "open"
        time.advance(LEASE_S + 1)
        second.read_session("s", batches.with_session, 1)
        error = refused(
            ErrorCode.SESSION_ELSEWHERE, lambda: first.recall_session("s", batches.with_session, 1)
        )
        assert error.details == {"address": "b:2"}


def test_what_is_no_ledger_has_no_version(tmp_path: Path) -> None:
    file = tmp_path / "ledger.db"
    file.write_bytes(b"no ledger at all" * 512)
    storage = open_storage(file)
    refused(ErrorCode.LEDGER_TAMPERED, storage.version)
    storage.close()


def test_an_answer_that_was_overtaken_is_not_kept() -> None:
    """Another thread asks again, and gets the next version, while one still reads."""
    version, inside, go = [1], threading.Event(), threading.Event()
    recall = Recall(lambda: version[0])

    def slow() -> str:
        inside.set()
        assert go.wait(HANGS_S)
        return "old"

    late: list[str] = []
    thread = threading.Thread(target=lambda: late.append(recall.answer("q", slow)))
    thread.start()
    assert inside.wait(HANGS_S)
    version[0] = 2
    assert recall.answer("q", lambda: "new") == "new"
    go.set()
    thread.join()
    assert late == ["old"]
    assert recall.answer("q", lambda: "read again") == "new"


def test_only_so_much_is_kept() -> None:
    recall, read = Recall(lambda: 0), list[int]()

    def asked(number: int) -> int:
        def found() -> int:
            read.append(number)
            return number

        return recall.answer(number, found)

    for number in range(MAX_RECALLED + 1):
        asked(number)
    assert asked(MAX_RECALLED) == MAX_RECALLED
    asked(0)
    assert read == [*range(MAX_RECALLED + 1), 0]
