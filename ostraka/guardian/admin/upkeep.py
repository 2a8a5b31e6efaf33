"""Backups, restores and migrations of a guardian's ledger, on its own machine."""

from pathlib import Path
from typing import TypedDict

from ostraka.common.clock import Clock, SystemClock
from ostraka.common.config import load_site
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Credentials
from ostraka.common.wire.contexts import AUDIT_CONTEXT
from ostraka.guardian import ledger
from ostraka.guardian.ledger import Cipher, LedgerReader, load_or_create_key
from ostraka.guardian.ledger.log import audit
from ostraka.guardian.ledger.log.audit import SignHead
from ostraka.guardian.ledger.site import ledger_location
from ostraka.guardian.ledger.store.cipher import KEY_FILE


class Means(TypedDict):
    """What it takes to write into a ledger: the time, its key, and the guardian's signature."""

    clock: Clock
    cipher: Cipher
    sign_head: SignHead


def back_up(site: Path, out: Path) -> int:
    """Copy the ledger of a guardian's folder into `out`, and return the last audit row in the copy.

    Raises:
        OstrakaError: `ledger.*`, among them `ledger.exists` where there is a file already.
    """
    with LedgerReader.open_read_only(ledger_location(site)) as reader:
        ledger.backup(reader, out)
    with LedgerReader.open_read_only(out) as copy:
        return int(copy.read(audit.head).sequence)


def restore(site: Path, source: Path) -> int:
    """Put a backup where the ledger of a guardian's folder belongs, and return its new epoch.

    Raises:
        OstrakaError: `ledger.*`, among them `ledger.exists` where there is a ledger already;
            `config.invalid` without the ledger's key.
    """
    return ledger.restore(source, ledger_location(site), **_means(site))


def migrate(site: Path) -> int:
    """Bring the ledger of a guardian's folder to this version, and return its schema's.

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
