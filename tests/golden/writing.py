"""Writes one small file of every format that Ostraka stores, with a clock that does not advance.

A file once written is committed and never written again: every later version must read it. No private key is
kept, and the key of the ledger is the one of all tests. The files of a whole federation of a released version
are in `tests/upgrades`.
"""

import gzip
import shutil
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

from ostraka.client.session.run_state import GrantedCohort, GrantedParty, RunState, RunStore, Student
from ostraka.common.clock import ManualClock
from ostraka.common.identity import CertificateAuthority, Credentials, Identity, Role
from ostraka.common.identity.credentials import CA_CERT
from ostraka.common.mechanism import Confident, GnMax
from ostraka.common.plan.plan import Plan
from ostraka.common.wire.contexts import ARCHIVE_CONTEXT, AUDIT_CONTEXT
from ostraka.guardian.accounting.smooth_noise import DISTANCES, VoteTotal
from ostraka.guardian.ledger import BudgetTerms, Charge, Ledger, LedgerReader, Owed, reconcile, registrations
from ostraka.guardian.ledger.archive import file as archive_file
from ostraka.guardian.ledger.archive.archive import Archivist, Authority, archive
from ostraka.guardian.ledger.log import checkpoint_state, checkpoints
from ostraka.guardian.ledger.members import policies
from ostraka.guardian.ledger.sessions import batches, charging, endings, evaluations, releases
from ostraka.guardian.ledger.site import seal_of
from ostraka.guardian.ledger.store.schema import SCHEMA_VERSION
from ostraka.guardian.ledger.units import budgets, kept_totals, publications
from ostraka.guardian.ledger.units.publications import Publication
from ostraka.protos.ostraka.v1 import common_pb2
from ostraka.services.journal.file import VERSION as JOURNAL_VERSION
from ostraka.services.journal.journal import Journal
from ostraka.services.journal.limits import GroupCharge, QueryCount
from ostraka.services.teachers.config import TrainingConfig
from ostraka.services.teachers.manifest import GroupRecord, TeachersManifest
from tests.deploy.provisioning.kits import make_sites
from tests.guardian.ledger.places import LOST
from tests.guardian.ledger.support import (
    ATHENS,
    BUDGET,
    CORINTH,
    DELTA,
    DIGEST,
    ORDER,
    START,
    cipher,
    open_session,
    release,
)

FILES = Path(__file__).with_name("files")
FEDERATION = "hellas"
ARCHIVED = START + 86_400
"""When the archive ends; open batches continue after it."""


def write_ledger(folder: Path, scratch: Path) -> None:
    """Write a ledger with something in every table, its checkpoint and an archive, and the CA's certificate.

    The state in the archive has checked and evaluated batches; the one in the ledger's checkpoint differs.
    """
    clock = ManualClock(START)
    ca = CertificateAuthority.create(FEDERATION, clock)
    credentials = ca.issue(Identity(FEDERATION, "pg", Role.GUARDIAN), scratch, clock)
    shutil.copy(scratch / CA_CERT, folder)
    where = scratch / "ledger.db"
    # A checkpoint at a start has no open batches, because the start ends them; one at a renewal does.
    with patch.object(checkpoints, "ROWS", 1), open_ledger(where, credentials, clock) as ledger:
        fill(ledger)
        clock.advance(ARCHIVED - START)
        with LedgerReader.open_read_only(where) as reader:
            archivist = Archivist(
                int(ARCHIVED * 1000),
                lambda payload: credentials.sign(ARCHIVE_CONTEXT, payload),
                Authority(credentials.ca_pem, FEDERATION),
            )
            archive(reader, folder / "archive.jsonl.gz", int(ARCHIVED * 1000), archivist)
        release(ledger, 5, Charge(ATHENS, 70, 3), Charge(CORINTH, 20, 4))
        ledger.renew_lease()
    (folder / "ledger.db.gz").write_bytes(gzip.compress(where.read_bytes(), mtime=0))


def open_ledger(where: Path, credentials: Credentials, clock: ManualClock) -> Ledger:
    """Open a ledger like a guardian, with the key of tests."""
    return Ledger.open(
        where,
        clock=clock,
        cipher=cipher(),
        sign_head=lambda payload: credentials.sign(AUDIT_CONTEXT, payload),
        seal=seal_of(credentials, clock),
    )


