"""Backups, archives, restores and migrations of a guardian's ledger, on its own machine."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypedDict

from ostraka.common.clock import Clock, SystemClock
from ostraka.common.config import load_site
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.files.durable import read_bytes
from ostraka.common.identity import Credentials
from ostraka.common.wire.contexts import ARCHIVE_CONTEXT, AUDIT_CONTEXT
from ostraka.guardian import ledger
from ostraka.guardian.admin.verification import federation_of
from ostraka.guardian.ledger import Cipher, LedgerReader, load_or_create_key
from ostraka.guardian.ledger.archive.archive import (
    Archive,
    Archivist,
    Authority,
    archive,
    check_archive,
    check_follows,
    check_ledger,
)
from ostraka.guardian.ledger.log import audit
from ostraka.guardian.ledger.log.audit import SignHead
from ostraka.guardian.ledger.log.verify import Told
from ostraka.guardian.ledger.site import ledger_location
from ostraka.guardian.ledger.store.cipher import KEY_FILE


class Means(TypedDict):
    """What writing into a ledger needs: the time, its key, and the guardian's signature."""

    clock: Clock
    cipher: Cipher
    sign_head: SignHead


def back_up(site: Path, out: Path) -> int:
    """Copy the ledger of a guardian's folder into `out`, and return the last audit row in the copy.

    Raises:
        OstrakaError: `ledger.*`, including `ledger.exists` if the file exists already.
    """
    with LedgerReader.open_read_only(ledger_location(site)) as reader:
        ledger.backup(reader, out)
    with LedgerReader.open_read_only(out) as copy:
        return int(copy.read(audit.head).sequence)


def restore(site: Path, source: Path) -> int:
    """Install a backup as the ledger of a guardian's folder, and return its new epoch.

    Raises:
        OstrakaError: `ledger.*`, including `ledger.exists` if there is a ledger already; `config.invalid`
            without the ledger's key.
    """
    return ledger.restore(source, ledger_location(site), **_means(site))


def migrate(site: Path) -> int:
    """Migrate the ledger of a guardian's folder to this version, and return its schema version.

    Raises:
        OstrakaError: `ledger.*`; `config.invalid` without the ledger's key.
    """
    return ledger.migrate(ledger_location(site), **_means(site))


def _means(site: Path) -> Means:
    if not (site / KEY_FILE).is_file():
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            f"{site} has no {KEY_FILE}, the key that its ledger and all backups of it were made with; put"
            " it back first.",
        )
    credentials = Credentials.of(load_site(site))
    return Means(
        clock=SystemClock(),
        cipher=Cipher(load_or_create_key(site)),
        sign_head=lambda payload: credentials.sign(AUDIT_CONTEXT, payload),
    )


@dataclass(frozen=True)
class ArchiveCheck:
    """What a set of verified archives contains.

    Attributes:
        first: number of the first row.
        last: number of the last row.
        hash: of the last row, in hex.
        sessions: number of sessions that ended.
        batches: number of batches that were released or died.
        charges: number of their charges.
        ledger_entries: rows of the ledger that continues the archives, 0 if none was named.
    """

    first: int
    last: int
    hash: str
    sessions: int
    batches: int
    charges: int
    ledger_entries: int = 0


def write_archive(
    site: Path,
    out: Path,
    before: datetime,
    after: Path | None,
    told: Told = lambda row, last: None,
) -> ArchiveCheck:
    """Archive the ledger of a guardian's folder up to the day `before` (UTC), exclusive.

    Args:
        site: the guardian's folder.
        out: the file to write; it must not exist.
        before: a day that has begun.
        after: the previous archive, which is verified first; None to begin with the log's first row.
        told: as for `archive`; also called for the rows of `after`.

    Raises:
        OstrakaError: `config.invalid` for a future day, or if there is nothing to archive;
            `identity.expired`; `ledger.*`.
    """
    now = SystemClock().now()
    until = before.replace(tzinfo=UTC).timestamp()
    if until > now:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            f"{before:%Y-%m-%d} is still to come; archive before a day that has begun.",
        )
    credentials = Credentials.of(load_site(site))
    authority = Authority(credentials.ca_pem, credentials.identity.federation)
    archivist = Archivist(
        int(now * 1000), lambda payload: credentials.sign(ARCHIVE_CONTEXT, payload), authority
    )
    previous = None if after is None else check_archive(after, authority, told)
    with LedgerReader.open_read_only(ledger_location(site)) as reader:
        return _check([archive(reader, out, int(until * 1000), archivist, previous, told)])


def verify_archives(
    paths: Sequence[Path], ca: Path, ledger: Path | str | None, told: Told = lambda row, last: None
) -> ArchiveCheck:
    """Verify archives, that each continues the one before, and that a ledger continues the last one.

    Args:
        paths: the oldest first; the first one may begin anywhere.
        ca: the federation's CA certificate, PEM.
        ledger: a SQLite file or the URL of a PostgreSQL ledger; None for none.
        told: called with every checked audit row, and the last row of its archive or ledger.

    Raises:
        OstrakaError: `ledger.archive_altered` with the archive's name, `ledger.*` for the ledger,
            `data.missing`.
    """
    ca_pem = read_bytes(ca)
    authority = Authority(ca_pem, federation_of(ca_pem, ca))
    found: list[Archive] = []
    for path in paths:
        checked = check_archive(path, authority, told)
        if found:
            check_follows(path, checked, found[-1])
        found.append(checked)
    head = None if ledger is None else check_ledger(ledger, found[-1].checkpoint, authority, told)
    return _check(found, head.sequence if head else 0)


def _check(found: Sequence[Archive], entries: int = 0) -> ArchiveCheck:
    last = found[-1].checkpoint
    return ArchiveCheck(
        first=found[0].first,
        last=last.sequence,
        hash=last.hash.hex(),
        sessions=sum(each.sessions for each in found),
        batches=sum(each.batches for each in found),
        charges=sum(each.charges for each in found),
        ledger_entries=entries,
    )
