"""Whatever a version of Ostraka stored, this one reads, and finds in it what was written."""

import gzip
import shutil
from itertools import islice
from pathlib import Path

import pytest
from cryptography import x509
from sqlalchemy import Connection, text

from ostraka.client.session.run_state import BatchState, GrantedCohort, GrantedParty, load_state
from ostraka.common.clock import ManualClock
from ostraka.common.config import load_site
from ostraka.common.identity import Role, verify_signed
from ostraka.common.mechanism import Confident, GnMax
from ostraka.common.wire.contexts import CHECKPOINT_CONTEXT
from ostraka.deploy.provisioning.sealing import check_seal
from ostraka.guardian.ledger import Ledger, LedgerReader, Seal, verify
from ostraka.guardian.ledger.archive.archive import Authority, check_archive, check_ledger
from ostraka.guardian.ledger.log import checkpoint_state, checkpoints, integrity
from ostraka.guardian.ledger.log.audit import sha256
from ostraka.guardian.ledger.log.replayed_ledger import ReplayedLedger
from ostraka.guardian.ledger.log.rows import Evaluation, UnitTotal
from ostraka.guardian.ledger.store.storage import open_storage
from ostraka.guardian.ledger.units import balances, kept_totals, publications
from ostraka.protos.ostraka.v1 import common_pb2
from ostraka.services.journal.journal import Journal
from ostraka.services.journal.limits import GroupCharge
from ostraka.services.teachers.config import TrainingConfig
from ostraka.services.teachers.manifest import GroupRecord, TeachersManifest
from tests.golden.writing import ARCHIVED, FEDERATION, FILES, WRITERS
from tests.guardian.ledger.support import ATHENS, CORINTH, DIGEST, ORDER, START, cipher, sign

LEDGERS = sorted(FILES.glob("ledger-*"))
BATCH = ("s", 4)


def test_every_version_of_today_has_its_files() -> None:
    assert set(WRITERS) <= {folder.name for folder in FILES.iterdir()}, "run python -m tests.golden"


