import os
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import Binary, Confident, GnMax, NoiseCluster
from ostraka.common.privacy import AMOUNT_UNIT, amount, budget_amount, budget_rdp
from ostraka.common.privacy.argmax import argmax_rdp
from ostraka.protos.ostraka.v1 import common_pb2
from ostraka.services.admission.policy import PartyPolicy
from ostraka.services.journal.file import JournalFile
from ostraka.services.journal.journal import Journal
from ostraka.services.journal.limits import Cap, GroupCharge, QueryCount
from tests.disk import fill, free, small_disk

CHARGE = GroupCharge(GnMax(sigma=40.0), queries=100, classes=10)
ASKED = QueryCount("ostraka://attica/delphi/query", 100)


def head(sequence: int, letter: bytes = b"a") -> common_pb2.AuditHead:
    return common_pb2.AuditHead(sequence=sequence, hash=letter * 32)


def test_a_recorded_batch_is_known_after_reopening(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    with Journal(path) as journal:
        assert not journal.holds("s", 2**64 - 1)
        journal.record("s", 2**64 - 1, [CHARGE], ASKED, 1.0)
    with Journal(path) as journal:
        assert {file.stat().st_mode & 0o777 for file in tmp_path.iterdir()} == {0o600}
        assert journal.holds("s", 2**64 - 1)
        assert not journal.holds("t", 2**64 - 1)
        with pytest.raises(OstrakaError) as refused:
            journal.record("s", 2**64 - 1, [CHARGE], ASKED, 2.0)
    assert refused.value.code is ErrorCode.BATCH_RESTARTED


def test_every_write_is_synced_before_it_counts(tmp_path: Path) -> None:
    file = JournalFile(tmp_path / "journal.db")
    with file.reading() as db:
        assert db.execute("PRAGMA synchronous").fetchone() == (2,)
    file.close()


def test_the_amount_spent_adds_up_over_mechanisms_and_persons(tmp_path: Path) -> None:
    confident = Confident(sigma1=10.0, sigma2=5.0, threshold=20.0)
    with Journal(tmp_path / "journal.db") as journal:
        journal.record("s", 1, [CHARGE], ASKED, 1.0)
        journal.record("s", 2, [CHARGE], ASKED, 1.0)
        journal.record("t", 1, [GroupCharge(confident, queries=7, classes=10, sensitivity=3.0)], ASKED, 1.0)
        seven = confident.worst_case(8.0, 3.0, classes=10).amount(np.ones((7, 1), np.bool_))
        assert 0.64 * 7 * 9 * (8 / 25) < seven * AMOUNT_UNIT <= 7 * 9 * (8 / 200 + 8 / 25) + 1e-9
        assert journal.amount_spent(8.0) == 200 * amount(argmax_rdp(8.0, 1.0, 40.0, 10)) + seven


def test_what_a_batch_costs_once_is_counted_for_every_batch(tmp_path: Path) -> None:
    clusters = NoiseCluster(sigma=20.0)
    with Journal(tmp_path / "journal.db") as journal:
        journal.record("s", 1, [GroupCharge(clusters, 50, classes=10)], ASKED, 1.0)
        journal.record("t", 1, [GroupCharge(clusters, 50, classes=10)], ASKED, 1.0)
        journal.record("u", 1, [GroupCharge(clusters, 0, classes=10)], ASKED, 1.0)
        assert journal.amount_spent(8.0) == 2 * amount(clusters.worst_case(8.0, classes=10).batch)


def test_more_labels_cost_more(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal.db") as journal:
        for batch, labels in enumerate((2, 14)):
            journal.record("s", batch, [GroupCharge(Binary(sigma=20.0), 3, classes=labels)], ASKED, 1.0)
        few, many = (GroupCharge(Binary(sigma=20.0), 3, classes=labels).amount(8.0) for labels in (2, 14))
        assert journal.amount_spent(8.0) == few + many
        assert many == pytest.approx(7 * few, rel=1e-6)


FIRST = """
CREATE TABLE batches (
    session TEXT NOT NULL, batch TEXT NOT NULL, mechanism TEXT NOT NULL, queries INTEGER NOT NULL,
    votes_per_person INTEGER NOT NULL, recorded_unix_s REAL NOT NULL, PRIMARY KEY (session, batch)
) STRICT;
INSERT INTO batches VALUES ('s', '1', '{"kind":"gnmax","sigma":40.0}', 100, 1, 1.0);
INSERT INTO batches VALUES ('s', '2', '{"kind":"gnmax","sigma":40.0}', 100, 2, 2.0);
"""
SECOND = """
ALTER TABLE batches ADD COLUMN classes INTEGER NOT NULL DEFAULT 10;
CREATE TABLE audit_head (
    one INTEGER PRIMARY KEY CHECK (one = 1), sequence INTEGER NOT NULL, head BLOB NOT NULL
) STRICT;
INSERT INTO audit_head VALUES (1, 5, x'0805');
"""


THIRD = f"""
CREATE TABLE charges (
    id INTEGER PRIMARY KEY, session TEXT NOT NULL, batch TEXT NOT NULL, mechanism TEXT NOT NULL,
    queries INTEGER NOT NULL, classes INTEGER NOT NULL, sensitivity REAL NOT NULL, record_group TEXT NOT NULL,
    adjacency TEXT NOT NULL, recorded_unix_s REAL NOT NULL, UNIQUE (session, batch, record_group)
) STRICT;
CREATE TABLE audit_head (
    one INTEGER PRIMARY KEY CHECK (one = 1), sequence INTEGER NOT NULL, head BLOB NOT NULL,
    epoch INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE former_heads (epoch INTEGER PRIMARY KEY, head BLOB NOT NULL) STRICT;
INSERT INTO charges VALUES (1, 's', '1', '{CHARGE.mechanism_json}', 100, 10, 1.0, 'all', 'record', 1.0);
INSERT INTO charges VALUES (2, 's', '2', '{CHARGE.mechanism_json}', 100, 10, 2.0, 'all', 'record', 2.0);
PRAGMA user_version = 2;
"""  # noqa: S608
FOURTH = """
CREATE TABLE asked (
    session TEXT NOT NULL, batch TEXT NOT NULL, querier TEXT NOT NULL, queries INTEGER NOT NULL,
    recorded_unix_s REAL NOT NULL, PRIMARY KEY (session, batch)
) STRICT;
CREATE INDEX asked_by ON asked (querier, recorded_unix_s);
PRAGMA user_version = 3;
"""


@pytest.mark.parametrize(
    "earlier", [FIRST, FIRST + SECOND, THIRD, THIRD + FOURTH], ids=["first", "second", "third", "fourth"]
)
def test_a_journal_of_an_earlier_version_is_read_and_goes_on(tmp_path: Path, earlier: str) -> None:
    path = tmp_path / "journal.db"
    with closing(sqlite3.connect(path)) as file:
        file.executescript(earlier)
    twice = replace(CHARGE, sensitivity=2.0)
    for _ in range(2):
        with Journal(path) as journal:
            assert journal.holds("s", 2)
            known = CHARGE.amount(8.0) + twice.amount(8.0)
            assert journal.amount_spent(8.0) == pytest.approx(
                known, rel=1e-6
            )  # the first did not keep classes
            assert [batch for _, batch, _ in journal.receipts()] == [1, 2]
            assert (journal.audit_head() is not None) is (SECOND in earlier)
            assert journal.epoch() == 0
            assert journal.list_declared_votes() == []
    with Journal(path) as journal:
        journal.record("s", 3, [CHARGE], ASKED, 3.0)
        journal.keep_head(head(6))
        assert journal.amount_spent(8.0) == pytest.approx(known + CHARGE.amount(8.0), rel=1e-6)
        assert journal.audit_head() == head(6)


def test_a_journal_of_a_later_version_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    with closing(sqlite3.connect(path)) as file:
        file.execute("PRAGMA user_version = 9")
    with pytest.raises(OstrakaError) as refused:
        Journal(path)
    assert refused.value.code is ErrorCode.LEDGER_NEWER


def of_group(group: str, queries: int) -> GroupCharge:
    return replace(CHARGE, group=group, queries=queries)


def test_a_record_may_have_been_in_the_costliest_group_of_every_batch(tmp_path: Path) -> None:
    """Teachers are trained again, records change their groups, and groups their names."""
    with Journal(tmp_path / "journal.db") as journal:
        journal.record("s", 1, [of_group("all", 5)], ASKED, 1.0)
        journal.record("s", 2, [of_group("low", 10), of_group("high", 30)], ASKED, 2.0)
        journal.record("s", 3, [of_group("low", 20)], ASKED, 3.0)
        journal.record("t", 3, [of_group("high", 7), of_group("low", 1)], ASKED, 3.0)
        assert journal.amount_spent(8.0) == of_group("any", 5 + 30 + 20 + 7).amount(8.0)


def test_no_change_of_groups_makes_room_under_the_cap(tmp_path: Path) -> None:
    cap = Cap(8.0, of_group("low", 100).amount(8.0))
    path = tmp_path / "journal.db"
    with Journal(path, cap=cap) as journal, Journal(path, cap=cap) as other:
        journal.record("s", 1, [of_group("low", 60), of_group("high", 20)], ASKED, 1.0)
        other.record("s", 2, [of_group("high", 20)], ASKED, 1.0)
        for charges in ([of_group("high", 21)], [of_group("new", 1), of_group("low", 21)]):
            with pytest.raises(OstrakaError) as refused:
                journal.record("s", 3, charges, ASKED, 1.0)
            assert refused.value.code is ErrorCode.PARTY_CAP_REACHED
        journal.record("s", 3, [of_group("new", 20), of_group("low", 1)], ASKED, 1.0)
        assert journal.amount_spent(8.0) == cap.amount


def test_receipts_name_every_charge_over_several_pages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ostraka.services.journal.journal.PAGE", 2)
    low = replace(of_group("low", 3), sensitivity=0.75, adjacency="label")
    with Journal(tmp_path / "journal.db") as journal:
        assert list(journal.receipts()) == []
        for batch in (1, 2):
            journal.record("s", 2**64 - batch, [low, of_group("high", 4)], ASKED, 1.0)
        named = list(journal.receipts())
    assert named == [("s", 2**64 - batch, one) for batch in (1, 2) for one in (low, of_group("high", 4))]


def test_numbers_of_votes_are_kept_in_order_when_they_change(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    for votes in (1, 1, 3, 3, 1):
        with Journal(path) as journal:
            journal.declare_votes(votes)
    with Journal(path) as journal:
        assert journal.list_declared_votes() == [1, 3, 1]


def test_the_cap_is_never_exceeded_and_survives_a_restart(tmp_path: Path) -> None:
    cap = Cap(8.0, 2 * CHARGE.amount(8.0))
    path = tmp_path / "journal.db"
    for batch in (1, 2):
        with Journal(path, cap=cap) as journal:
            journal.record("s", batch, [CHARGE], ASKED, 1.0)
    smaller = GroupCharge(GnMax(sigma=40.0), queries=1, classes=10)
    with Journal(path, cap=cap) as journal:
        with pytest.raises(OstrakaError) as early:
            journal.check([smaller], ASKED, 1.0)
        with pytest.raises(OstrakaError) as late:
            journal.record("s", 3, [smaller], ASKED, 1.0)
        assert early.value.code is late.value.code is ErrorCode.PARTY_CAP_REACHED
        assert not journal.holds("s", 3)
        assert journal.amount_spent(cap.order) == cap.amount


def test_the_latest_audit_head_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    with Journal(path) as journal:
        assert journal.audit_head() is None
        for one in (head(3), head(5), head(4)):
            journal.keep_head(one)
    with Journal(path) as journal:
        assert journal.audit_head() == head(5)


def test_a_rewritten_audit_entry_does_not_replace_the_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Journal(tmp_path / "journal.db") as journal:
        journal.keep_head(head(5))
        journal.keep_head(head(5, b"b"))
        assert journal.audit_head() == head(5)
    said = capsys.readouterr()
    assert "audit_log_rewritten" in said.out + said.err


def test_a_later_epoch_begins_anew_and_the_former_head_stays_as_evidence(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    with Journal(path) as journal:
        journal.keep_head(head(9))
        journal.keep_head(head(4, b"b"), epoch=1)
        journal.keep_head(head(10))
        assert (journal.audit_head(), journal.epoch()) == (head(4, b"b"), 1)
        journal.keep_head(head(5, b"b"), epoch=1)
        assert journal.audit_head() == head(5, b"b")
    with closing(sqlite3.connect(path)) as file:
        assert file.execute("SELECT epoch, head FROM former_heads").fetchall() == [
            (0, head(9).SerializeToString())
        ]


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes anywhere")
def test_a_folder_without_write_access_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(OstrakaError) as refused:
        Journal(tmp_path / "journal.db")
    assert refused.value.code is ErrorCode.LEDGER_READ_ONLY


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(OstrakaError) as refused:
        Journal(tmp_path / "none" / "journal.db")
    assert refused.value.code is ErrorCode.LEDGER_READ_ONLY


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    path.write_bytes(b"no database at all" * 100)
    with pytest.raises(OstrakaError) as refused:
        Journal(path)
    assert refused.value.code is ErrorCode.LEDGER_TAMPERED


def test_a_file_that_another_process_holds_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "journal.db"
    Journal(path).close()
    monkeypatch.setattr("ostraka.services.journal.file._BUSY_S", 0.0)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with Journal(path) as journal, pytest.raises(OstrakaError) as refused:
        journal.record("s", 1, [CHARGE], ASKED, 1.0)
    holder.close()
    assert refused.value.code is ErrorCode.LEDGER_LOCKED


def test_the_policy_turns_epsilon_into_a_cap() -> None:
    cap = PartyPolicy(epsilon_cap=1.0, delta=1e-5, order_cap=16.0).cap
    assert cap == Cap(16.0, budget_amount(budget_rdp(1.0, 1e-5, 16.0)))
    proposed = PartyPolicy(epsilon_cap=1.0, delta=1e-5).cap
    assert proposed is not None
    assert proposed.amount / proposed.order >= cap.amount / cap.order
    assert PartyPolicy().cap is None


@pytest.mark.parametrize("half", [{"epsilon_cap": 1.0}, {"delta": 1e-5}, {"order_cap": 8.0}, {"minimum": 3}])
def test_half_a_cap_is_refused(half: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"epsilon_cap|Extra inputs"):
        PartyPolicy.model_validate(half)


def test_a_batch_that_finds_no_room_is_not_recorded_and_is_once_there_is(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 200) as disk, Journal(disk / "journal.db") as journal:
        journal.record("s", 1, [CHARGE], ASKED, 1.0)
        fill(disk)
        with pytest.raises(OstrakaError, match=f"no room on the disk of {disk}") as refused:
            journal.record("s", 2, [CHARGE], ASKED, 1.0)
        assert refused.value.code is ErrorCode.STORAGE_FULL
        assert not journal.holds("s", 2)
        free(disk)
        journal.record("s", 2, [CHARGE], ASKED, 1.0)
        assert journal.amount_spent(8.0) == 2 * CHARGE.amount(8.0)


def test_a_journal_that_finds_no_room_at_the_start_says_so(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 64) as disk:
        fill(disk)
        with pytest.raises(OstrakaError, match=f"no room on the disk of {disk}") as refused:
            Journal(disk / "journal.db")
        assert refused.value.code is ErrorCode.STORAGE_FULL
