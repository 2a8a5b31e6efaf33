"""Archives verify by themselves, continue one another, and whatever is altered in them is refused."""

import base64
import gzip
import hashlib
import json
import os
import shutil
import stat
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from ostraka.common.clock import ManualClock
from ostraka.common.errors import ErrorCode
from ostraka.common.identity import CertificateAuthority, Credentials, Identity, Role
from ostraka.common.privacy.filters import GAUSSIAN
from ostraka.common.wire.contexts import ARCHIVE_CONTEXT, AUDIT_CONTEXT
from ostraka.guardian.ledger import (
    BudgetTerms,
    Charge,
    Cipher,
    Ledger,
    LedgerReader,
    StoredSession,
    UnitKey,
    backup,
    load_key,
    open_guardian_ledger,
    restore,
    verify,
)
from ostraka.guardian.ledger.archive import file
from ostraka.guardian.ledger.archive.archive import (
    Archive,
    Archivist,
    Authority,
    archive,
    check_archive,
    check_follows,
    check_ledger,
)
from ostraka.guardian.ledger.archive.file import Closing
from ostraka.guardian.ledger.log import checkpoint_positions as positions
from ostraka.guardian.ledger.log import checkpoints
from ostraka.guardian.ledger.sessions import batches, endings, evaluations, releases, session_opening
from ostraka.guardian.ledger.sessions.forgetting import drop_answers
from ostraka.guardian.ledger.site import LEDGER_FILE
from ostraka.guardian.ledger.store.cipher import KEY_FILE
from ostraka.guardian.ledger.store.storage import open_storage
from ostraka.guardian.ledger.units import budgets
from ostraka.guardian.policy import DAY_S
from tests.guardian.ledger.support import ATHENS, BUDGET, CORINTH, DELTA, ORDER, START, clock, refused
from tests.guardian.ledger.test_crash import die, die_at_statement, was_killed

FEDERATION = "hellas"
ANSWERS = b"what nobody but the querying party may read"
FIRST_END, SECOND_END = START + 100 * DAY_S, START + 200 * DAY_S
Lines = list[dict[str, Any]]


@dataclass
class Place:
    """A guardian's ledger of two closed periods, and its archives."""

    folder: Path
    where: Path | str
    credentials: Credentials
    ca: CertificateAuthority

    @property
    def authority(self) -> Authority:
        return Authority(self.credentials.ca_pem, FEDERATION)

    def sign(self, payload: bytes, credentials: Credentials | None = None) -> Any:
        return (credentials or self.credentials).sign(ARCHIVE_CONTEXT, payload)

    def archive(
        self, name: str, before: float, after: Archive | None = None, now: float = SECOND_END
    ) -> Archive:
        archivist = Archivist(int(now * 1000), self.sign, self.authority)
        with LedgerReader.open_read_only(self.where) as reader:
            return archive(reader, self.folder / name, int(before * 1000), archivist, after)

    def check(self, name: str) -> Archive:
        return check_archive(self.folder / name, self.authority)

    def continues(self, found: Archive) -> int:
        return int(check_ledger(self.where, found.checkpoint, self.authority).sequence)

    def execute(self, statement: str) -> None:
        storage = open_storage(self.where)
        with storage.write() as connection:
            connection.execute(text(statement))
        storage.close()

    def lines(self, name: str) -> Lines:
        with gzip.open(self.folder / name) as file:
            return [json.loads(line) for line in file]

    def write(self, lines: Lines) -> Path:
        path = self.folder / "altered.jsonl.gz"
        path.write_bytes(gzip.compress(b"".join(map(written, lines))))
        return path

    def resealed(self, lines: Lines, credentials: Credentials | None = None) -> Path:
        """Sign altered lines again, as one who has a key."""
        before, _ = Closing.read(lines[-1])
        digest = hashlib.sha256(b"".join(map(written, lines[:-1]))).hexdigest()
        closing = replace(before, sha256=digest)
        return self.write([*lines[:-1], dict(closing.line(self.sign(closing.payload(), credentials)))])


def written(line: Any) -> bytes:
    return json.dumps(line, sort_keys=True, separators=(",", ":")).encode() + b"\n"


def issued(place: Place, role: Role) -> Credentials:
    folder = place.folder / role
    folder.mkdir()
    return place.ca.issue(Identity(FEDERATION, "other", role), folder, clock())


def opened_session(ledger: Ledger, name: str) -> None:
    plan = b"plan of " + name.encode()
    session_opening.open_session(
        ledger, StoredSession(name, "querier", plan, name.encode(), b"grant", queries=99)
    )


