"""Reading a journal without changing it."""

import sqlite3
from pathlib import Path

import pytest

from ostraka.common.clock import ManualClock
from ostraka.common.errors import OstrakaError
from ostraka.common.mechanism import GnMax
from ostraka.services.journal.journal import Journal
from ostraka.services.journal.limits import GroupCharge, QueryCount
from ostraka.services.journal.view import EpsilonTerms, Journaled, read_journal

TERMS = EpsilonTerms(8.0, 1e-5)
NOW = 1_000_000.0


def read(path: Path) -> Journaled | None:
    return read_journal(path, TERMS, ManualClock(NOW))


def test_a_party_that_never_served_has_none(tmp_path: Path) -> None:
    assert read(tmp_path / "journal.db") is None
    assert not list(tmp_path.iterdir())


def test_batches_are_told_beside_a_process_that_writes(tmp_path: Path) -> None:
    low, high = (
        GroupCharge(GnMax(sigma=20.0), 5, 4, group="low"),
        GroupCharge(GnMax(sigma=20.0), 9, 4, group="high"),
    )
    with Journal(tmp_path / "journal.db") as journal:
        journal.record("s", 1, [low, high], QueryCount("q", 9), NOW - 2 * 24 * 3600)
        journal.record("s", 2, [low], QueryCount("q", 5), NOW - 10)
        found = read(tmp_path / "journal.db")
    assert found is not None
    assert (found.batches, found.spent) == (2, high.amount(8.0) + low.amount(8.0))
    assert found.asked_in_day == {"q": 5}
    assert [(batch.batch_id, batch.queries, batch.querier) for batch in found.newest] == [
        (2, 5, "q"),
        (1, 9, "q"),
    ]
    assert found.newest[1].epsilon_worst_case == TERMS.epsilon(high.amount(8.0))
    assert found.head is None


def test_a_journal_of_an_earlier_version_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    Journal(path).close()
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 2")
    with pytest.raises(OstrakaError, match="earlier version") as refused:
        read(path)
    assert refused.value.code == "ledger.older"
    assert sqlite3.connect(path).execute("PRAGMA user_version").fetchone() == (2,)