def fill(ledger: Ledger) -> None:
    """Release batch 1, end batches 2 and 3 (3 evaluated), and leave 4 checked and 5 evaluated."""
    ledger.write(policies.apply, "min_sigma = 0.5\n", reason="the first")
    for unit in (ATHENS, CORINTH):
        ledger.write(budgets.set_budget, unit, BudgetTerms(BUDGET, DELTA, ORDER, "worst_case"))
    # The first party shows a head that no history has, which ends any open sessions.
    for unit in (ATHENS, CORINTH):
        ledger.write(registrations.register, unit.party, b"manifest", b"signed", kept_head=LOST)
        ledger.write(reconcile.reconcile, unit.party, [Owed("lost", 7, unit, 25)])
    for session in ("s", "t"):
        open_session(ledger, session)
    ledger.write_session("t", endings.close)
    for batch in range(1, 6):
        reserved = {ATHENS: 100, CORINTH: 100}
        votes = {"athens": 1, "corinth": 2}
        ledger.write_session("s", batches.open_batch, batch, 5, b"ticket", reserved, votes=votes)
    release(ledger, 1, Charge(ATHENS, 60, 3), Charge(CORINTH, 50, 4))
    kept = VoteTotal(ORDER, b"k" * 16, 30, tuple(range(1, DISTANCES + 1))).to_bytes()
    ledger.write_session("s", charging.store_figures, 1, {ATHENS: 30, CORINTH: 30}, {ATHENS: kept})
    ledger.write_session("s", endings.settle, 2)
    for batch in (3, 5):
        ledger.write_session("s", evaluations.record, batch, "athens", {ATHENS: 90})
    ledger.write_session("s", endings.settle, 3)
    ledger.write_session("s", releases.check, 4, DIGEST, [Charge(ATHENS, 10, 1), Charge(CORINTH, 0, 0)])
    publish(ledger)
    ledger.write(budgets.set_budget, CORINTH, BudgetTerms(9.0, DELTA, ORDER, "worst_case"), reason="less")


def publish(ledger: Ledger) -> None:
    """Publish the epsilon of one unit."""
    total = ledger.read(kept_totals.total_of, ATHENS)
    charges = {payer.key: 5 for payer in total.payers}
    made = Publication(ATHENS, total.state, total.votes, b"statement", 0.05, 4.5, charges, "a paper")
    ledger.write(publications.publish, made)


def write_journal(folder: Path, scratch: Path) -> None:
    """Write a party's journal with three batches of two mechanisms and two groups, and an audit head."""
    asked = QueryCount("ostraka://hellas/delphi/query", 100)
    confident = Confident(sigma1=10.0, sigma2=5.0, threshold=20.0)
    with Journal(scratch / "journal.db") as journal:
        journal.record("s", 1, [GroupCharge(GnMax(sigma=40.0), queries=100, classes=10)], asked, START)
        both = [
            GroupCharge(confident, queries=7, classes=10, sensitivity=3.0, group=level)
            for level in ("high", "low")
        ]
        journal.record("s", 2**64 - 1, both, asked, START + 1)
        journal.record("t", 1, [GroupCharge(confident, 3, 4, adjacency="label")], asked, START + 2)
        journal.declare_votes(2)
        journal.keep_head(common_pb2.AuditHead(sequence=12, hash=b"h" * 32), epoch=1)
    shutil.copy(scratch / "journal.db", folder)


def write_run(folder: Path, scratch: Path) -> None:
    """Write a querying party's run: a released batch, a lost and an open one, and a student's answers."""
    plan = Plan(
        nonce=b"n" * 16,
        task_digest=b"t" * 32,
        classes=3,
        mechanism=Confident(sigma1=2.0, sigma2=1.0, threshold=15.0),
        parties=("a", "b"),
        quorum=2,
        queries=6,
        batch_size=2,
        ring_bits=64,
        fraction_bits=16,
        adjacency="record",
    )
    state = RunState(
        task="cubes",
        classes=("low", "mid", "top"),
        pool_sha256="ab" * 32,
        pool_size=8,
        plan=plan.serialize().hex(),
        scale=1.5,
        student=Student(sha256="cd" * 32, labels=(None, 1, 2, None, 0, 1, None, 2)),
    )
    store = RunStore.create(folder, state)
    cohorts = (GrantedCohort(groups={"all": 1}, teachers=5, weight=1.0),)
    granted = [
        GrantedParty(site=site, teachers=5, max_votes_per_person=1, cohorts=cohorts) for site in plan.parties
    ]
    store.record_grant("session", granted, "worst_case", "theorem6")
    first = store.begin([0, 1])
    store.record_ticket(first, {"a": ("03",), "b": ("03",)})
    store.record_last(first, ["b"])
    store.record_answers(first, [2, None], ["a", "b"])
    second = store.begin([2, 3])
    store.record_tally(second, ["a", "b"])
    store.record_loss(second, [[True], [False]])
    store.begin([2, 3])


def write_teachers(folder: Path, scratch: Path) -> None:
    """Write the manifest of teachers of two consent levels, and how they were trained."""
    TeachersManifest(
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
    ).save(folder)


def write_kit(folder: Path, scratch: Path) -> None:
    """Write a party's kit as provisioning makes it."""
    kits = make_sites(scratch, ManualClock(START)).made.kits
    for path in kits["a-party"].iterdir():
        if path.is_file():
            shutil.copy(path, folder)


LEDGER = f"ledger-{SCHEMA_VERSION}-{archive_file.FORMAT}-{checkpoint_state.FORMAT}"
"""Names this version's schema, and the formats of its archives' lines and of states in both."""
JOURNAL = f"journal-{JOURNAL_VERSION}"
RUN = f"run-{RunState.model_fields['version'].default}"
TEACHERS = "teachers-1"
KIT = "kit-1"
WRITERS: dict[str, Callable[[Path, Path], None]] = {
    LEDGER: write_ledger,
    JOURNAL: write_journal,
    RUN: write_run,
    TEACHERS: write_teachers,
    KIT: write_kit,
}
"""Writers by the name and version of each format."""