def ticket(ledger: Ledger, batch: int, amounts: dict[UnitKey, int]) -> None:
    ledger.write_session("s", batches.open_batch, batch, 5, b"t%d" % batch, amounts)


def released(ledger: Ledger, batch: int, *charges: Charge) -> None:
    ledger.write_session("s", releases.release, batch, b"digest", ANSWERS, charges, answered=1)


def first_period(ledger: Ledger) -> None:
    """Let batches be released (1), die (2) and die evaluated (3); 4 is open and checked, 5 evaluated."""
    for unit, order in ((ATHENS, ORDER), (CORINTH, GAUSSIAN)):
        ledger.write(budgets.set_budget, unit, BudgetTerms(BUDGET, DELTA, order, "worst_case"))
    opened_session(ledger, "s")
    opened_session(ledger, "t")
    ledger.write_session("t", endings.close)
    for batch in range(1, 6):
        ticket(ledger, batch, {ATHENS: 100, CORINTH: 100})
    released(ledger, 1, Charge(ATHENS, 60, 3), Charge(CORINTH, 50, 4))
    ledger.write_session("s", endings.settle, 2)
    for batch in (3, 5):
        ledger.write_session("s", evaluations.record, batch, "athens", {ATHENS: 90})
    ledger.write_session("s", endings.settle, 3)
    ledger.write_session("s", releases.check, 4, b"digest", [Charge(ATHENS, 10, 1), Charge(CORINTH, 0, 0)])


def second_period(ledger: Ledger) -> None:
    """Release what was open; a budget's period ends in between, and the session after it."""
    released(ledger, 4, Charge(ATHENS, 40, 3), Charge(CORINTH, 30, 4))
    ledger.write(budgets.renew, [CORINTH], period_ms=1)
    released(ledger, 5, Charge(ATHENS, 70, 3), Charge(CORINTH, 20, 4))
    ledger.write_session("s", endings.close)


Made = tuple[Path, CertificateAuthority]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Return a guardian's folder with its ledger of two periods in SQLite, to be copied, and its CA."""
    folder = tmp_path_factory.mktemp("pg")
    (folder / "site.toml").touch()
    ca = CertificateAuthority.create(FEDERATION, clock())
    fill(folder, ca.issue(Identity(FEDERATION, "pg", Role.GUARDIAN), folder, clock()))
    return folder, ca


def fill(folder: Path, credentials: Credentials) -> None:
    time = ManualClock(START)
    with open_guardian_ledger(folder, credentials, time) as ledger:
        first_period(ledger)
        time.advance(FIRST_END - START)
        second_period(ledger)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.heavy)])
def place(request: pytest.FixtureRequest, tmp_path: Path, made: Made) -> Place:
    """Return a place whose ledger has two periods, in either backend."""
    folder, (source, ca) = tmp_path / "pg", made
    shutil.copytree(source, folder)
    credentials, where = Credentials.load(folder), folder / LEDGER_FILE
    if request.param == "sqlite":
        return Place(tmp_path, where, credentials, ca)
    where.unlink()
    url = request.getfixturevalue("postgres_url")
    (folder / "site.toml").write_text(f'[ledger]\nurl = "{url}"\n')
    fill(folder, credentials)
    return Place(tmp_path, url, credentials, ca)


@pytest.fixture
def first(place: Place) -> Archive:
    return place.archive("first.jsonl.gz", FIRST_END)


@pytest.fixture
def second(place: Place, first: Archive) -> Archive:
    return place.archive("second.jsonl.gz", SECOND_END, first)


def test_an_archive_of_dropped_answers_is_the_same(place: Place, first: Archive) -> None:
    with open_guardian_ledger(place.folder / "pg", place.credentials, ManualClock(SECOND_END)) as ledger:
        assert ledger.write(drop_answers, int(FIRST_END * 1000)).batches == 1
    place.archive("again.jsonl.gz", FIRST_END)
    assert place.lines("again.jsonl.gz")[1:-1] == place.lines("first.jsonl.gz")[1:-1]
    assert place.check("again.jsonl.gz").batches == first.batches
    verify(place.where, ca_pem=place.credentials.ca_pem, federation=FEDERATION)
    assert place.continues(first) > first.checkpoint.sequence


