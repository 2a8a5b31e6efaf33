"""Backups, restores and migrations of a guardian's ledger, on its own machine."""

from pathlib import Path

from common.clock import SystemClock
from common.errors import ErrorCode, OstrakaError
from common.identity import Credentials
from common.protocol import AUDIT_CONTEXT
from guardian.ledger import Cipher, LedgerReader, backup, load_or_create_key
from guardian.ledger import restore as restore_backup
from guardian.ledger.cipher import KEY_FILE
from guardian.ledger.site import ledger_location


def back_up(site: Path, out: Path) -> int:
    """Copy the ledger of a guardian's folder into `out`, and return the last audit row in the copy.

    Raises:
        OstrakaError: `ledger.*`, among them `ledger.exists` where there is a file already.
    """
    with LedgerReader.open_read_only(ledger_location(site)) as reader:
        backup(reader, out)
    with LedgerReader.open_read_only(out) as copy:
        return int(copy.head().sequence)


def restore(site: Path, source: Path) -> int:
    """Put a backup where the ledger of a guardian's folder belongs, and return its new epoch.

    Raises:
        OstrakaError: `ledger.*`, among them `ledger.exists` where there is a ledger already; `config.invalid`
            without the key that the backup was made with.
    """
    if not (site / KEY_FILE).is_file():
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            f"{site} has no {KEY_FILE}, and a backup cannot be used without the key it was made with; put"
            " it back first.",
        )
    credentials = Credentials.load(site)
    return restore_backup(
        source,
        ledger_location(site),
        clock=SystemClock(),
        cipher=Cipher(load_or_create_key(site)),
        sign_head=lambda payload: credentials.sign(AUDIT_CONTEXT, payload),
    )
