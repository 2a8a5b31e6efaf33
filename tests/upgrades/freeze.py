"""`python -m tests.upgrades.freeze` writes the fixtures of this version with its own code, once.

Frozen files are committed and never written again. Until a version has its tag, its folder may be removed and
frozen again if a format changes.
"""

import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import ostraka
from ostraka.common.clock import SystemClock
from ostraka.common.config import load_site
from ostraka.common.identity import Credentials
from ostraka.common.identity.certificate_requests import fingerprint
from ostraka.common.wire.contexts import ARCHIVE_CONTEXT
from ostraka.deploy.site.kit import read_anchor
from ostraka.guardian.ledger import LedgerReader
from ostraka.guardian.ledger.archive.archive import Archivist, Authority, archive
from ostraka.guardian.ledger.site import ledger_location
from tests.postgres import running_server
from tests.upgrades import packing
from tests.upgrades.federation import GUARDIAN, PARTIES, ROOT, Federation, ask, make
from tests.upgrades.manifest import (
    LedgerNumbers,
    Manifest,
    read_answers,
    read_archive,
    read_ledger,
    read_receipts,
)

VERSIONS = Path(__file__).parent


def main() -> int:
    """Freeze this version; return the exit status."""
    out = VERSIONS / ostraka.__version__
    if out.exists():
        return _refuse(f"{out} is there: what a version wrote stays as it is. Freeze another version.")
    if _git("status", "--porcelain", "--", "ostraka"):
        return _refuse("ostraka/ is not as it was committed: commit it first, for the manifest.")
    with TemporaryDirectory() as scratch:
        made = Path(scratch, "made")
        made.mkdir()
        freeze(Path(scratch), made).save(made)
        shutil.copytree(made, out)
    print(out)
    return 0


def freeze(scratch: Path, out: Path) -> Manifest:
    """Run one federation on SQLite and one on PostgreSQL, write their files, and return the numbers."""
    clock = SystemClock()
    root = scratch / "federation"
    root.mkdir()
    federation = make(root, clock)
    with federation.serving():
        ask(federation)
    write_archive(federation)
    with running_server() as server:
        url = server.new_database()
        other = scratch / "other"
        other.mkdir()
        on_postgresql = make(other, clock, url)
        with on_postgresql.serving():
            ask(on_postgresql)
        ledgers = {"sqlite": numbers(federation), "postgresql": numbers(on_postgresql)}
        packing.write_database(server.dump(url), out)
    # The database has a different URL wherever it is loaded.
    (on_postgresql.site(GUARDIAN) / "database.url").unlink()
    shutil.copytree(on_postgresql.site(GUARDIAN), federation.on_postgresql, symlinks=True)
    packing.pack(root, out)
    return Manifest(
        version=ostraka.__version__,
        commit=_git("rev-parse", "HEAD"),
        made_unix_s=int(clock.now()),
        fingerprint=fingerprint(read_anchor(federation.kit)),
        kit=f"{PARTIES[1]}/1",
        ledgers=ledgers,
        receipts=read_receipts(federation),
        answers=read_answers(federation),
        archive=read_archive(federation),
    )


def write_archive(federation: Federation) -> None:
    """Archive everything so far; the command only archives whole days."""
    site = federation.site(GUARDIAN)
    credentials = Credentials.of(load_site(site))
    now_ms = int(SystemClock().now() * 1000)
    archivist = Archivist(
        now_ms,
        lambda payload: credentials.sign(ARCHIVE_CONTEXT, payload),
        Authority(credentials.ca_pem, credentials.identity.federation),
    )
    with LedgerReader.open_read_only(ledger_location(site)) as reader:
        archive(reader, federation.archive, now_ms, archivist)


def numbers(federation: Federation) -> LedgerNumbers:
    """Return the numbers of a federation's ledger."""
    with LedgerReader.open_read_only(ledger_location(federation.site(GUARDIAN))) as reader:
        return read_ledger(reader)


def _git(*words: str) -> str:
    command = ["git", "-C", str(ROOT), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def _refuse(sentence: str) -> int:
    print(sentence, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