def test_archives_have_each_period_once_and_the_ledger_continues(
    place: Place, first: Archive, second: Archive
) -> None:
    assert (first.first, first.sessions, first.batches, first.charges) == (1, 1, 3, 3)
    assert (second.first, second.sessions, second.batches, second.charges) == (
        first.checkpoint.sequence + 1,
        1,
        2,
        4,
    )
    assert (place.check("first.jsonl.gz"), place.check("second.jsonl.gz")) == (first, second)
    check_follows(place.folder / "second.jsonl.gz", second, first)
    head = verify(place.where, ca_pem=place.credentials.ca_pem, federation=FEDERATION)
    assert place.continues(first) == place.continues(second) == head.sequence
    assert second.checkpoint.sequence == head.sequence


def test_one_archive_of_both_periods_ends_with_the_same_checkpoint(place: Place, second: Archive) -> None:
    both = place.archive("both.jsonl.gz", SECOND_END)
    assert both.checkpoint == second.checkpoint
    assert (both.sessions, both.batches, both.charges) == (2, 5, 7)


def test_the_owner_alone_may_read_it_and_it_has_no_answers(place: Place, second: Archive) -> None:
    path = place.folder / "second.jsonl.gz"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    written = gzip.decompress(path.read_bytes())
    for form in (ANSWERS, base64.b64encode(ANSWERS), ANSWERS.hex().encode()):
        assert form not in written
    (batch,) = [line for line in place.lines(path.name) if line.get("batch") == 4]
    assert batch["answers_sha256"] == hashlib.sha256(ANSWERS).hexdigest()
    athens, corinth = batch["charges"]
    assert athens == {
        "party": "athens",
        "group": "all",
        "adjacency": "record",
        "reserved": 100,
        "checked": 10,
        "worst_case": 40,
        "spent": 200,
    }
    assert (corinth["party"], corinth["worst_case"]) == ("corinth", 30)


def test_no_file_is_replaced_and_an_empty_period_is_none(place: Place, first: Archive) -> None:
    before = (place.folder / "first.jsonl.gz").read_bytes()
    refused(ErrorCode.LEDGER_EXISTS, lambda: place.archive("first.jsonl.gz", FIRST_END))
    assert (place.folder / "first.jsonl.gz").read_bytes() == before
    refused(ErrorCode.CONFIG_INVALID, lambda: place.archive("none.jsonl.gz", START))
    refused(ErrorCode.CONFIG_INVALID, lambda: place.archive("none.jsonl.gz", FIRST_END, first))
    expired = partial(place.archive, "none.jsonl.gz", SECOND_END, now=START + 800 * DAY_S)
    refused(ErrorCode.IDENTITY_EXPIRED, expired)
    assert not list(place.folder.glob("*none*"))


def edit(first: str, **values: Any) -> Callable[[Lines], None]:
    """Return what changes the first line of a kind."""
    return lambda lines: next(line for line in lines if line["kind"] == first).update(values)


def without(kind: str) -> Callable[[Lines], None]:
    return lambda lines: lines.remove(next(line for line in lines if line["kind"] == kind))


def cheaper(lines: Lines) -> None:
    """Let the first charge cost less."""
    batch = next(line for line in lines if line["kind"] == "batch")
    batch["charges"][0]["worst_case"] -= 1


def twice(lines: Lines) -> None:
    lines.insert(-1, next(line for line in lines if line["kind"] == "batch"))


EVALUATED = {**ATHENS._asdict(), "worst_case": 1, "time_unix_ms": 2, "charged_unix_ms": 3}
ALTERED: dict[str, tuple[Callable[[Lines], None], str]] = {
    "a row's payload": (edit("audit", payload="{}"), "audit row 1 was altered"),
    "a row's time": (edit("audit", time_unix_ms=5), "audit row 1 was altered"),
    "a row's signature": (edit("audit", signed=""), "audit row 1 carries the signature of another row"),
    "a row's payload that is not text": (edit("audit", payload=5), "damaged"),
    "a row's time without end": (edit("audit", time_unix_ms=1 << 64), "damaged"),
    "a missing row": (without("audit"), "audit row 1 is missing"),
    "a cheaper charge": (cheaper, "batch s/1 is not what the audit log says"),
    "a missing batch": (without("batch"), "s/1 is missing"),
    "a batch twice": (twice, "batch s/1 is not what the audit log says"),
    "a batch's evaluation": (edit("batch", evaluated=[EVALUATED]), "batch s/1"),
    "a batch's ticket": (edit("batch", ticket="AAAA"), "batch s/1"),
    "a batch's answers": (edit("batch", answers_sha256="00"), "batch s/1"),
    "a session's plan": (edit("session", plan="AAAA"), "session t is not what the audit log says"),
    "a session's querier": (edit("session", querier="other"), "session t"),
    "a missing session": (without("session"), "t is missing"),
    "a line of no kind": (lambda lines: lines.insert(-1, {"kind": "other"}), "of no kind"),
    "no object": (lambda lines: lines.insert(-1, ["kind"]), "damaged"),  # type: ignore[arg-type]
    "no archive": (edit("archive", kind="audit"), "it does not begin as one"),
    "another last row": (edit("archive", last=3), "a line of no kind"),
    "no rows": (edit("archive", last=0), "audit row 1 is missing"),
    "another day": (edit("archive", made_unix_ms=int(FIRST_END * 1000)), "is not what its rows add up to"),
}


