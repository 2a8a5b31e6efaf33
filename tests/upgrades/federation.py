"""A small federation with everything that a version writes to disk: frozen by one, continued by later
ones."""

import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import ostraka
from ostraka.common.clock import Clock
from ostraka.common.identity.certificate_requests import REQUEST
from ostraka.deploy.provisioning.kits import write_kits
from ostraka.deploy.provisioning.signing import sign_request
from ostraka.deploy.site.keys import init, install
from ostraka.mechanisms import GnMax
from tests.addresses import free_addresses

ROOT = Path(__file__).parents[2]
NAME = "frozen"
GUARDIAN = "hub-guardian"
ADMIN = "hub-admin"
PARTIES = ("a-party", "b-party")
QUERIER = "q-query"
SITES = (GUARDIAN, ADMIN, *PARTIES, QUERIER)
ADDRESSES = ("127.0.0.1:7000", "127.0.0.1:7001", "127.0.0.1:7002")
"""Addresses of the guardian and the parties, in frozen files; they serve at free ones."""
FILE = f"""
federation = "{NAME}"
days = 3650

[guardian]
site = "hub"
address = "{ADDRESSES[0]}"
listen = "{ADDRESSES[0]}"

[[admin]]
site = "hub"

[[party]]
site = "a"
address = "{ADDRESSES[1]}"
listen = "{ADDRESSES[1]}"

[[party]]
site = "b"
address = "{ADDRESSES[2]}"
listen = "{ADDRESSES[2]}"

[[query]]
site = "q"
"""
"""Certificates are valid for as long as possible: fixtures are usable as long as their CA, ten years."""
ON_POSTGRESQL = FILE.replace("[[admin]]", 'ledger = "postgresql"\nurl_file = "database.url"\n\n[[admin]]', 1)
TRAINING = """
[training]
data = "data/records.csv"
teachers = 3
model = "logistic_regression"
seed = 1
"""
EPSILONS = {"a": 50.0, "b": 40.0}
QUESTION = ostraka.PlanOptions(mechanism=GnMax(sigma=4.0), quorum=2, batch_size=4)
COUNTS = ostraka.DescribeOptions(columns=("age", "diagnosis"), epsilon=0.5)
ROWS = {"north": 60, "south": 60, "west-labelled": 12}
"""Number of rows that are used of a hospital's table."""
ASKED = 12
"""Rows of the pool that are queried; as many others are left for later versions."""


@dataclass(frozen=True)
class Federation:
    """Folders of its sites, its tables, and kept files, below `root`."""

    root: Path

    def site(self, name: str) -> Path:
        """Return the folder of a site, or of the CA."""
        return self.root / "sites" / name

    def table(self, name: str) -> Path:
        """Return a table of records."""
        return self.root / "tables" / f"{name}.csv"

    @property
    def run(self) -> Path:
        """The folder of the labelling run."""
        return self.site(QUERIER) / "run"

    @property
    def counts(self) -> Path:
        """The folder of the run of statistics."""
        return self.site(QUERIER) / "counts"

    @property
    def kit(self) -> Path:
        """An unopened kit."""
        return self.root / "kit"

    @property
    def archive(self) -> Path:
        """The archive of everything that ended."""
        return self.root / "archive.jsonl.gz"

    @property
    def head(self) -> Path:
        """The head of the audit log that a party keeps."""
        return self.root / "head.pb"

    @property
    def on_postgresql(self) -> Path:
        """The folder of another guardian, whose ledger was in a database that is not here."""
        return self.root / "on-postgresql"

    @property
    def admin(self) -> ostraka.Guardian:
        """The guardian, for its administrator."""
        return ostraka.Guardian(self.site(ADMIN))

    @property
    def querier(self) -> ostraka.Querier:
        """The querying party."""
        return ostraka.Querier(self.site(QUERIER))

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Run guardian and parties within the block, at free addresses."""
        with self._at(free_addresses(len(ADDRESSES))), ExitStack() as stack:
            stack.enter_context(ostraka.Guardian(self.site(GUARDIAN)).serve())
            for party in PARTIES:
                stack.enter_context(ostraka.Party(self.site(party)).serve())
            yield

    @contextmanager
    def _at(self, addresses: list[str]) -> Iterator[None]:
        self._move(ADDRESSES, addresses)
        try:
            yield
        finally:
            self._move(addresses, ADDRESSES)

    def _move(self, before: Sequence[str], after: Sequence[str]) -> None:
        for name in SITES:
            settings = self.site(name) / "site.toml"
            text = settings.read_text()
            for old, new in zip(before, after, strict=True):
                text = text.replace(old, new)
            settings.write_text(text)


def make(root: Path, clock: Clock, url: str = "") -> Federation:
    """Make a federation whose sites have joined and whose parties have teachers, and an unopened kit.

    Args:
        root: an empty folder.
        clock: when certificates begin.
        url: URL of the PostgreSQL database of its ledger; "": a file.
    """
    federation = Federation(root)
    file = root / "federation.toml"
    file.write_text(ON_POSTGRESQL if url else FILE)
    kits = write_kits(file, root / "sites", clock=clock)
    file.unlink()
    shutil.copytree(federation.site(PARTIES[1]), federation.kit)
    for name in SITES:
        join(federation.site(name), kits.fingerprint, kits.ca, clock)
    if url:
        (federation.site(GUARDIAN) / "database.url").write_text(url)
    write_tables(federation)
    for name in (*PARTIES, QUERIER):
        shutil.copy(ROOT / "examples/hospital.toml", federation.site(name) / "task.toml")
    for party, table in zip(PARTIES, ("north", "south"), strict=True):
        shutil.move(federation.table(table), federation.site(party) / "data" / "records.csv")
        with (federation.site(party) / "site.toml").open("a") as settings:
            settings.write(TRAINING)
        ostraka.Party(federation.site(party)).train()
    return federation


def join(kit: Path, ca_fingerprint: str, ca: Path, clock: Clock, *, again: bool = False) -> None:
    """Open a kit, have its keys certified by the CA (`again` after others), and install them."""
    init(kit, ca_fingerprint)
    signed = sign_request((kit / REQUEST).read_bytes(), ca, clock, again=again)
    install(kit, signed.certificates, clock)


def write_tables(federation: Federation) -> None:
    """Write the first rows of the hospitals' tables; those of the pool in two halves."""
    tables = federation.table("north").parent
    program = ROOT / "examples/hospital_tables.py"
    subprocess.run([sys.executable, str(program), str(tables)], check=True)
    pool = federation.table("west-pool").read_text(encoding="utf-8-sig").splitlines(keepends=True)
    for name, first in (("pool", 1), ("more", 1 + ASKED)):
        federation.table(name).write_text("".join([pool[0], *pool[first : first + ASKED]]))
    for table in list(tables.iterdir()):
        if table.stem in ROWS:
            lines = table.read_text(encoding="utf-8-sig").splitlines(keepends=True)
            table.write_text("".join(lines[: 1 + ROWS[table.stem]]))
        elif table.stem not in ("pool", "more"):
            table.unlink()


def ask(federation: Federation) -> None:
    """Set budgets, label, retrain and count, while all serve; a party keeps the last head of the log."""
    for party, epsilon in EPSILONS.items():
        federation.admin.set_budget(party, epsilon, delta=1e-5, reason="a study")
    pool = federation.table("pool")
    federation.querier.label(pool, QUESTION, federation.run)
    federation.querier.retrain(federation.table("west-labelled"), federation.run, pool)
    federation.querier.describe(COUNTS, federation.counts)
    ostraka.Party(federation.site(PARTIES[0])).audit_head(federation.head)