@pytest.fixture(params=LEDGERS, ids=lambda folder: folder.name)
def stored(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Return a copy of a stored ledger's folder, with the ledger unpacked."""
    folder = tmp_path / "ledger"
    shutil.copytree(request.param, folder)
    (folder / "ledger.db").write_bytes(gzip.decompress((folder / "ledger.db.gz").read_bytes()))
    return folder


def authority(folder: Path) -> Authority:
    return Authority((folder / "ca.crt").read_bytes(), FEDERATION)


def seal(folder: Path) -> Seal:
    """Return a seal that believes the guardian of the time; what it signs itself nobody believes."""
    ca_pem, clock = authority(folder).ca_pem, ManualClock(ARCHIVED)
    return Seal(
        sign,
        lambda signed: verify_signed(
            signed, CHECKPOINT_CONTEXT, ca_pem=ca_pem, clock=clock, federation=FEDERATION, role=Role.GUARDIAN
        ),
    )


def checkpoint_of(connection: Connection) -> checkpoints.Checkpoint:
    found = checkpoints.load(connection)
    assert found is not None
    return found


def check_meaning(connection: Connection, found: checkpoints.Checkpoint) -> ReplayedLedger:
    """Check that a state says what the log says at its row, and return what it says."""
    replayed = ReplayedLedger()
    integrity.replay(replayed, islice(integrity.chain(connection), found.sequence))
    assert found.in_this_format().state == checkpoint_state.encode(replayed)
    if found.format == checkpoint_state.FORMAT:
        assert found.state == checkpoint_state.encode(replayed)
    return found.replay()


def check_session(replayed: ReplayedLedger) -> None:
    """Check texts of a state that nothing else tells apart, each against what was written."""
    session = replayed.sessions["s"]
    assert (session.plan, session.grant) == (sha256(b"plan"), sha256(b"grant of s"))
    assert (session.querier, session.plan_digest) == ("querier", b"s".hex())
    assert (session.queries, session.opened_unix_ms, session.state) == (1000, START * 1000, "open")
    assert replayed.batches[BATCH].ticket == sha256(b"ticket")
    assert replayed.batches[BATCH].check_digest == DIGEST.hex()
    assert replayed.held[BATCH] == {ATHENS: 100, CORINTH: 100}
    assert replayed.checked[BATCH] == {ATHENS: 10, CORINTH: 0}
    assert replayed.accounts.units[ATHENS].order == ORDER
    assert (replayed.head.fence, replayed.head.epoch) == (1, 1)


def test_a_checkpoint_is_read(stored: Path) -> None:
    storage = open_storage(stored / "ledger.db", read_only=True)
    with storage.read() as connection:
        replayed = check_meaning(connection, checkpoint_of(connection))
    storage.close()
    check_session(replayed)
    assert replayed.sessions["s"].asked == 15
    assert replayed.batches.keys() == {BATCH}
    assert not replayed.evaluated
    assert replayed.totals == {ATHENS: UnitTotal(*ATHENS, 4, 230), CORINTH: UnitTotal(*CORINTH, 4, 70)}


def test_a_guardian_starts_from_a_checkpoint(stored: Path) -> None:
    """Row 3 of the log was altered, which only whoever reads the whole log can tell."""
    where = stored / "ledger.db"
    storage = open_storage(where)
    with storage.write() as connection:
        connection.execute(text("UPDATE audit SET payload = '{}' WHERE sequence = 3"))
    storage.close()
    clock = ManualClock(ARCHIVED)
    with Ledger.open(where, clock=clock, cipher=cipher(), sign_head=sign, seal=seal(stored)) as ledger:
        athens, corinth = ledger.read(balances.budgets_of, [ATHENS, CORINTH])
    assert (athens.spent, athens.reserved, athens.epsilon) == (270, 0, 10.0)
    assert (corinth.spent, corinth.reserved, corinth.epsilon) == (100, 0, 9.0)


def test_a_ledger_verifies(stored: Path) -> None:
    where, trusted = stored / "ledger.db", authority(stored)
    head = verify(where, ca_pem=trusted.ca_pem, federation=trusted.federation)
    assert head.sequence == 27
    with LedgerReader.open_read_only(where, cipher=cipher()) as ledger:
        state = ledger.read(kept_totals.total_of, ATHENS).state
        assert ledger.read(publications.find, state) is None
        (found,) = ledger.read(lambda view: view.connection.execute(text("SELECT state FROM publications")))
        assert ledger.read(publications.find, found.state) == b"statement"


def test_an_archive_verifies_and_its_ledger_continues(stored: Path) -> None:
    found = check_archive(stored / "archive.jsonl.gz", authority(stored))
    assert (found.first, found.checkpoint.sequence) == (1, 26)
    assert (found.sessions, found.batches, found.charges) == (1, 3, 3)
    assert check_ledger(stored / "ledger.db", found.checkpoint, authority(stored)).sequence == 27
    storage = open_storage(stored / "ledger.db", read_only=True)
    with storage.read() as connection:
        replayed = check_meaning(connection, found.checkpoint)
    storage.close()
    check_session(replayed)
    assert replayed.evaluated["s", 5] == {
        ATHENS: Evaluation("s", 5, *ATHENS, worst_case=100, time_unix_ms=int(START) * 1000)
    }


def test_a_journal_is_read(tmp_path: Path) -> None:
    for number, folder in enumerate(FILES.glob("journal-*")):
        path = tmp_path / f"{number}.db"
        shutil.copy(folder / "journal.db", path)
        confident = Confident(sigma1=10.0, sigma2=5.0, threshold=20.0)
        with Journal(path) as journal:
            assert list(journal.receipts()) == [
                ("s", 1, GroupCharge(GnMax(sigma=40.0), 100, 10)),
                ("s", 2**64 - 1, GroupCharge(confident, 7, 10, 3.0, "high")),
                ("s", 2**64 - 1, GroupCharge(confident, 7, 10, 3.0, "low")),
                ("t", 1, GroupCharge(confident, 3, 4, adjacency="label")),
            ]
            assert journal.list_declared_votes() == [2]
            assert journal.audit_head() == common_pb2.AuditHead(sequence=12, hash=b"h" * 32)
            assert journal.epoch() == 1
            assert journal.queries_in_day(START + 2) == {"ostraka://hellas/delphi/query": 300}


def test_a_run_is_read() -> None:
    for folder in FILES.glob("run-*"):
        state = load_state(folder)
        assert state.parse_plan().mechanism == Confident(sigma1=2.0, sigma2=1.0, threshold=15.0)
        assert state.parse_plan().nonce == b"n" * 16
        assert (state.classes, state.scale, state.pool_size) == (("low", "mid", "top"), 1.5, 8)
        assert (state.session_id, state.enforce, state.bound) == ("session", "worst_case", "theorem6")
        cohort = GrantedCohort(groups={"all": 1}, teachers=5, weight=1.0)
        assert state.parties == tuple(
            GrantedParty(site=site, teachers=5, max_votes_per_person=1, cohorts=(cohort,)) for site in "ab"
        )
        assert state.batches == (
            BatchState(
                id=1,
                queries=(0, 1),
                status="released",
                schedule={"a": ("03",), "b": ("03",)},
                parties=("a", "b"),
                answers=(2, None),
                last=("b",),
            ),
            BatchState(
                id=2,
                queries=(2, 3),
                status="lost",
                parties=("a", "b"),
                tallied=True,
                charged=((True,), (False,)),
            ),
            BatchState(id=3, queries=(2, 3)),
        )
        assert state.answers() == {0: 2, 1: None}
        assert state.by_student() == {1: 1}


def test_a_manifest_of_teachers_is_read() -> None:
    for folder in FILES.glob("teachers-*"):
        assert TeachersManifest.load(folder) == TeachersManifest(
            teachers=4,
            records=90,
            model="mlp",
            library="torch",
            training="mlp 1",
            task_digest="0f" * 32,
            seed=7,
            config=TrainingConfig(model="mlp", teachers=4, epochs=3),
            data_sha256="1f" * 32,
            slices_sha256="2f" * 32,
            slice_sizes=(20, 25, 25, 20),
            classes=3,
            shape=(2,),
            constants={1: 2},
            mixed=False,
            groups=(
                GroupRecord(name="high", records=60, teachers=3, copies=2),
                GroupRecord(name="low", records=30, teachers=1),
            ),
        )


def test_a_kit_is_read() -> None:
    for folder in FILES.glob("kit-*"):
        made = check_seal(folder, x509.load_pem_x509_certificate((folder / "ca.crt").read_bytes()))
        assert (made.number, made.made_unix_s) == (1, START)
        site = load_site(folder)
        assert (site.federation, site.site, site.role, site.guardian_site) == ("demo", "a", "party", "hub")
        assert (site.guardian, site.listen) == ("127.0.0.1:7000", "127.0.0.1:7001")
        assert site.parties == {"a": "127.0.0.1:7001", "b": "b.example:7001"}