@pytest.mark.parametrize("name", ALTERED)
@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_what_is_altered_is_refused_also_under_the_guardians_signature(
    place: Place, first: Archive, name: str
) -> None:
    alter, named = ALTERED[name]
    lines = place.lines("first.jsonl.gz")
    alter(lines)
    for write in (place.write, place.resealed):
        path = write(lines)
        error = refused(ErrorCode.LEDGER_ARCHIVE_ALTERED, partial(check_archive, path, place.authority))
        assert named in error.message


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_a_checkpoint_is_signed_by_a_guardian_over_all_lines(place: Place, first: Archive) -> None:
    lines = place.lines("first.jsonl.gz")
    place.resealed(lines)
    assert check_archive(place.folder / "altered.jsonl.gz", place.authority) == first
    party = issued(place, Role.PARTY)
    state = json.loads(lines[-1]["state"])
    state["totals"]["rows"][0][state["totals"]["columns"].index("worst_case")] -= 1
    poorer = [*lines[:-1], {**lines[-1], "state": json.dumps(state)}]
    with_more = [{**lines[0], "note": "x"}, *lines[1:]]
    writers: dict[str, Callable[[], Path]] = {
        "not signed by the guardian": lambda: place.resealed(lines, party),
        "not the one that was signed": lambda: place.write(poorer),
        "not what its rows add up to": lambda: place.write(with_more),
    }
    for named, write in writers.items():
        path = write()
        error = refused(ErrorCode.LEDGER_ARCHIVE_ALTERED, partial(check_archive, path, place.authority))
        assert named in error.message
    elsewhere = Authority(place.credentials.ca_pem, "persia")
    refused(
        ErrorCode.LEDGER_ARCHIVE_ALTERED, lambda: check_archive(place.folder / "first.jsonl.gz", elsewhere)
    )


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_a_file_cut_off_or_damaged_or_longer_is_refused(place: Place, first: Archive) -> None:
    whole = (place.folder / "first.jsonl.gz").read_bytes()
    path = place.folder / "altered.jsonl.gz"
    middle = len(whole) // 2
    flipped = whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :]
    for content in (b"", b"{}", whole[:middle], whole[:-9], flipped, whole + b"x", whole + whole):
        path.write_bytes(content)
        refused(ErrorCode.LEDGER_ARCHIVE_ALTERED, lambda: check_archive(path, place.authority))
    place.write(place.lines("first.jsonl.gz")[:-1])
    refused(ErrorCode.LEDGER_ARCHIVE_ALTERED, lambda: check_archive(path, place.authority))
    *lines, last = place.lines("first.jsonl.gz")
    closing = replace(Closing.read(last)[0], made_unix_ms=10**400)
    place.write([*lines, dict(closing.line(place.sign(closing.payload())))])
    refused(ErrorCode.LEDGER_ARCHIVE_ALTERED, lambda: check_archive(path, place.authority))
    place.archive("second.jsonl.gz", SECOND_END, first)
    head, *rest = place.lines("second.jsonl.gz")
    place.write([{**head, "last": first.checkpoint.sequence}, *rest])
    refused(ErrorCode.LEDGER_ARCHIVE_ALTERED, lambda: check_archive(path, place.authority))
    place.write([{**head, "versions": [9, 9]}])
    refused(ErrorCode.LEDGER_NEWER, lambda: check_archive(path, place.authority))
    refused(ErrorCode.DATA_MISSING, lambda: check_archive(place.folder / "none.gz", place.authority))


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
@pytest.mark.parametrize("versions", [(1, 1), (2, 1)])
def test_an_archive_of_an_older_version_is_read_and_continued(
    place: Place, first: Archive, versions: tuple[int, int]
) -> None:
    head, *lines, last = place.lines("first.jsonl.gz")
    lines = [{**head, "versions": versions}, *lines]
    digest = hashlib.sha256(b"".join(map(written, lines))).hexdigest()
    state = json.dumps(positional(json.loads(last["state"])))
    checkpoint = replace(first.checkpoint, state=state, format=1)
    closing = Closing(checkpoint, digest, head["made_unix_ms"], versions)
    path = place.write([*lines, dict(closing.line(place.sign(closing.payload())))])
    found = check_archive(path, place.authority)
    assert (found.checkpoint, found.batches) == (first.checkpoint, first.batches)
    second = place.archive("second.jsonl.gz", SECOND_END, found)
    check_follows(place.folder / "second.jsonl.gz", second, found)


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_an_archive_that_continues_one_of_another_version_is_not_of_this(
    place: Place, first: Archive, second: Archive
) -> None:
    closing = replace(Closing.read(first.closing)[0], versions=(9, 9))
    head, *lines = place.lines("second.jsonl.gz")
    opening = dict(closing.line(place.sign(closing.payload())))
    path = place.resealed([{**head, "opening": opening}, *lines])
    refused(ErrorCode.LEDGER_NEWER, lambda: check_archive(path, place.authority))


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_an_archive_whose_lines_name_two_versions_is_refused(place: Place, first: Archive) -> None:
    head, *lines = place.lines("first.jsonl.gz")
    path = place.resealed([{**head, "versions": [2, 1]}, *lines])
    error = refused(ErrorCode.LEDGER_ARCHIVE_ALTERED, lambda: check_archive(path, place.authority))
    assert "different versions" in error.message


def positional(state: dict[str, Any]) -> dict[str, Any]:
    """Return a state as format 1 had it, whose tables' rows name nothing."""

    def rows(table: str, *columns: str) -> list[list[Any]]:
        places = [state[table]["columns"].index(column) for column in columns]
        return [[row[place] for place in places] for row in state[table]["rows"]]

    def by_batch(table: str, *columns: str) -> list[list[Any]]:
        unit = ("party", "group", "adjacency")
        found: dict[tuple[str, int], list[list[Any]]] = {}
        for session, batch, *row in rows(table, "session", "batch", *unit, *columns):
            if row[-1] is not None or table == "evaluations":
                found.setdefault((session, batch), []).append(row)
        return [[*key, of_batch] for key, of_batch in sorted(found.items())]

    return {
        "head": rows("head", *positions._HEAD)[0],
        "units": rows("units", *positions._UNIT, *positions._AMOUNTS),
        "manifests": rows("manifests", *positions._MANIFESTS),
        "parties": rows("parties", *positions._PARTY),
        "policies": [],
        "reconciled": [],
        "published": [],
        "sessions": rows("sessions", *positions._SESSION),
        "batches": rows("batches", *positions._OPEN_BATCH),
        "held": by_batch("charges", "reserved"),
        "checked": by_batch("charges", "checked"),
        "after": by_batch("charges", "spent"),
        "evaluated": by_batch("evaluations", "worst_case", "time_unix_ms", "charged_unix_ms"),
        "totals": rows("totals", *positions._TOTAL),
        "settled": dict(rows("settled", "table", "rows")),
    }


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_archives_in_another_order_or_of_another_ledger_do_not_follow(place: Place, second: Archive) -> None:
    both = place.archive("both.jsonl.gz", SECOND_END)
    for found, before in ((both, second), (second, second), (second, both)):
        refused(ErrorCode.LEDGER_ARCHIVE_ALTERED, partial(check_follows, place.folder, found, before))


EDITED = {
    "UPDATE charges SET worst_case = 59 WHERE worst_case = 60": "sum of charges of unit athens",
    "DELETE FROM charges WHERE worst_case = 50": "sum of charges of unit corinth",
    "UPDATE units SET spent = spent - 1 WHERE party = 'athens'": "unit athens/all/record",
    "UPDATE units SET spent_before = 0 WHERE party = 'corinth'": "unit corinth/all/record",
    "UPDATE audit SET hash = previous WHERE sequence = 18": "audit row 18 is not the one",
    "UPDATE audit SET time_unix_ms = 0 WHERE sequence = 19": "audit row 19 was altered",
    "DELETE FROM sessions WHERE session_id = 't'": "number of rows: sessions",
}


@pytest.mark.parametrize("statement", EDITED)
def test_a_ledger_that_lost_something_does_not_continue(place: Place, first: Archive, statement: str) -> None:
    place.execute(statement)
    error = refused(ErrorCode.LEDGER_TAMPERED, lambda: place.continues(first))
    assert EDITED[statement] in error.message


CONTRADICTED = {
    "UPDATE charges SET worst_case = 59 WHERE worst_case = 60": "batch s/1",
    "DELETE FROM audit WHERE sequence = 18": "audit row 18 is missing",
    "UPDATE audit SET signed = previous WHERE sequence = 5": "audit row 5",
}


@pytest.mark.parametrize("statement", CONTRADICTED)
@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_a_ledger_that_contradicts_its_log_is_not_archived(place: Place, statement: str) -> None:
    place.execute(statement)
    error = refused(ErrorCode.LEDGER_TAMPERED, lambda: place.archive("first.jsonl.gz", FIRST_END))
    assert CONTRADICTED[statement] in error.message
    assert not list(place.folder.glob("*first*"))


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_a_ledger_restored_from_a_later_backup_continues(place: Place, first: Archive) -> None:
    saved, anew = place.folder / "backup.db", place.folder / "anew.db"
    with LedgerReader.open_read_only(place.where) as reader:
        backup(reader, saved)
    restore(
        saved,
        anew,
        clock=ManualClock(SECOND_END),
        cipher=Cipher(load_key(place.credentials.folder / KEY_FILE)),
        sign_head=partial(place.credentials.sign, AUDIT_CONTEXT),
    )
    place.where = anew
    place.continues(first)
    second = place.archive("second.jsonl.gz", SECOND_END + 1, first)
    assert any("restored" in line.get("payload", "") for line in place.lines("second.jsonl.gz"))
    assert place.continues(second) == second.checkpoint.sequence


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_an_archive_verifies_and_is_continued_under_a_later_version_of_the_tables(
    place: Place, first: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "SCHEMA_VERSION", 99)
    assert place.check("first.jsonl.gz") == first
    check_follows(place.folder, place.archive("second.jsonl.gz", SECOND_END, first), first)


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_a_line_without_end_is_not_read(
    place: Place, first: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file, "_LINE", 500)
    error = refused(ErrorCode.LEDGER_ARCHIVE_ALTERED, lambda: place.check("first.jsonl.gz"))
    assert "a line of it is too long" in error.message


@pytest.mark.parametrize(
    ("values", "refused_for"),
    [
        (b'"' + b'\\",' * (3 << 20) + b'"', "damaged"),
        (b",".join([b"[]"] * (3 << 20)), "more values than"),
        (b",".join([b'""'] * (1 << 22)), "more values than"),
        (b"0," * (1 << 22) + b'"' + b'\\"' * (1 << 20), "more values than"),
        (b'"' + b"a" * (1 << 25) + b'"', "a line of it is too long"),
    ],
    ids=["a string", "lists", "strings", "a string without end", "a longer string"],
)
def test_a_line_that_would_fill_the_memory_is_not_parsed(
    tmp_path: Path, values: bytes, refused_for: str
) -> None:
    path = tmp_path / "bomb.jsonl.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b"[" + values + b"]\n")
    error = refused(ErrorCode.LEDGER_ARCHIVE_ALTERED, lambda: check_archive(path, Authority(b"", FEDERATION)))
    assert refused_for in error.message


@pytest.mark.heavy
@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_killed_anywhere_it_leaves_no_archive_and_the_ledger_as_it_was(place: Place) -> None:
    before = verify(place.where, ca_pem=place.credentials.ca_pem, federation=FEDERATION)

    def child(number: int) -> None:
        die_at_statement(number)
        place.archive("first.jsonl.gz", FIRST_END)

    def child_at_the_end(name: str) -> None:
        setattr(os, name, die)
        place.archive("first.jsonl.gz", FIRST_END)

    number = 1
    while was_killed(partial(child, number)):
        assert not (place.folder / "first.jsonl.gz").exists()
        number += 1
    assert number > 10
    whole = place.check("first.jsonl.gz")
    (place.folder / "first.jsonl.gz").unlink()
    for name in ("fsync", "link"):
        assert was_killed(partial(child_at_the_end, name))
        assert not (place.folder / "first.jsonl.gz").exists()
    assert verify(place.where, ca_pem=place.credentials.ca_pem, federation=FEDERATION) == before
    assert place.archive("first.jsonl.gz", FIRST_END).checkpoint == whole.checkpoint
